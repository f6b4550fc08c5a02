#!/bin/sh
# fxtq export fxt: trace, store, trace, store - the two stores have the same rows, and fxt2pprof counts the same in both traces.
set -eu

failed=0
fail() {
    echo "FAIL: $*"
    failed=1
}
run() { # run STATUS COMMAND...
    expected=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq "$expected" ] || fail "$*: status $status, not $expected: $(cat err)"
}
says() {
    grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"
}
cd "$WORK"
PATH=$O/bin:$PATH
generate() { "$O/bench/fxtgen" "$@"; }
rows() { python3 "$ROOT/tests/tools/store_rows.py" "$1"; }

# round TRACE [RULE,...]: rules for writers that the trace itself does not keep
round() {
    name=$(basename "$1")
    rm -f one.fxtq two.fxtq
    fxtq import -q "$1" -o one.fxtq 2>err || [ $? -eq 3 ] || fail "$name: import: $(cat err)"
    run 0 fxtq export fxt one.fxtq -o "again.fxt"
    grep -q 'not held' err && fail "$name: $(cat err)"
    run 0 fxtq import -q again.fxt -o two.fxtq
    rows one.fxtq >one.rows
    rows two.fxtq >two.rows
    cmp -s one.rows two.rows || fail "$name: other rows: $(diff one.rows two.rows | head -n 6 | cut -c1-200)"
    run 0 fxtdump --verify again.fxt
    python3 "$ROOT/tests/fxt_rules.py" --allow "${2:-none}" again.fxt >broken || fail "$name breaks rules for writers: $(head -n 3 broken)"
    for profile in cpu heap heap-free span offcpu; do
        fxt2pprof -q --no-symbolize -f folded --profile $profile "$1" >wanted 2>err || continue
        run 0 fxt2pprof -q --no-symbolize -f folded --profile $profile again.fxt
        cmp -s out wanted || fail "$name: another $profile profile"
        compared=$((compared + 1))
    done
    rounds=$((rounds + 1))
}
rounds=0 compared=0

for kind in sampler region heap spans events sched; do
    generate --kind=$kind --count 1500 --stacks 150 >$kind.fxt
    round $kind.fxt
done
generate --kind=profiler --count 1500 --stacks 150 >profiler.fxt
round profiler.fxt 1,11 # no provider, and threads without their processes, as the trace
generate --kind=events --args 3 --count 2000 >args.fxt
round args.fxt
generate --depth 250 --count 500 --kind=profiler >deep.fxt # stacks that readers hold for cut
round deep.fxt 1,11
generate --mix=events=40,sched=30,stacks=15,heap=15 --count 6000 --seed 7 >mix.fxt
round mix.fxt
"$O/tests/tools/fxt_every_kind" >every.fxt
round every.fxt 1,9,10,11,14,14-id,clock,format,rust

# Whatever crosses whatever: wakeups of threads that run, switches that contradict each other, counters of 0.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    python3 "$ROOT/tests/timeline_trace.py" $seed plain >random-$seed.fxt
    round random-$seed.fxt 1,9,10,11,14
done

# What the initialization record said is said there again, and by no event of a thread that the trace does not have.
PYTHONPATH=$ROOT/tests python3 -c "
import sys
import fxt_records as fxt
init = b''.join(fxt.word(n) for n in (1 | 4 << 4, 10**9, 0, 1650419113989693816))
sys.stdout.buffer.write(fxt.magic() + init + fxt.event(fxt.COMPLETE, 5, 1, 2, 'a', (), 9))" >dated.fxt
round dated.fxt 1,9,10,11,14
fxtdump again.fxt >out
grep -q 'base_time_ns=1650419113989693816' out || fail "the clock is gone: $(cat out)"
! grep -q ' session ' out || fail "a session that the trace does not have: $(cat out)"

# The peak of the heap is where it was: messages are in the order of time.
fxtq import -q heap.fxt -o heap.fxtq
fxtq export fxt -q heap.fxtq -o again.fxt
for trace in heap again; do
    fxt2pprof -q --no-symbolize -f folded --profile heap --at peak $trace.fxt >$trace.peak 2>err
done
cmp -s heap.peak again.peak || fail "another peak"

