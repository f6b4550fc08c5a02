#!/bin/sh
# Small files that stand for any amount of data: every program ends with status 4 and names --no-limit, within its bounds of memory and
# of what it writes (cmd/cli/cli_bounds.h).  fxtq import has its own bounds (tests/test_store_bounds.c).
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

# ---- Hostile inputs ----

python3 - <<'END' || fail "the inputs"
import gzip, struct, subprocess, zlib
def words(*numbers): return struct.pack("<%dQ" % len(numbers), *(n & (1 << 64) - 1 for n in numbers))
def stream(text): return text + bytes(-len(text) % 8)
MAGIC = b"\x10\x00\x04FxT\x16\x00" + words(1 | 2 << 4, 10**9)
def packed(path, data): subprocess.run(["zstd", "-q", "-f", "-o", path, "-"], input=data, check=True)
# Instants that name one string of 32,000 bytes: 288 MB of text; records of 288 MB in some kilobytes.
string = words(2 | 4001 << 4 | 1 << 16 | 32000 << 32) + b"n" * 32000
instant = words(4 | 4 << 4 | 1 << 32 | 1 << 48, 7, 1, 2)
packed("names.fxt.zst", MAGIC + string + instant * 9000)
packed("records.fxt.zst", MAGIC + instant * 12000000)
# Durations in each other: what they are in is 640 MB of folded stacks.
def duration(type, ticks): return words(4 | 4 << 4 | type << 16 | 1 << 32 | 1 << 48, ticks, 1, 2)
nest = b"".join(duration(2, i) for i in range(200)) + b"".join(duration(3, 1000 + i) for i in range(200))
open("nest.fxt", "wb").write(MAGIC + string + nest)
# Stacks of which no two share a call site: 15 million of them.
def folded(path, lines, frames):
    out = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(path, "wb") as file:
        for line in range(lines):
            file.write(out.compress(b"l%d" % line + b";f" * frames + b" 1\n"))
        file.write(out.flush())
folded("stacks.folded.gz", 1500, 10000)
# The same as pprof: every stack has a root of its own.
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(number, value): return varint(number << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(number << 3) + varint(value)
def pprof(path, stacks, frames):
    out = field(1, field(1, 1) + field(2, 2)) + b"".join(field(6, text) for text in (b"", b"cpu", b"count", b"f"))
    out += field(5, field(1, 1) + field(2, 3))
    out += b"".join(field(4, field(1, i) + field(3, i) + field(4, field(1, 1) + field(2, i))) for i in range(1, stacks + 2))
    with gzip.open(path, "wb", 1) as file:
        file.write(out)
        for i in range(stacks):
            file.write(field(2, field(1, varint(1) * frames + varint(2 + i)) + field(2, varint(1))))
pprof("locations.pb.gz", 1500, 10000)
END

bounded() { # bounded COMMAND...: ends with status 4 and a message that names --no-limit; 3 GiB would end it otherwise
    status=0
    prlimit --data=3221225472 "$@" >/dev/null 2>err || status=$?
    [ $status -eq 4 ] || fail "$*: status $status, not 4: $(cat err)"
    grep -q 'is the limit for such an input; use --no-limit' err || fail "$*: the message names no option: $(cat err)"
}

# An object of 5 MB whose nine sections of debug information are one, of 252 MB, which is unpacked for each.
python3 - <<'END' || fail "the object"
import os, struct, zlib
size = 252 << 20
pack = zlib.compressobj(1)
data = struct.pack("<IIQQ", 1, 0, size, 1) + pack.compress(os.urandom(4 << 20))
data += b"".join(pack.compress(bytes(8 << 20)) for _ in range(31)) + pack.flush()
debug = ["abbrev", "str", "line", "line_str", "str_offsets", "rnglists", "ranges", "addr", "info"]
names = ["", ".text", *(".debug_" + name for name in debug), ".shstrtab"]
texts = ("\0".join(names) + "\0").encode()
end = 64 + len(data)
def header(name):
    at = texts.index((name + "\0").encode()) if name else 0
    fields = {"": (0, 0, 0, 0, 0, 0, 0, 0, 0), ".text": (1, 6, 0x1000, 64, 4096, 0, 0, 16, 0), ".shstrtab": (3, 0, 0, end, len(texts), 0, 0, 1, 0)}
    return struct.pack("<IIQQQQIIQQ", at, *fields.get(name, (1, 0x800, 0, 64, len(data), 0, 0, 1, 0)))
file = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, end + len(texts), 0, 64, 56, 0, 64, len(names), len(names) - 1)
open("packed.so", "wb").write(file + data + texts + b"".join(map(header, names)))
END

