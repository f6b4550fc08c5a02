#!/bin/sh
# fxtsym --verify: what it prints and returns when our decoder and libdwarf agree, when they do not, and when one cannot read a file.
# tests/test_symbolize_oracle.c compares many kinds of debug information.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

cat >program.c <<'END'
volatile int sink;
static inline __attribute__((always_inline)) int twice(int x)
{
    sink = x;
    return x + sink;
}
int first(int x) { return twice(x); }
int second(int x)
{
    if (x)
        sink = first(x);
    return twice(sink);
}
END
cc=${CC:-cc}
$cc -O2 -gdwarf-5 -shared -fPIC -Wl,--build-id -o sound.so program.c || exit 1

# ---- Agreement ----

run 0 fxtsym --verify sound.so
prints '  result      0 differences'
addresses=$(sed -n 's/^  compared *\([0-9,]*\) addresses in 1 unit, with libdwarf .*/\1/p' out)
[ "${addresses:-0}" -gt 20 ] || fail "addresses: $(cat out)"
run 0 fxtsym --verify=7 sound.so
prints '  compared    7 addresses in 1 unit'
cp out first
run 0 fxtsym --verify=7 sound.so
cmp -s first out || fail 'other addresses the second time'
run 0 fxtsym --verify --json sound.so
prints '"differences":0'
prints '"skipped_units":0'

# ---- Differences ----

# The header of the line table in a separate debug file says that it is one byte longer than it is: we believe it, and read the program
# from there on, libdwarf does not.
objcopy --only-keep-debug sound.so sound.debug
strip -g sound.so -o damaged.so
python3 - <<'END' || exit 1
import struct
data = bytearray(open("sound.debug", "rb").read())
shoff, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
header = lambda i: struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size)
text = header(names)[4]
line = next(header(i) for i in range(count) if data[text + header(i)[0]:].startswith(b".debug_line\0"))
data[line[4] + 8] += 1  # header_length
open("damaged.debug", "wb").write(data)
END
objcopy --add-gnu-debuglink=damaged.debug damaged.so
run 1 fxtsym --verify damaged.so
grep -Eq '^  difference  0x[0-9a-f]+: line: no line; libdwarf: [0-9]+:[0-9]+$' out || fail "no difference: $(cat out)"
grep -Eq '^  result      [1-9][0-9]* differences?$' out || fail "no sum: $(cat out)"
run 1 fxtsym --verify --json damaged.so
grep -q '^{"object":"damaged.so","address":"0x[0-9a-f]*","what":"line","ours":"no line","libdwarf":"' out || fail "json: $(cat out)"
# All objects are read; the worst status counts.
run 1 fxtsym --verify sound.so damaged.so sound.so
[ "$(grep -c '^sound.so$' out)" -eq 2 ] || fail "objects: $(cat out)"

# ---- Known faults ----

# Relative directories of compilation: libdwarf appends directory 0 to itself.
$cc -O2 -gdwarf-5 -fdebug-prefix-map="$PWD=./there" -shared -fPIC -o relative.so program.c || exit 1
run 0 fxtsym --verify relative.so
prints '  result      0 differences'
if grep -q '^  known fault' out; then
    known=$(sed -n 's/^  known fault \([0-9,]*\) address.*/\1/p' out | head -1)
    run 0 fxtsym --verify --verbose relative.so
    [ "$(grep -c '^  known       0x' out)" -ge "$known" ] || fail "known faults are not listed: $(cat out)"
fi

# ---- What cannot be verified ----

strip sound.so -o stripped.so
run 4 fxtsym --verify stripped.so
says 'stripped.so: stripped, only exported functions have names'
run 4 fxtsym --verify missing.so
says 'missing.so: No such file'
run 2 fxtsym --verify
says '--verify: no object given'
run 2 fxtsym --verify=0 sound.so
run 2 fxtsym --verify --explain sound.so sound.so

# ---- Hostile ----

# A byte in each of 60 places: whatever libdwarf makes of it, we go on, and say so.
i=0
while [ $i -lt 60 ]; do
    python3 - $i <<'END' || exit 1
import sys
i = int(sys.argv[1])
data = bytearray(open("sound.so", "rb").read())
start, end = data.find(b"\x05\x00\x01\x08"), len(data)  # the first unit
data[start - 4 + i * 23] ^= 1 << i % 8
open("hostile.so", "wb").write(data)
END
    status=0
    fxtsym --verify hostile.so >out 2>err || status=$?
    case $status in
    [0134]) ;;
    5) grep -q 'left out\|compared    0 addresses\|libdwarf failed' out err || fail "byte $i: inconclusive without a reason" ;;
    *) fail "byte $i: status $status: $(cat err)" ;;
    esac
    i=$((i + 1))
done
finish
