#!/bin/sh
# A trace that a real processor wrote, with the kernel's records: all 8 instructions of DynamoRIO's test program.  It is not part of
# this project: FXT_DYNAMORIO_SOURCE is a folder with DynamoRIO's source.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
trace=${FXT_DYNAMORIO_SOURCE:-}/clients/drcachesim/drpt2trace/test_simple.raw
if [ ! -f "$trace/pt.bin" ]; then
    echo "SKIP: the source of DynamoRIO is not here (FXT_DYNAMORIO_SOURCE)"
    exit 0
fi
cp "$trace/hello" hello
python3 "$ROOT/tests/tools/insn_dynamorio.py" "$trace" "$PWD/hello" >perf.data
run 0 fxt2pprof --profile insn --sample-type instructions --format folded --root none -o folded perf.data
[ "$(awk '{ sum += $NF } END { print sum }' folded)" = 8 ] || fail "not 8 instructions: $(cat folded err)"
! grep -q "could not be decoded" err || fail "gaps: $(cat err)"
run 0 fxtq import perf.data -o hello.fxtq
run 0 fxtq hello.fxtq "select count(*) from slice where name = '[untraced]'"
[ "$(tail -1 out)" -ge 1 ] || fail "the system call between them is no slice: $(cat out)"
finish
