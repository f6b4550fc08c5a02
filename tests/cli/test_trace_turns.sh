#!/bin/sh
# A row of a circular buffer that is of an earlier turn was overtaken: nothing of it is read.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
${CC:-cc} -std=c17 -D_GNU_SOURCE -O1 -w -I"$ROOT/include" "$ROOT/testdata/trace/work.c" "$O/lib/libfxttrace.a" -lpthread -o work || exit 1
run 0 env FXT_TRACE_FILE=work.fxtb FXT_TRACE_BUFFER_SIZE=64k ./work log 1 5000
run 0 fxtdump work.fxtb
grep 'name=event\|seq: ' out >before
# The second row of the older half becomes one of two turns before.
python3 - <<'END_OF_PYTHON' || exit 1
import struct
data = bytearray(open("work.fxtb", "rb").read())
word = lambda at: struct.unpack_from("<Q", data, at)[0]
wrapped, durable, rolling = word(8) >> 32, word(24), word(32)
assert wrapped > 3
at, rows = 128 + durable + ((wrapped - 1) & 1) * rolling, []
end = at + rolling
while at < end and word(at):
    header = word(at)
    large = header & 15 == 15
    if large and header >> 36 & 15 == 15:
        assert header >> 44 == wrapped - 1
        rows.append(at)
    at += 8 * (header >> 4 & (0xFFFFFFFF if large else 0xFFF))
struct.pack_into("<Q", data, rows[1], word(rows[1]) & (1 << 44) - 1 | wrapped - 3 << 44)
open("old.fxtb", "wb").write(data)
END_OF_PYTHON
run 0 fxtdump --verify old.fxtb
run 0 fxtdump old.fxtb
grep 'name=event\|seq: ' out >after
[ -s after ] || fail "nothing is read"
[ "$(wc -l <after)" -lt "$(wc -l <before)" ] || fail "events of an overtaken row are read: $(wc -l <after) of $(wc -l <before)"
finish