# An object of 1 MB in which 256 functions share a list of 65,535 ranges: 17 million ranges.
python3 - <<'END' || fail "the object with lists"
open("lists.s", "w").write("""
    .text
    .globl covered
    .type covered, @function
covered:
    .skip 65536, 0xc3
    .size covered, 65536
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0   /* unit: low_pc, high_pc */
    .byte 2, 0x2e, 0, 3, 8, 0x55, 0x17, 0, 0   /* function: name, ranges */
    .byte 0
    .section .debug_ranges,"",@progbits
    .set at, 0
    .rept 65535
    .quad at, 65536
    .set at, at + 1
    .endr
    .quad 0, 0
    .section .debug_info,"",@progbits
    .long 2f - 1f
1:  .short 4
    .long 0
    .byte 8, 1
    .quad covered
    .quad 65536
""" + "    .byte 2, 'f', 0\n    .long 0\n" * 256 + """
    .byte 0
2:
    .section .note.GNU-stack,"",@progbits
""")
END
${CC:-cc} -shared -nostdlib -Wl,--build-id -o lists.so lists.s || fail "lists.so"
# An object of 3 MB whose section of 180 MB holds 15 million units.
python3 - <<'END' || fail "the object with units"
import struct, zlib
count = 15 << 20
unit = struct.pack("<IHIB", 8, 4, 0, 8) + b"\1"
pack = zlib.compressobj(1)
info = b"".join(pack.compress(unit * (1 << 20)) for _ in range(15)) + pack.flush()
info = struct.pack("<IIQQ", 1, 0, count * len(unit), 1) + info + bytes(max(0, (count * len(unit) >> 6) + 4096 - len(info)))
abbrev = bytes([1, 0x11, 0, 0, 0, 0])
names = ["", ".text", ".debug_abbrev", ".debug_info", ".shstrtab"]
texts = ("\0".join(names) + "\0").encode()
bodies = {".debug_abbrev": (abbrev, 0), ".debug_info": (info, 0x800), ".shstrtab": (texts, 0)}
file, headers = bytes(64), b""
for name in names:
    body, flags = bodies.get(name, (b"", 0))
    at = texts.index((name + "\0").encode()) if name else 0
    kind = 0 if not name else 3 if name == ".shstrtab" else 1
    headers += struct.pack("<IIQQQQIIQQ", at, kind, 6 if name == ".text" else flags, 0x1000 if name == ".text" else 0,
                           0 if name in ("", ".text") else len(file), 4096 if name == ".text" else len(body), 0, 0, 1 if name else 0, 0)
    file += body
head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, len(file), 0, 64, 56, 0, 64, len(names), len(names) - 1)
open("units.so", "wb").write(head + file[64:] + headers)
END

# ---- What is written ----

printf 'main;run 1000\n' >small.folded

bounded fxtdump names.fxt.zst
grep -q 'standard output: File too large' err || fail "fxtdump: $(cat err)"
bounded fxt2pprof -q -f folded nest.fxt
bounded fxtcat cut --type event -o cut.fxt records.fxt.zst
[ ! -e cut.fxt ] || fail "fxtcat left an output"
fxtcat cut --type event records.fxt.zst 2>err | cat >/dev/null
grep -q -- '--no-limit' err || fail "fxtcat to a pipe: $(cat err)"
# Lifted: all of it.
fxtdump --no-limit names.fxt.zst 2>err | wc -c >size
[ "$(cat size)" -gt 280000000 ] || fail "fxtdump --no-limit: $(cat size) bytes: $(cat err)"

# ---- Memory ----

if ! ldd "$(command -v fxtdiff)" 2>/dev/null | grep -q 'lib[atm]san'; then # whose address space counts as data
    bounded fxtdiff stacks.folded.gz -- small.folded
    grep -q 'MiB of memory' err || fail "fxtdiff: $(cat err)"
    bounded fxtdiff locations.pb.gz -- small.folded
    grep -q 'MiB of memory' err || fail "fxtdiff of pprof: $(cat err)"
    fxtsym --no-limit --no-cache -fe packed.so 0x1010 >out 2>err || fail "fxtsym --no-limit: $(cat err)"
    grep -q 'unreadable debug information' err || fail "fxtsym --no-limit: $(cat err)"
fi

# ---- Debug information ----

