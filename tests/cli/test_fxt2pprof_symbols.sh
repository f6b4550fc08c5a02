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

# The kernel, by kallsyms.
printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff81000040 t early_setup' 'ffffffff81000080 T later' >kallsyms
python3 "$ROOT/tests/tools/one_sample.py" '[kernel]' '' ffffffff81000050 >kernel.fxt || fail "no trace of the kernel"
names 'early_setup' 'kallsyms' --symbols kallsyms kernel.fxt

status=0
fxt2pprof --symbols nowhere trace.fxt >got 2>err || status=$?
[ $status -eq 4 ] || fail "status $status for symbols that are not there"
grep -q 'nowhere: No such file' err || fail "symbols that are not there: $(cat err)"
fxt2pprof --version | grep -Eq '^with (no )?liblzma[;,] (no )?libdebuginfod$' || fail "--version: $(fxt2pprof --version)"
