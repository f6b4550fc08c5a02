#!/bin/sh
# What reads a recording: fxtq has the slices that Perfetto's importer finds in the archive, and a flight recorder's buffer, of a program that was killed, is
# read as it is by fxtdump, fxtq and fxt2pprof.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
cc=${CC:-cc}
$cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/examples/server.c" "$O/lib/libfxttrace.a" -lpthread -o server || exit 1
$cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/testdata/trace/steps.c" "$O/lib/libfxttrace.a" -lpthread -o steps || exit 1
c++ -std=c++17 -O1 -I"$ROOT/include" "$ROOT/examples/pipeline.cc" "$O/lib/libfxttrace.a" -lpthread -o pipeline || exit 1

slices() { # slices TRACE: as fxtq has them
    rm -f slices.db
    run 0 fxtq import "$1" -o slices.db
    fxtq slices.db "SELECT COUNT(*) || ' ' || name AS row FROM slice GROUP BY name ORDER BY name" | sed 1d
}
for program in ./server ./pipeline; do
    for mode in oneshot circular streaming; do
        run 0 sampler-capture trace -q -m $mode -o out.fxt -- $program
        # The session's own mark is no slice of a program.
        python3 -B "$ROOT/tests/tools/trace_slices.py" out.fxt | grep -v ' session$' >expected || fail "$program, $mode: not by Perfetto's rules"
        slices out.fxt | grep -v ' session$' >found
        [ -s expected ] || fail "$program, $mode: no slices"
        cmp expected found || {
            fail "$program, $mode: other slices"
            diff expected found
        }
    done
done

# Killed with a begun buffer.
mkfifo control
FXT_TRACE_FILE=killed.fxtb ./steps >wrote <control &
steps=$!
exec 3>control
echo 'write 500' >&3
until grep -q 'wrote 500' wrote; do sleep 0.01; done
kill -9 $steps
wait $steps 2>/dev/null
exec 3>&-
[ "$(slices killed.fxtb)" = '500 step' ] || fail "fxtq does not have the events of a program that was killed"
run 0 env FXT_TRACE_FILE=server.fxtb ./server
run 0 fxtdump --verify server.fxtb
[ "$(slices server.fxtb | grep -c '^20 serve$')" -eq 1 ] || fail "fxtq does not have the requests"
run 0 fxt2pprof --format folded server.fxtb -o server.folded
grep -q 'serve;query' server.folded || fail "fxt2pprof does not have the spans: $(cat server.folded)"
finish
