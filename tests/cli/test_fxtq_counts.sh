#!/bin/sh
# The counts of what traces hold ("samples", "alloc_objects", ...) are sample types everywhere: reports, their plain SQL, SQL functions,
# flame graphs and exports agree on them, with and without filters, and beside profiles that have the same type.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
"$O/bench/fxtgen" --stacks 60 --processes 2 --threads 2 --count 500 >cpu.fxt
"$O/bench/fxtgen" --kind heap --stacks 40 --count 400 >heap.fxt
fxt2pprof -q -o cpu.pb.gz cpu.fxt
fxtq import -q cpu.fxt -o cpu.fxtq
fxtq import -q heap.fxt -o heap.fxtq
fxtq import -q cpu.fxt cpu.pb.gz -o both.fxtq

sum_folded() { # the last words of lines added up
    awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}
about() { # about A B: equal but for the rounding of lines
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d * d <= 400 && a > 0) }'
}

checked=0
check() { # check STORE TYPE TOTAL OPTION...: every way to a total of this type gives this one
    store=$1 type=$2 total=$3
    shift 3
    exported=$(fxtq export folded -q --sample-type "$type" "$@" "$store" | sum_folded)
    about "$exported" "$total" || fail "$store: folded $type $*: $exported, not $total"
    counted=$(fxtq report top --by process --rows 0 --json --sample-type "$type" "$@" "$store" |
        python3 -c 'import json, sys; print(sum(json.loads(line)["self"] for line in sys.stdin))')
    about "$counted" "$total" || fail "$store: report top $type $*: $counted, not $total"
    functions=$(fxtq report top --rows 0 --json --sample-type "$type" "$@" "$store" |
        python3 -c 'import json, sys; print(sum(json.loads(line)["self"] for line in sys.stdin))')
    about "$functions" "$total" || fail "$store: functions of $type $*: $functions, not $total"
    fxtq report top --by process --rows 0 --sql --sample-type "$type" "$@" "$store" >plain.sql
    grep -q 'Needs libfxtsql' plain.sql || {
        plain=$(sqlite3 -readonly -list "$store" <plain.sql | awk -F'|' '{ sum += $1 } END { print sum }')
        about "$plain" "$total" || fail "$store: plain SQL for $type $*: $plain, not $total"
    }
    fxtq flamegraph --sample-type "$type" "$@" -o page.html "$store" 2>log || fail "flamegraph of $type $*: $(cat log)"
    grep -q "\"$type\"" page.html || fail "$store: the page has no $type"
    checked=$((checked + 1))
}
sql() { # sql STORE QUERY
    fxtq "$1" --format csv "$2" | tail -n 1
}

samples=$(sqlite3 cpu.fxtq 'SELECT count(*) FROM cpu_sample')
check cpu.fxtq samples "$samples"
tid=$(sqlite3 cpu.fxtq 'SELECT tid FROM thread AS t JOIN cpu_sample AS s ON s.utid = t.id LIMIT 1')
check cpu.fxtq samples "$(sqlite3 cpu.fxtq "SELECT count(*) FROM cpu_sample AS s JOIN thread AS t ON t.id = s.utid WHERE tid = $tid")" --tid "$tid"
check cpu.fxtq samples "$(sqlite3 cpu.fxtq 'SELECT count(*) FROM cpu_sample WHERE cpu = 1')" --cpu 1
check both.fxtq samples $((2 * samples))
check both.fxtq samples "$samples" --capture 1
check both.fxtq samples "$samples" --capture 2
[ "$(sql cpu.fxtq "SELECT sum(self) FROM call_top WHERE type = 'samples/count'")" = "$samples" ] || fail 'samples/count in SQL'
for pair in 'alloc_objects 1' 'inuse_objects freed=0' 'free_objects freed<>0'; do
    type=${pair% *} rows=${pair#* }
    check heap.fxtq "$type" "$(sqlite3 heap.fxtq "SELECT sum(objects) FROM heap_event WHERE $rows")"
    pid=$(sqlite3 heap.fxtq "SELECT pid FROM heap_event AS h JOIN process AS p ON p.id = h.upid WHERE $rows LIMIT 1")
    check heap.fxtq "$type" "$(sqlite3 heap.fxtq "SELECT sum(objects) FROM heap_event AS h JOIN process AS p ON p.id = h.upid
        WHERE $rows AND pid = $pid")" --pid "$pid"
done
[ $checked -eq 12 ] || fail "only $checked checks"

# ---- A count of what is not there is no type ----
status=0
fxtq report top --sample-type alloc_objects cpu.fxtq >out 2>err || status=$?
[ $status -eq 2 ] || fail "allocations of a CPU profile: status $status"
grep -q "no samples of type 'alloc_objects'" err || fail "allocations of a CPU profile: $(cat err)"

# ---- Comparisons take counts, too, of traces and of stores ----
for input in cpu.fxt cpu.fxtq cpu.pb.gz; do
    status=0
    fxtdiff --no-symbolize --sample-type samples $input -- $input >out 2>err || status=$?
    grep -q 'samples per run: 500 -> 500' out || fail "fxtdiff $input: status $status: $(cat out err)"
done
fxtdiff --no-symbolize --json --profile heap --sample-type alloc_objects heap.fxt -- heap.fxt >of-trace 2>err || true
fxtdiff --no-symbolize --json --sample-type alloc_objects heap.fxtq -- heap.fxtq >of-store 2>err || true
python3 - <<'PY' || fail 'allocations of a store'
import json
traced, stored = ([run["cost"] for run in json.load(open(name))["runs"]] for name in ("of-trace", "of-store"))
assert len(traced) == len(stored) == 2 and all(abs(a - b) < 1e-3 * b for a, b in zip(traced, stored)), (traced, stored)
PY
