#!/bin/sh
# Small programs, each of a kind: what is decoded is what was stepped, and the calls are those that another program makes of the steps.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
compile callbacks jumps recursion tables strings heap siglongjmp interpreter varying
c++ -O2 -static -no-pie -o virtual "$PROGRAMS/virtual.cc"
stop_if_wrong
for name in callbacks jumps recursion tables strings heap siglongjmp interpreter varying virtual; do
    run 0 sampler-capture insn --simulate -q --steps $name.steps -o $name.fxt -- ./$name
    run 0 insn_check $name.fxt $name.steps
    [ "$(sed -n 's/^equal=//p' out)" = "$(sed -n 's/^stepped=//p' out)" ] || fail "$name: not all was decoded: $(cat out)"
    run 0 python3 "$ROOT/tests/tools/insn_spans.py" $name $name.steps $name.fxt
    prints "differences=0"
done
finish
