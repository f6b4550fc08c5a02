#!/bin/sh
# An event that a signal handler interrupts after every few instructions (FXT_TEST_LONG: after every one), and that forks there: the child finishes the
# event, and records its own; the parent's recording has it once.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_SOCKET
cc=${CC:-cc}
$cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/testdata/trace/interrupt.c" "$O/lib/libfxttrace.a" -lpthread -o interrupt || exit 1
[ "$(uname -m)" = x86_64 ] || {
    echo "skipped: the processor's trap flag is needed"
    exit 77
}

# Of the longer ones every few instructions; strides are primes, so that loops are interrupted everywhere.
mkdir recordings
while read -r what stride; do
    [ -z "${FXT_TEST_LONG-}" ] || stride=1
    run 0 env FXT_TRACE_FILE=recordings/%p.fxtb FXT_TRACE_BUFFER_SIZE=64k ./interrupt "$what" "$stride" recordings
    [ ! -s err ] || fail "$what: $(cat err)"
    prints "$what: "
    set -- recordings/*.fxtb
    [ $# -eq 1 ] || fail "$what: $# recordings, not the parent's alone"
    run 0 fxtdump --verify "$1"
    fxtdump "$1" >"$what.dump"
    rm "$1"
done <<'END'
first 31
again 1
duration 3
blob 13
claim 53
by-hand 23
vthread 13
END
[ "$(grep -c 'category=interrupt name=site' first.dump)" -eq 1 ] || fail "the interrupted event is not there once"
[ "$(grep -c 'category=interrupt name=site' again.dump)" -eq 2 ] || fail "one of two events is missing"
[ "$(grep -c 'category=interrupt name=blob' claim.dump)" -eq 6 ] || fail "a blob is missing"
finish
