#!/bin/sh
# A store has the timeline that an oracle works out of the same trace, slowly and in memory.
set -u

. "$ROOT/tests/cli/fail.sh"


check() { # check TRACE
    rm -f "$WORK/store.fxtq"
    fxtq import "$1" -o "$WORK/store.fxtq" >"$WORK/log" 2>&1 || fail "$1: $(cat "$WORK/log")"
    fxtdump --json "$1" 2>"$WORK/log" >"$WORK/records" || fail "$1: $(cat "$WORK/log")"
    python3 tests/timeline_oracle.py "$WORK/store.fxtq" <"$WORK/records" >"$WORK/answer" || fail "$1: $(cat "$WORK/answer")"
}

# Everything crosses everything.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    python3 tests/timeline_trace.py "$seed" >"$WORK/random-$seed.fxt" || fail "seed $seed"
    check "$WORK/random-$seed.fxt"
done
PYTHONPATH=tests python3 testdata/perfettosql/scenario.py >"$WORK/scenario.fxt" || fail 'no scenario'
check "$WORK/scenario.fxt"

fxtgen=$O/bench/fxtgen
for kind in spans events sched; do
    "$fxtgen" --kind "$kind" --count 3000 --seed 5 >"$WORK/$kind.fxt" || fail "fxtgen --kind $kind"
    check "$WORK/$kind.fxt"
done

# What the generator itself counted: how long each thread ran, and how long it waited for a CPU.
"$fxtgen" --kind sched --count 5000 --seed 6 --truth "$WORK/truth" >"$WORK/sched.fxt" || fail "fxtgen --truth"
rm -f "$WORK/store.fxtq"
fxtq import -q "$WORK/sched.fxt" -o "$WORK/store.fxtq" || fail "sched.fxt"
grep -v ';blocked' "$WORK/truth" | LC_ALL=C sort >"$WORK/expected"
sqlite3 -separator ' ' "$WORK/store.fxtq" "
    SELECT p.name || ';' || t.name || ';' || iif(state = 'Running', 'running', 'ready'), sum(iif(dur = -1, (SELECT end_ts FROM trace_bounds) - ts, dur))
    FROM thread_state JOIN thread AS t USING (utid) JOIN process AS p USING (upid) WHERE state IN ('R', 'W', 'Running') GROUP BY utid, state = 'Running'" |
    LC_ALL=C sort >"$WORK/found"
diff -u "$WORK/expected" "$WORK/found" || fail "other times than the generator's"
grep ';ready' "$WORK/expected" >"$WORK/ready"
fxt2pprof -q --profile offcpu --format folded --root thread "$WORK/sched.fxt" -o - | sed -n 's/;\[runnable\]/;ready/p' | LC_ALL=C sort >"$WORK/found"
diff -u "$WORK/ready" "$WORK/found" || fail "other waits than the generator's"

# Two captures in one store: each keeps its own, and what refers to rows refers to its own rows.
rm -f "$WORK/store.fxtq"
fxtq import "$WORK/random-1.fxt" "$WORK/scenario.fxt" -o "$WORK/store.fxtq" >"$WORK/log" 2>&1 || fail "$(cat "$WORK/log")"
strays=$(sqlite3 "$WORK/store.fxtq" "
    SELECT count(*) FROM slice_data AS s JOIN slice_data AS p ON p.id = s.parent_id WHERE p.track_id <> s.track_id OR p.id >= s.id OR p.ts > s.ts;
    SELECT count(*) FROM slice_data AS s LEFT JOIN track AS t ON t.id = s.track_id LEFT JOIN event_name AS n ON n.id = s.name_id WHERE t.id IS NULL OR n.id IS NULL;
    SELECT count(*) FROM slice_data WHERE arg_set_id NOT IN (SELECT arg_set_id FROM arg);
    SELECT count(DISTINCT capture_id) - 2 FROM track;" | tr '\n' ' ')
[ "$strays" = '0 0 0 0 ' ] || fail "rows that refer to others' rows: $strays"
named=$(sqlite3 "$WORK/store.fxtq" "SELECT string_value FROM slice JOIN args USING (arg_set_id) WHERE slice.name = 'frame' AND key = 'kind'")
[ "$named" = first ] || fail "an argument of the second capture: $named"

real=$FXT_SHARED_DATA/fxt
if [ ! -d "$real" ]; then
    echo 'SKIP: real FXT traces are not here'
    exit 0
fi
for trace in "$real"/*.fxt "$real"/*.fxt.gz "$real"/ocaml-trace/*.fxt; do
    check "$trace"
done