# A part of it: what the filters leave, and no thread of others.
fxtq import -q mix.fxt -o mix.fxtq
pid=$(fxtq mix.fxtq --no-header 'SELECT pid FROM cpu_sample JOIN thread USING (utid) JOIN process USING (upid) LIMIT 1')
run 0 fxtq export fxt -q --pid "$pid" mix.fxtq -o part.fxt
run 0 fxtq import -q part.fxt -o part.fxtq
count() { fxtq "$1" --no-header "$2"; }
[ "$(count part.fxtq 'SELECT count(*) FROM cpu_sample')" = "$(count mix.fxtq "SELECT count(*) FROM cpu_sample JOIN thread USING (utid) JOIN process USING (upid) WHERE pid = $pid")" ] ||
    fail "--pid: other samples"
[ "$(count part.fxtq 'SELECT count(*) FROM thread_slice')" = "$(count mix.fxtq "SELECT count(*) FROM thread_slice WHERE pid = $pid")" ] || fail "--pid: other slices"
run 0 fxtq export fxt -q --time +1ms,+2ms mix.fxtq -o part.fxt
rm -f part.fxtq
run 0 fxtq import -q part.fxt -o part.fxtq
[ "$(count part.fxtq 'SELECT count(*) FROM cpu_sample')" = "$(count mix.fxtq 'SELECT count(*) FROM cpu_sample, trace_bounds WHERE ts >= start_ts + 1000000 AND ts < start_ts + 2000000')" ] ||
    fail "--time: other samples"

# One capture of several; names stay in the store.
fxtq import -q sampler.fxt spans.fxt heap.fxt -o three.fxtq
run 2 fxtq export fxt three.fxtq -o x.fxt
says 'an fxt file has one capture; select it with --capture: 1 (sampler.fxt), 2 (spans.fxt), 3 (heap.fxt)'
[ ! -e x.fxt ] || fail "a file although it failed"
for capture in 1:sampler 2:spans 3:heap; do
    run 0 fxtq export fxt -q --capture ${capture%:*} three.fxtq -o x.fxt
    rm -f x.fxtq alone.fxtq
    fxtq import -q x.fxt -o x.fxtq
    fxtq import -q ${capture#*:}.fxt -o alone.fxtq
    rows x.fxtq >one.rows
    rows alone.fxtq >two.rows
    cmp -s one.rows two.rows || fail "capture ${capture#*:} of three differs: $(diff one.rows two.rows | head -n 4 | cut -c1-200)"
done
run 2 fxtq export fxt --hide x three.fxtq --capture 1
says 'FXT has addresses'
run 2 fxtq export fxt --sample-type cpu three.fxtq --capture 1
run 4 fxtq export fxt --capture 1 three.fxtq -o /dev/full
says 'No space left'

if [ $rounds -lt 11 ] || [ $compared -lt 11 ]; then
    fail "only $rounds traces and $compared profiles were compared"
fi

# Names with large ids, of which some are kept from one event to the next and some are not.
generate --kind events --count 3000 --stacks 30 >names.fxt
fxtq import -q names.fxt -o names.fxtq
run 0 fxtq export fxt names.fxtq -o small.fxt
for edit in "id + 70000 WHERE id % 3" "id + 9223372036854000000 WHERE 1" "-id WHERE id % 2"; do
    cp names.fxtq large.fxtq
    sqlite3 large.fxtq "PRAGMA foreign_keys = OFF; UPDATE slice_data SET name_id = $(echo "$edit" | sed 's/id/name_id/g');
        UPDATE flow SET name_id = $(echo "$edit" | sed 's/id/name_id/g'); UPDATE event_name SET id = $edit"
    run 0 fxtq export fxt large.fxtq -o large.fxt
    cmp -s small.fxt large.fxt || fail "names with ids of $edit"
done

# ---- Real traces ----

if [ ! -d "$FXT_SHARED_DATA/fxt" ]; then
    echo 'SKIP: real FXT traces are not here'
    exit $failed
fi
# Jane Street's provider is number 0; some traces have none, or arguments that only our reader knows.
for trace in "$FXT_SHARED_DATA"/fxt/*.fxt "$FXT_SHARED_DATA"/fxt/*.fxt.gz "$FXT_SHARED_DATA"/fxt/*/*.fxt; do
    round "$trace" 1
done

exit $failed
