#!/bin/sh
# Symbol tables of labels, debug links beside symbolic links, code of line 0, relocations, known and not, line tables that would
# take more memory than their code could need.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/addresses.sh"
cd "$WORK"

# ---- Labels alone ----

cat >labels.s <<'END'
.text
.globl _start
_start: nop
nop
second: nop
.section .rodata
data: .quad 1
.section .note.GNU-stack, "", @progbits
END
gcc -nostdlib -static -o labels labels.s
gcc -c -o labels.o labels.s
for object in labels labels.o; do
    text_addresses $object 1 | sed 's/^/0x/' >addresses
    llvm-symbolizer -e $object <addresses | sed 's/^.*\.o:0:0$/??:0:0/' >theirs # the FILE symbol is no source
    fxtsym --style llvm -e $object <addresses >ours
    cmp ours theirs || fail "$object: other names than llvm-symbolizer's"
    grep -q second ours || fail "$object: labels are not named"
done
strip -o none labels
run 4 fxtsym --explain none # data alone names no code

# ---- Parts of functions that only symbols name ----

cat >parts.s <<'END'
.text
.globl main
.type main, @function
main: nop
.size main, .-main
.type main.cold, @function
main.cold: nop
.size main.cold, .-main.cold
.type work.part.0, @function
work.part.0: nop
.size work.part.0, .-work.part.0
.type a.coldest, @function
a.coldest: nop
.size a.coldest, .-a.coldest
.section .note.GNU-stack, "", @progbits
END
gcc -nostdlib -Wl,-Ttext=0x10000,-e,main -no-pie -o parts parts.s
run 0 fxtsym --json -e parts 10000 10001 10002 10003
[ "$(grep -o '"function":"[^"]*","linkage_name":"[^"]*"' out)" = '"function":"main","linkage_name":"main"
"function":"main","linkage_name":"main.cold"
"function":"work","linkage_name":"work.part.0"
"function":"a.coldest","linkage_name":"a.coldest"' ] || {
    fail 'parts of functions'
    cat out
}
fxtsym -fe parts 10000 10001 10002 10003 2>/dev/null | sed -n 'p;n' >ours
addr2line -fe parts 10000 10001 10002 10003 | sed -n 'p;n' >theirs
cmp ours theirs || fail "parts of functions: other names than addr2line's"

# ---- Debug links ----

echo 'int main(void) { return 0; }' | gcc -g -Wl,--build-id=none -o whole -x c -
mkdir real link
objcopy --only-keep-debug whole link/program.debug
strip -o real/program whole
(cd link && objcopy --add-gnu-debuglink=program.debug ../real/program && ln -s ../real/program program)
main=$(nm whole | awk '$3 == "main" { print $1 }')
run 0 fxtsym -fe link/program "$main"
prints main
prints '<stdin>:1'
mkdir link/.debug
mv link/program.debug link/.debug
run 0 fxtsym -fe link/program "$main"
prints '<stdin>:1'

# ---- Relocations ----

echo 'int main(void) { return 0; }' | gcc -g -c -o known.o -x c -
cat >retype.py <<'END'
import struct
import sys
output, machine, word, address = sys.argv[1], *map(int, sys.argv[2:])
data = bytearray(open("known.o", "rb").read())
struct.pack_into("<H", data, 18, machine)
sections = struct.unpack_from("<Q", data, 40)[0]
for i in range(struct.unpack_from("<H", data, 60)[0]):
    header = struct.unpack_from("<IIQQQQIIQQ", data, sections + 64 * i)
    if header[1] == 4:  # SHT_RELA
        for at in range(header[4], header[4] + header[5], 24):
            kind = struct.unpack_from("<I", data, at + 8)[0]
            struct.pack_into("<I", data, at + 8, {10: word, 1: address}.get(kind, word))
open(output, "wb").write(data)
END
fxtsym -fe known.o 0 >wanted
grep -q '<stdin>:1$' wanted || fail "known.o: $(cat wanted)"
# The same object as of other machines, whose 32 and 64 bits are relocated by these types; places hold 0, to which ADD32 and ADD64 add.
while read -r name machine word address; do
    python3 retype.py other.o "$machine" "$word" "$address"
    run 0 fxtsym -fe other.o 0
    cmp -s out wanted || fail "$name: $(cat out err)"
done <<'END'
LoongArch 258 1 2
LoongArch-ADD 258 50 51
RISC-V 243 1 2
AArch64 183 258 257
eBPF 247 3 2
END
# R_X86_64_32 (10) and R_X86_64_64 (1) become 200, which does not exist.
python3 retype.py unknown.o 62 200 200
run 0 fxtsym -fe unknown.o 0
prints main
says 'relocation type 200 of machine 62'
says 'look the linked program up instead'

# ---- Line tables ----

# with_lines OBJECT: from standard input the line program of a function main of 1000 bytes at 0x10000.  Special opcode 13 adds a
# line and a byte.
with_lines() {
    cat >before.s <<'END'
.text
.globl main
.type main, @function
main: .skip 1000, 0x90
.size main, .-main
.section .debug_abbrev, "", @progbits
.byte 1, 0x11, 0, 0x10, 6, 0x11, 1, 0x12, 1, 0, 0, 0
.section .debug_info, "", @progbits
.long 2f - 1f
1: .short 2
.long 0
.byte 8
.byte 1
.long 0
.quad main, main + 1000
2:
.section .debug_line, "", @progbits
.long 9f - 3f
3: .short 2
.long 5f - 4f
4: .byte 1, 1, 0, 2, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1
.byte 0
.asciz "rows.c"
.byte 0, 0, 0, 0
5:
END
    cat >after.s <<'END'
9:
.section .note.GNU-stack, "", @progbits
END
    cat before.s - after.s >"$1.s"
    gcc -nostdlib -Wl,-Ttext=0x10000,-e,main -no-pie -o "$1" "$1.s"
}

# Code of line 0 at the start of a sequence has a file.
with_lines zero <<'END'
.byte 0, 9, 2
.quad main
.byte 3, 0x7f, 1
.byte 2, 2, 3, 7, 1
.byte 2, 100
.byte 0, 1, 1
END
run 0 fxtsym -fe zero 10000 10001 10002
[ "$(cat out)" = 'main
rows.c:?
main
rows.c:?
main
rows.c:7' ] || {
    fail 'code of line 0 at the start of a sequence'
    cat out
}
addr2line -fe zero 10000 10001 10002 >theirs
cmp out theirs || fail "line 0: other answers than addr2line's"

# 9,000 sequences of the same 1,000 bytes are 9 million rows of 24 bytes each, more than bytes of code.
with_lines rows <<'END'
.rept 9000
.byte 0, 9, 2
.quad main
.fill 1000, 1, 13
.byte 0, 1, 1
.endr
END
status=0
prlimit --as=220000000 fxtsym --no-cache --jobs 1 -fe rows 10010 >out 2>err || status=$?
[ $status -eq 0 ] || fail "rows that overlap take too much memory: $(cat err)"
prints main
finish
