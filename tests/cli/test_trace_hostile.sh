#!/bin/sh
# sampler-capture trace against providers that were written from the notes alone (tests/tools/trace_peer.py): wrong packets, messages, headers, buffers that
# change while they are read, providers that do not answer, more than there is room for at once. The trace is sound each time.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"

hostile() { # hostile CASE OPTION...
    what=$1
    shift
    run 0 sampler-capture trace -b 64k -o out.fxt --stats-json stats "$@" -- python3 -B "$ROOT/tests/tools/trace_provider.py" "$what"
    fxtdump --verify out.fxt >verified 2>&1 || [ "$what" = changing ] || fail "$what: $(cat verified)"
}

for mode in oneshot circular streaming; do
    hostile packets -m $mode
    [ "$(grep -c 'warning: .*: ended, because' err)" -eq 14 ] || fail "$mode: not 14 providers are ended: $(cat err)"
    says 'version ('
    [ "$(fxtdump out.fxt | grep -c ' instant ')" -ge 2 ] || fail "$mode: the good provider's event is missing"
    grep -q '"name":"good".*"recorded":true' stats || fail "$mode: the good provider is not recorded"
    hostile header -m $mode
    says 'the header of its buffer is damaged'
done
hostile changing -m streaming
hostile silent --stop-timeout 0.2 -m circular
says 'mute ('
says 'has not begun to record; the trace has none of its events'
says 'begun ('
says 'did not stop in time; the trace has the events that it wrote until now'
hostile crowd -b 4096
[ "$(tr '{' '\n' <stats | grep -c '"recorded":true')" -eq 4200 ] || fail "not all of many are recorded"
hostile late
[ "$(tr '{' '\n' <stats | grep -c '"recorded":true')" -eq 2 ] || fail "not both are recorded"
finish
