#!/bin/sh
# fxt2pprof --symbols takes files, trees, folders and kallsyms; without them names come from where the object was.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
. "$ROOT/tests/cli/inlined.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')
strip -o bare full
rest=${id#??}
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/bare" "$id" "$outer" >trace.fxt
python3 "$ROOT/tests/tools/one_sample.py" /nowhere/bare "$id" "$outer" >moved.fxt

names() { # names WANT NAME OPTION...: the frames of the only stack
    want=$1
    what=$2
    shift 2
    fxt2pprof -q --format folded --root none "$@" >got 2>err || fail "$what: status $?: $(cat err)"
    [ "$(cat got)" = "$want 1" ] || fail "$what: '$(cat got)', not '$want 1'; $(cat err)"
}
outer_short=$(printf '%x' $((0x$outer)))
names "[bare+0x$outer_short]" 'no symbols' trace.fxt
names 'outer;inner' 'a file' --symbols full moved.fxt
mkdir -p tree/.build-id/"${id%"$rest"}" flat files/deep
objcopy --only-keep-debug full tree/.build-id/"${id%"$rest"}/$rest.debug"
cp full "flat/$id.debug"
cp full files/deep/any
names 'outer;inner' 'a tree' --symbols tree trace.fxt
names 'outer;inner' 'a flat folder' --symbols flat trace.fxt
names 'outer;inner' 'a folder of files' --symbols=files moved.fxt
names 'outer' 'without inlined frames' --no-inlines --symbols files trace.fxt
names 'outer;inner' 'the second of two' -s "$ROOT/testdata" -s files trace.fxt
names "[bare+0x$outer_short]" 'servers where none are named' --debuginfod trace.fxt

# What cannot be read below a folder is told.
allowed() { # allowed COMMAND...: as somebody who may only do what file modes say
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
if allowed true 2>err; then
    mkdir -p closed/below
    cp full closed/file
    chmod 0 closed/file
    allowed fxt2pprof -q --format folded --root none --symbols closed moved.fxt >got 2>err || fail "an unreadable file: $(cat err)"
    grep -qxF 'fxt2pprof: warning: --symbols: closed/file: Permission denied' err || fail "an unreadable file: $(cat err)"
    chmod 0 closed/below
    allowed fxt2pprof -q --format folded --root none --symbols closed moved.fxt >got 2>err || fail "an unreadable folder: $(cat err)"
    grep -qE '^fxt2pprof: warning: --symbols: 2 files and directories cannot be read; the first is closed/(file|below): Permission denied$' err ||
        fail "an unreadable folder: $(cat err)"
    chmod 700 closed/below
fi
ln -s nowhere files/link
names 'outer;inner' 'a folder with a link that leads nowhere' --symbols files moved.fxt
[ ! -s err ] || fail "a link that leads nowhere: $(cat err)"

# The kernel, by kallsyms.
printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff81000040 t early_setup' 'ffffffff81000080 T later' >kallsyms
python3 "$ROOT/tests/tools/one_sample.py" '[kernel]' '' ffffffff81000050 >kernel.fxt || fail "no trace of the kernel"
names 'early_setup' 'kallsyms' --symbols kallsyms kernel.fxt

# Modules without symbols: those that matter are named, the others counted, and the sentence says which of both.
cat >modules.py <<'PY'
import struct, sys
path, build_id, vaddr, known, others = sys.argv[1], sys.argv[2], int(sys.argv[3], 16), int(sys.argv[4]), int(sys.argv[5])
def padded(data): return data + bytes(-len(data) % 8)
def record(header, *parts):
    body = b"".join(part if isinstance(part, bytes) else struct.pack("<Q", part) for part in parts)
    return struct.pack("<Q", header | (len(body) // 8 + 1) << 4) + body
out = bytes.fromhex("1000044678541600") + struct.pack("<QQ", 0x21, 10**9)
modules = [(path, bytes.fromhex(build_id))] + [("/nowhere/m%02d" % i, b"") for i in range(others)]
for i, (name, identity) in enumerate(modules):
    out += record(10 | len(name) << 44 | len(identity) << 52, 4400, 77, i, padded(name.encode()), padded(identity))
    out += record(10 | 1 << 16 | 5 << 44, 4400, 77, i, (i + 1) << 32, 1 << 32, 0)
for at in [(1 << 32) + vaddr] * known + [((i + 2) << 32) + 16 for i in range(others)]:
    out += record(10 | 2 << 16 | 1 << 28, 4400, 77, 78, at)
sys.stdout.buffer.write(out)
PY
while IFS='|' read -r known others named rest; do
    python3 modules.py "$WORK/full" "$id" "$outer" "$known" "$others" >modules.fxt
    fxt2pprof -o modules.pb.gz modules.fxt 2>err || fail "$others modules: status $?: $(cat err)"
    [ "$(grep -c 'no file .*/nowhere/m\|/nowhere/m.*no file\|in m[0-9][0-9]: ' err)" = "$named" ] || fail "$others modules, $named to be named: $(cat err)"
    [ "$(grep 'without full symbols' err)" = "$rest" ] || fail "$others modules: not '$rest' in: $(cat err)"
done <<'TABLE'
2500|0|0|
2500|1|0|  1 module without full symbols, with less than 0.1 % of frames
2500|2|0|  2 modules without full symbols, each with less than 0.1 % of frames
50|2|2|
50|10|10|
50|11|10|  ... and 1 more module without full symbols
50|12|10|  ... and 2 more modules without full symbols
TABLE

status=0
fxt2pprof --symbols nowhere trace.fxt >got 2>err || status=$?
[ $status -eq 4 ] || fail "status $status for symbols that are not there"
grep -q 'nowhere: No such file' err || fail "symbols that are not there: $(cat err)"
fxt2pprof --version | grep -Eq '^with (no )?liblzma[;,] (no )?libdebuginfod$' || fail "--version: $(fxt2pprof --version)"