# The module is refused by name, the others have their names, and memory stays far below what the module stands for.
printf 'int outer(int x) { return x * 3; }\n' >sound.c
${CC:-cc} -O2 -g -shared -fPIC -Wl,--build-id -o sound.so sound.c || exit 1
outer=$(nm sound.so | awk '$3 == "outer" { print $1 }')
id=$(readelf -n sound.so | sed -n 's/.*Build ID: //p')
python3 "$ROOT/tests/tools/one_sample.py" "$PWD/sound.so" "$id" "$outer" >sound.fxt || fail 'no trace'
refuses() { # refuses OBJECT WHAT: what of the object is too much
    refused="$1.so.*: its $2 [0-9]* MiB.*, the limit for \(a file\|files\) of that size.*--no-limit"
    printf '%s\n' "$1.so 0x1010" "sound.so 0x$outer" | prlimit --data=838860800 fxtsym --no-cache --style llvm >out 2>err ||
        fail "fxtsym: status $?: $(cat err)"
    grep -q '^outer$' out || fail "fxtsym: the other object has no names: $(cat out err)"
    grep -q "$refused" err || fail "fxtsym does not name $1 and the option: $(cat err)"
    id=$(readelf -n "$1.so" 2>/dev/null | sed -n 's/.*Build ID: //p')
    python3 "$ROOT/tests/tools/one_sample.py" "$PWD/$1.so" "$id" 1010 >"$1.fxt" || fail 'no trace'
    prlimit --data=838860800 fxt2pprof --no-cache -f folded "$1.fxt" >out 2>err || fail "fxt2pprof: status $?: $(cat err)"
    grep -q ' 1$' out || fail "fxt2pprof: $(cat out)"
    grep -q "$refused" err || fail "fxt2pprof does not name $1 and the option: $(cat err)"
    fxtq import -q -o both.fxtq "$1.fxt" sound.fxt 2>err || fail "fxtq import: $(cat err)"
    prlimit --data=838860800 fxtq symbolize --no-cache both.fxtq >out 2>err || fail "fxtq symbolize: status $?: $(cat err)"
    cat out err >both
    grep -q "$refused" both || fail "fxtq symbolize does not name $1 and the option: $(cat both)"
    fxtq report top both.fxtq >out 2>err
    grep -q outer out || fail "fxtq symbolize: the other module has no names: $(cat out err)"
}
refuses packed 'debug sections unpack to more than'
fxtq symbolize --no-limit --no-cache both.fxtq >out 2>err || fail "fxtq symbolize --no-limit: $(cat err)"
! grep -q 'unpack to more than' out err || fail "fxtq symbolize --no-limit: $(cat out err)"
rm both.fxtq
refuses units 'debug information takes more than'
rm both.fxtq
refuses lists 'debug information takes more than'
grep -q covered out || fail "symbols are lost with the debug information: $(cat out)"

# ---- Modules without files ----

# 30,000 modules in a log of 3 MB take far below 68 KB each, and are not searched one by one for each other.
python3 - >modules.log <<'END'
for i in range(30000):
    print("{{{module:%d:/x:elf:%08x}}}{{{mmap:0x%x:0x10:load:%d:rx:0x0}}}{{{pc:0x%x:pc}}}" % (i, i, i * 16 + 4096, i, i * 16 + 4096))
END
prlimit --data=536870912 --cpu=60 fxtsym --no-cache --markup <modules.log >out 2>err
status=$?
[ $status -eq 0 ] || fail "fxtsym --markup: status $status: $(tail -3 err)"
[ "$(grep -c '</x>+0x0$' out)" = 30000 ] || fail "fxtsym --markup: $(head -3 out)"
# A log whose names never end.
python3 - >long.log <<'END'
for i in range(300):
    print("{{{module:%d:%s:elf:01}}}" % (i, "n" * 1000000))
END
run 4 fxtsym --no-cache --markup <long.log
says 'modules and mappings take more than 256 MiB: if the log is neither damaged nor hostile, --no-limit takes them'
run 0 fxtsym --no-cache --markup --no-limit <long.log
rm long.log modules.log out

# ---- Real inputs are far below ----

"$O/bench/fxtgen" --count 2000 --stacks 50 --seed 4 >small.fxt
for command in 'fxtdump small.fxt' 'fxtcat cut --type large_blob small.fxt' 'fxtcat merge small.fxt small.fxt' 'fxt2pprof -f top small.fxt' \
    'fxt2pprof -f folded small.fxt' 'fxtsym -e /proc/self/exe 0x10'; do
    # shellcheck disable=SC2086 # words
    $command 2>err | cat >/dev/null
    ! grep -q -- --no-limit err || fail "$command: $(cat err)"
done
fxtdump - <small.fxt >/dev/null 2>err || fail "a pipe: $(cat err)"
# Output that is appended to a large file counts what is added.
truncate -s 400M appended
fxtdump small.fxt >>appended 2>err || fail "appended: $(cat err)"
for program in fxt2pprof fxtdump 'fxtcat cut' 'fxtcat merge' 'fxtcat recover' 'fxtcat compress' 'fxtcat convert' fxtsym fxtdiff 'fxtq import' 'fxtq symbolize'; do
    # shellcheck disable=SC2086 # words
    $program --help | grep -q -- '--no-limit' || fail "$program has no --no-limit"
done
finish
