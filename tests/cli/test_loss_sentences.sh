#!/bin/sh
# Each cause of loss that a trace can name, in fxt2pprof's summary, fxtq report damage and the view stats: its own sentence with its own unit, that one
# and no other.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

cat >lost.py <<'PY'
import struct, sys
sys.path.insert(0, sys.argv[1])
from fxt_records import COUNTER, UINT64, argument, event, magic
counter, field, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
if counter == "provider":  # provider event 0 of provider 1
    sys.stdout.buffer.write(magic() + struct.pack("<Q", 1 << 4 | 3 << 16 | 1 << 20) * count)
else:
    sys.stdout.buffer.write(magic() + event(COUNTER, 1, 1, 1, counter, [argument(UINT64, field, count)], last=0, category="fxt.capture"))
PY

# The counter and its argument, the name in a store, one and many in the summary, and what the report and the view stats say.
while IFS='|' read -r counter field name one many said; do
    for count in 1 2345; do
        rm -f lost.fxtq
        python3 lost.py "$ROOT/tests" "$counter" "$field" $count >lost.fxt
        fxt2pprof lost.fxt -o out.pb.gz 2>err || fail "$name: fxt2pprof: status $?: $(cat err)"
        if [ $count = 1 ]; then wanted="  lost: 1 $one"; else wanted="  lost: 2,345 $many"; fi
        [ "$(grep lost: err)" = "$wanted" ] || fail "$name: $(cat err), not '$wanted'"
        fxtq import -q lost.fxt -o lost.fxtq
        fxtq report damage --json lost.fxtq >shown
        [ "$(grep -c '"kind":"'"$name"'"' shown)" = 1 ] || fail "$name: $(cat shown)"
        grep -qF "\"kind\":\"$name\",\"count\":$count,\"bytes\":null,\"first_offset\":null,\"description\":\"$said\"" shown || fail "$name: $(cat shown)"
        [ "$(fxtq --no-header lost.fxtq "SELECT description FROM stats WHERE name = '$name' AND value = $count")" = "$said" ] ||
            fail "$name: the view stats: $(fxtq lost.fxtq 'SELECT * FROM stats')"
    done
done <<'END'
lost|ring|ring|record, mostly a sample, that did not fit into the kernel's buffers: raise --buffer-size (perf: -m) or lower -F|records, mostly samples, that did not fit into the kernel's buffers: raise --buffer-size (perf: -m) or lower -F|records, mostly samples, that did not fit into the kernel's buffers
lost|sideband|sideband|name or mapping that did not fit into the kernel's buffers: some code may have no names|names and mappings that did not fit into the kernel's buffers: some code may have no names|names and mappings that did not fit into the kernel's buffers
lost|region_full|region_full|sample that did not fit into the region of its CPU: raise --buffer-size|samples that did not fit into the regions of their CPUs: raise --buffer-size|samples that did not fit into the region of their CPU
lost|stopped|stopped|CPU that stopped sampling when its region was full (--mode oneshot), so later samples are not counted: raise --buffer-size|CPUs that stopped sampling when their regions were full (--mode oneshot), so later samples are not counted: raise --buffer-size|CPUs that stopped sampling when their region was full
lost|unreadable|unreadable|sample whose stack could not be read|samples whose stack could not be read|samples whose stack could not be read
lost|exited|exited|sample of a thread that was just ending|samples of threads that were just ending|samples of threads that were just ending
lost|throttled|throttled|time that the kernel throttled sampling: lower -F|times that the kernel throttled sampling: lower -F|times that the kernel throttled sampling
provider|0|provider_events|mark of a provider that lost records: unless another line explains it, give the provider a larger buffer|marks of providers that lost records: unless another line explains them, give the providers larger buffers|marks of providers that lost records
provider_records_dropped|dropped|trace_records|record that did not fit into the trace buffer of its program: raise --buffer-size, or use --mode streaming|records that did not fit into the trace buffers of their programs: raise --buffer-size, or use --mode streaming|records that did not fit into the trace buffer of their program
heap_lost|allocations|heap_allocations|sampled allocation that the capture did not receive: too little memory is shown; raise --interval|sampled allocations that the capture did not receive: too little memory is shown; raise --interval|sampled allocations that the capture did not receive
heap_lost|frees|heap_frees|release that the capture did not receive: its block still appears to be in use; raise --interval|releases that the capture did not receive: their blocks still appear to be in use; raise --interval|releases that the capture did not receive: their blocks still appear to be in use
heap_lost|infos|heap_infos|message about modules that the capture did not receive: code in them has no names; raise --interval|messages about modules that the capture did not receive: code in them has no names; raise --interval|messages about modules that the capture did not receive
heap_lost|rejected|heap_rejected|refused message of a captured process (invalid, or one mapping too many), which was not captured from then on|refused messages of captured processes (invalid, or one mapping too many), which were not captured from then on|messages of captured processes that were refused: invalid, or one mapping too many
heap_lost|no_memory|heap_no_memory|sampled allocation that a process had no memory left to record: too little is shown|sampled allocations that a process had no memory left to record: too little is shown|sampled allocations that a process had no memory left to record
heap_lost|forgotten|heap_forgotten|block whose release a process could not report, because it had closed its connection: it may appear to be in use|blocks whose release a process could not report, because it had closed its connection: they may appear to be in use|blocks whose release a process could not report
END

# A mark with a counter after it is one loss: that of the counter.
{
    python3 lost.py "$ROOT/tests" provider '' 1
    python3 lost.py "$ROOT/tests" provider_records_dropped dropped 7 | tail -c +9
} >both.fxt
fxt2pprof both.fxt -o out.pb.gz 2>err || fail "a mark and a counter: $(cat err)"
[ "$(grep lost: err | cut -c 1-58)" = '  lost: 7 records that did not fit into the trace buffers ' ] || fail "a mark and a counter: $(cat err)"
rm -f lost.fxtq
fxtq import -q both.fxt -o lost.fxtq
fxtq export fxt -q lost.fxtq -o again.fxt || fail "export"
fxt2pprof again.fxt -o out.pb.gz 2>err
grep -qF '  lost: 7 records that did not fit into the trace buffers' err || fail "exported: $(cat err)"

# Every cause has a row above.
sed -n 's/^ *LOSS(\([a-z_]*\),.*/\1/p' "$ROOT/libprofile/losses.c" | sort >causes
grep -E '^((heap_)?lost|provider|provider_records_dropped)\|' "$ROOT/tests/cli/test_loss_sentences.sh" | cut -d '|' -f 3 | sort >rows
[ -s causes ] || fail "no causes found"
cmp -s causes rows || fail "causes without a row: $(diff causes rows)"
