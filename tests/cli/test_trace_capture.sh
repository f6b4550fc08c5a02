#!/bin/sh
# sampler-capture trace against a program that keeps a log of its own: every mode, buffers that wrap, programs that are
# killed, a thousand threads, a hundred providers.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
check=$O/tests/tools/trace_check
cc=${CC:-cc}
$cc -std=c11 -D_GNU_SOURCE -O2 -I"$ROOT/include" "$ROOT/testdata/trace/work.c" "$O/lib/libfxttrace.a" -lpthread -o work || exit 1

# capture KIND OPTION... -- LOG-ARGUMENT...: recorded, sound, and as the log says.
capture() {
    kind=$1
    shift
    run 0 sampler-capture trace -q "$@"
    run 0 fxtdump --verify out.fxt
    run 0 "$check" "$kind" log out.fxt
}
for mode in oneshot circular streaming; do
    capture all -m $mode -b 16M -c work -o out.fxt -- ./work log 4 20000
done
prints '80000 of 80000 events'

# Circular buffers that wrap keep the latest events of each thread.
capture latest -m circular -b 256k -o out.fxt -- ./work log 4 20000
capture latest -m circular -b 4096 -o out.fxt -- ./work log 1 5000

# Of a oneshot buffer that is full the first ones are there, and the rest is counted.
run 0 sampler-capture trace -m oneshot -b 64k --stats-json stats -o out.fxt -- ./work log 1 20000
says 'did not fit into the buffer of'
run 0 fxtdump --verify out.fxt
dropped=$(sed 's/.*"records_dropped":\([0-9]*\).*/\1/' stats)
kept=$(fxtdump out.fxt | grep -c 'category=work')
[ $((dropped + kept)) -eq 20000 ] || fail "$kept kept and $dropped dropped of 20000"
fxtdump out.fxt | grep -q "provider_records_dropped.*dropped: $dropped" || fail "the number is not in the trace"

# Streaming: each event is there or is counted.
run 0 sampler-capture trace -m streaming -b 64k --stats-json stats -o out.fxt -- ./work log 2 20000
run 0 fxtdump --verify out.fxt
dropped=$(sed 's/.*"records_dropped":\([0-9]*\).*/\1/' stats)
kept=$(fxtdump out.fxt | grep -c 'category=work')
[ $((dropped + kept)) -eq 40000 ] || fail "$kept kept and $dropped dropped of 40000"

# Compressed.
capture all -m streaming -b 16M --compress -o out.fxt -- ./work log 1 1000

# A thousand threads.
capture all -m streaming -b 64M -o out.fxt -- ./work log 1000 20

# Killed at random moments: what had returned is there, and at most the one in flight besides.
capture all -m oneshot -b 1M -o out.fxt -- ./work log 2 5000 150
capture all -m streaming -b 4M -o out.fxt -- ./work log 2 5000 100
capture latest -m circular -b 64k -o out.fxt -- ./work log 2 5000 150

# The same of flight recorders; a thousand moments in all.
mkdir recorders
run 0 env FXT_TRACE_FILE=recorders/%p.fxtb FXT_TRACE_BUFFER_SIZE=64k ./work log 2 5000 600
[ "$(find recorders -name '*.fxtb' | wc -l)" -eq 600 ] || fail "not 600 recorders"
run 0 "$check" latest log recorders/*.fxtb
fxtdump --verify "$(find recorders -name '*.fxtb' | head -n 1)" || fail "a recorder is damaged"
# Only categories that were asked for.
run 0 env FXT_TRACE_FILE=none.fxtb FXT_TRACE_CATEGORIES=a,b ./work log 1 10
[ "$(fxtdump none.fxtb | grep -c 'category=work')" -eq 0 ] || fail "another category is recorded"
run 0 env FXT_TRACE_FILE=some.fxtb FXT_TRACE_CATEGORIES='a,wo*' ./work log 1 10
# A limit on the size of files costs the recording, not the program.
run 0 sh -c 'ulimit -f 100; FXT_TRACE_FILE=large.fxtb FXT_TRACE_BUFFER_SIZE=1M FXT_TRACE_CATEGORIES=a exec ./work log 1 10'
[ ! -e large.fxtb ] || fail "a file larger than the limit"
[ "$(fxtdump some.fxtb | grep -c 'category=work')" -eq 10 ] || fail "a prefix matches nothing"

# A hundred providers at once.
cat >hundred <<'END'
i=0
while [ $i -lt 100 ]; do
    i=$((i + 1))
    ./work log.$i 1 100 &
done
wait
cat log.* >log
END
# Beside them one that never answers, and one that registers when the others are recorded.
cat >others.py <<'END'
import os, sys
sys.path.insert(0, os.environ["ROOT"] + "/tests/tools")
from trace_peer import *
mute = Provider(os.environ["FXT_TRACE_SOCKET"], "mute")
mute.initialized()
mute.write_header()
status = os.system("sh ./hundred")
late = os.system("exec ./work log.late 1 100") or os.system("cat log.late >>log")
pid = os.fork()  # what never answers outlives the command
if pid == 0:
    for fd in 0, 1, 2:
        os.close(fd)
    mute.gone()
    os._exit(0)
sys.exit(status != 0 or late != 0)
END
export ROOT
for mode in oneshot circular streaming; do
    rm -f log.*
    run 0 sampler-capture trace -m $mode -b 64k --stop-timeout 0.3 --stats-json stats -o out.fxt -- python3 -B others.py
    says 'mute ('
    says 'has not begun to record; the trace has none of its events'
    [ "$(tr '{' '\n' <stats | grep -c '"recorded":true')" -eq 101 ] || fail "$mode: not 101 providers are recorded"
    run 0 fxtdump --verify out.fxt
    run 0 "$check" all log out.fxt
    prints '10100 of 10100 events'
done

# A category that nobody writes is named.
run 0 sampler-capture trace -c work,wrok -o out.fxt -- ./work log 1 10
says 'no event in the trace has the category wrok'
grep -q 'category work:' err && fail "a category that there is is named, too"

# Another size for one provider, and a status that is passed on.
run 0 sampler-capture trace -b 64k --provider work:16M:more -o out.fxt --stats-json stats -- ./work log 1 10
grep -q '"buffer_bytes":16777216' stats || fail "--provider has no effect"
run 2 sampler-capture trace -o out.fxt -- ./work
run 127 sampler-capture trace -o out.fxt -- ./nothing-here
run 2 sampler-capture trace -o out.fxt --trigger nothing -- ./work
finish
