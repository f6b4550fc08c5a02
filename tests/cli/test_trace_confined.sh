#!/bin/sh
# Programs that install a seccomp filter while they are recorded: for one thread, and for all; that forbids membarrier(2) or sockets, or ends the program at
# each call that docs/tracing.md does not name. Nothing happens to the program.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
cc=${CC:-cc}
$cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/testdata/trace/confine.c" "$O/lib/libfxttrace.a" -lpthread -o confine || exit 1

events() { fxtdump "$1" | grep -c 'category=confine'; }
for what in kill eperm enosys socket strict; do
    for whom in one all; do
        # A flight recorder goes on, and its buffer wraps.
        run 0 env FXT_TRACE_FILE=recorder.fxtb FXT_TRACE_BUFFER_SIZE=64k ./confine $what $whom
        [ "$(cat out err)" = "done" ] || fail "$what, $whom: the program's output is not its own"
        run 0 fxtdump --verify recorder.fxtb
        fxtdump recorder.fxtb | grep -q 'category=confine .*seq: 31000' || fail "$what, $whom: the last event is not in the recorder"
        # So does a session, up to where its thread would need calls that it may not make.
        for mode in oneshot circular streaming; do
            run 0 sampler-capture trace -q -m $mode -b 16M -o out.fxt -- ./confine $what $whom
            [ "$(cat out)" = "done" ] || fail "$what, $whom, $mode: the program's output is not its own"
            run 0 fxtdump --verify out.fxt
            count=$(events out.fxt)
            if [ $whom = one ]; then
                [ "$count" -ge 61001 ] || fail "$what, $mode: $count events of 61001"
            else
                [ "$count" -ge 1000 ] || fail "$what, $whom, $mode: $count events, not even those before the filter"
            fi
        done
        # Buffers that wrap: halves are closed by the program's threads, and by ours.
        for mode in circular streaming; do
            run 0 sampler-capture trace -q -m $mode -b 64k -o out.fxt -- ./confine $what $whom
            [ "$(cat out)" = "done" ] || fail "$what, $whom, $mode, 64k: the program's output is not its own"
            run 0 fxtdump --verify out.fxt
        done
    done
done
finish
