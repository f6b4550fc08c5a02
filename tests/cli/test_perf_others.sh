#!/bin/sh
# perf.data files of others: Google's converter (perf 3.2 to 6.12, files and pipes, x86, 32-bit ARM), hotspot, samply, simpleperf. Each has
# the records that its makers list, its samples reach the profile, and what is damaged is said.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

files=$FXT_SHARED_DATA/perf
if [ ! -d "$files" ]; then
    echo "SKIP: perf.data files of others are not here"
    exit 0
fi

# Path, status, samples, COMM, FORK, EXIT.
cat >list <<'END'
quipper/perf.data.armv7.perf_3.14-3.8 0 700 217 5 12
quipper/perf.data.branch-4.14 0 13 3 0 1
quipper/perf.data.callgraph-3.8 0 1768 229 2 6
quipper/perf.data.ctx_switch_namespaces-4.14 0 2 3 0 1
quipper/perf.data.group_desc-4.14 0 13 3 0 1
quipper/perf.data.hybrid_topology 0 7 3 0 1
quipper/perf.data.i686-3.4 0 703 204 2 6
quipper/perf.data.intel_pt-4.14 0 15 3 0 1
quipper/perf.data.lost_samples-4.4 0 191 3 0 1
quipper/perf.data.piped.corrupted.zero_size_sample-3.2 3 227 101 0 2
quipper/perf.data.piped.ctx_switch_namespaces-4.14 0 7 3 0 1
quipper/perf.data.piped.header_features-4.16 0 2 2 0 1
quipper/perf.data.piped.header_features_aligned-6.12 0 9 2 0 1
quipper/perf.data.piped.lost_samples-4.4 0 191 3 0 1
quipper/perf.data.piped.no_attr_ids-4.14 0 7 3 0 1
quipper/perf.data.piped.target.throttled-3.4 0 228 101 0 2
quipper/perf.data.proc.map.timeout-3.18 0 8 13 0 0
quipper/perf.data.raw-3.4 0 441 225 2 4
quipper/perf.data.remmap-3.2 0 198 2 1 4
quipper/perf.data.singleprocess-3.4 0 77 2 0 2
quipper/perf.data.singleprocess-3.8 0 13 2 0 4
hotspot/perf.data.PerfFormatLost 0 34 3 8 1
hotspot/perf.data.true.v1 0 0 2 0 2
hotspot/perf.data.true.v2 0 1 2 0 2
samply/fibo.compressed2.pipe.data 0 547 23 19 17
samply/sleep.compressed.data 0 8 2 0 1
samply/sleep.compressed.pipe.data 0 8 2 0 1
samply/sleep.compressed2.data 0 7 2 0 1
samply/sleep.compressed2.pipe.data 3 7 2 0 1
samply/sleep.data 0 7 2 0 1
simpleperf/perf.data 0 2409 4 0 0
simpleperf/perf_b.data 0 150 1 0 0
simpleperf/perf_g_fp.data 0 10 1 0 0
simpleperf/perf_lbr.data 0 19 2 0 0
simpleperf/perf_with_add_counter.data 0 12 2 0 1
simpleperf/perf_with_mini_debug_info.data 0 1151 1 0 0
simpleperf/perf_with_symbols.data 0 935 1 0 0
simpleperf/perf_with_symbols_for_nonzero_minvaddr_dso.data 0 317 1 0 0
simpleperf/perf_with_two_event_types.data 0 10 3 0 2
simpleperf/perf_with_callchain_record.data 0
simpleperf/perf_with_tracepoint_event.data 0
END

count() { # count KIND: records of it in out
    n=$(sed -n "s/^ *\([0-9,]*\)  $1\$/\1/p" out | tr -d ,)
    echo "${n:-0}"
}
found=0
while read -r name wanted records; do
    [ -e "$files/$name" ] || {
        echo "not here: $name"
        continue
    }
    found=$((found + 1))
    status=0
    fxtdump --stats "$files/$name" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: status $status, not $wanted: $(cat err)"
    [ "$wanted" -eq 0 ] || grep -q 'damaged: ' err || fail "$name: nothing is said of the damage: $(cat err)"
    samples=$(count SAMPLE)
    if [ -n "$records" ]; then
        counts="$samples $(count COMM) $(count FORK) $(count EXIT)"
        [ "$counts" = "$records" ] || fail "$name: samples, COMM, FORK, EXIT are $counts, not $records"
    fi
    # Every sample is in the profile, or counted as one without an address.
    status=0
    fxt2pprof --format folded --sample-type samples -o folded "$files/$name" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || [ "$samples" -eq 0 ] || fail "$name: fxt2pprof: status $status: $(cat err)"
    left=$(sed -n 's/.* \([0-9]*\) samples\{0,1\} without an address.*/\1/p' err)
    sum=$(awk '{ sum += $NF } END { print sum + 0 }' folded 2>/dev/null || echo 0)
    [ "$samples" -eq 0 ] || [ $((sum + ${left:-0})) -eq "$samples" ] || fail "$name: $sum samples in the profile, $samples in the file: $(cat err)"
done <list
[ $found -gt 0 ] || fail "no file of the list is in $files"

# Quipper's own reading of a file, if it is there, has the same records: threads, times, addresses, chains, mappings.
for text in "$files"/quipper/*.pb_text; do
    [ -e "$text" ] || continue
    fxtdump --json "${text%.pb_text}" >records.json 2>err || fail "$text: $(cat err)"
    python3 "$ROOT/tests/tools/perf_quipper.py" "$text" records.json >out 2>&1 || fail "$text: $(cat out)"
    [ "$(cat out)" -gt 40 ] || fail "$text: $(cat out) records"
done

# What simpleperf writes beyond perf: records of its own, counted by that name, and names of events.
[ -e "$files/simpleperf/perf_with_callchain_record.data" ] || exit 0
fxtdump --stats "$files/simpleperf/perf_with_callchain_record.data" >out 2>err || fail "$(cat err)"
[ "$(count SIMPLEPERF)" -gt 0 ] || fail "no records of simpleperf's own: $(cat out)"
fxt2pprof --format folded -o folded "$files/simpleperf/perf_with_callchain_record.data" 2>err || fail "$(cat err)"
grep -q 'not used: .*SIMPLEPERF records' err || fail "records of simpleperf's own are not mentioned: $(cat err)"
fxtdump --stats "$files/simpleperf/perf_with_tracepoint_event.data" >out 2>err || fail "$(cat err)"
grep -q 'samples of sched:sched_switch$' out || fail "simpleperf's names of events: $(cat out)"
