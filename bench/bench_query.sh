#!/bin/sh
# Reports on 10 million samples of 100,000 stacks: from the sums, with filters, and what --sql prints; SQL on timelines, by columns.
set -eu
. bench/lib.sh
missed=0

cd "$WORK"
"$O/bench/fxtgen" --count 200000 --stacks 100000 --depth 20 --processes 3 --threads 4 >small.fxt
fxtq import -q small.fxt -o run.fxtq
# Fifty times the samples, in the order of time: rows of an import, made without waiting for one.
sqlite3 run.fxtq "
CREATE TEMP TABLE one AS SELECT id, ts, cpu, utid, callsite_id, weight, sample_type_id FROM cpu_sample;
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 49)
INSERT INTO cpu_sample SELECT id + i * (SELECT count(*) FROM one), ts + i * (SELECT 1 + max(ts) - min(ts) FROM one), cpu, utid, callsite_id, weight, sample_type_id
FROM n, one;
UPDATE callsite_sum SET n = n * 50, value = value * 50;
UPDATE capture SET sample_count = 50 * sample_count, end_ts = (SELECT max(ts) FROM cpu_sample);"
fxtq upgrade -q run.fxtq # the columns of these rows
middle=$(fxtq --no-header run.fxtq "SELECT (start_ts + end_ts) / 2 FROM capture")
tid=$(fxtq --no-header run.fxtq "SELECT tid FROM thread ORDER BY id LIMIT 1")

seconds() { # seconds COMMAND...: the best of three; file `memory` gets the KiB of each
    best=999
    for _ in 1 2 3; do
        /usr/bin/time -f '%e %M' -o time "$@" >out
        best=$(awk -v best="$best" '{ print ($1 < best) ? $1 : best }' time)
        cut -d ' ' -f 2 time >>memory
    done
    echo "$best"
}
/usr/bin/time -f %e -o time sqlite3 run.fxtq "SELECT utid, count(*), sum(weight) FROM cpu_sample GROUP BY 1" >out
scan=$(cat time)

top=$(seconds fxtq report top run.fxtq)
line "report top, all" "$top s" "-" "-" "<= 0.2 s" "$top <= 0.2"
flame=$(seconds fxtq --format csv run.fxtq "SELECT * FROM flamegraph")
line "flame graph table, all" "$flame s" "-" "-" "<= 0.2 s" "$flame <= 0.2"
page=$(seconds fxtq flamegraph run.fxtq -o page.html)
line "flame graph page, all" "$page s" "-" "-" "<= 0.2 s" "$page <= 0.2"
page=$(seconds fxtq flamegraph --tid "$tid" run.fxtq -o page.html)
line "flame graph page --tid $tid" "$page s" "group by thread: $scan s" "$(calc "$page / $scan")" "<= 1.5 s" "$page <= 1.5"
for filter in "--tid $tid" "--time $middle," "--cpu 1" "--tid $tid --focus libgen3" "--comm thread-0"; do
    # shellcheck disable=SC2086 # options are words
    time=$(seconds fxtq report top $filter run.fxtq)
    [ "$(wc -l <out)" -gt 1 ] # something matches
    line "report top $filter" "$time s" "group by thread: $scan s" "$(calc "$time / $scan")" "<= 1.5 s" "$time <= 1.5"
done
fxtq report top --sql run.fxtq >query.sql
plain=$(seconds sqlite3 -init /dev/null run.fxtq ".read query.sql")
line "what --sql prints, in sqlite3" "$plain s" "-" "-" "<= 15 s" "$plain <= 15"

# What Perfetto's trace_processor takes 178 ms for: a million slices by name.
"$O/bench/fxtgen" --kind spans --count 1000000 --stacks 1000 >slices.fxt
fxtq import -q slices.fxt -o slices.fxtq
by_name='SELECT name, count(*), sum(dur) FROM slice GROUP BY name'
ours=$(seconds fxtq slices.fxtq "$by_name")
peer=$(seconds sqlite3 slices.fxtq "$by_name")
line "1 M slices by name, SQL" "$ours s" "sqlite3 $peer s" "$(calc "$ours / $peer")" "<= 1.1 x" "$ours <= 1.1 * $peer + 0.02"
ours=$(seconds fxtq report slices slices.fxtq)
line "report slices, percentiles too" "$ours s" "sqlite3 without: $peer s" "$(calc "$ours / $peer")" "<= 15 s" "$ours <= 15"
# Queries of timelines (tests/column_queries.py), each beside sqlite3 on the plain tables and, where there is one in PATH, Perfetto's
# trace_processor_shell on the trace itself, whose time is that of the query alone.  Those of slices are asked of spans.fxt, those of
# counters of counters.fxt, the others of mix.fxt.  SIZE=500M makes larger traces.
"$O/bench/fxtgen" --mix events=60,sched=40 --size "${SIZE:-100M}" >mix.fxt
"$O/bench/fxtgen" --kind spans --size "${SIZE:-100M}" >spans.fxt
"$O/bench/fxtgen" --mix counters=1 --size "${SIZE:-100M}" >counters.fxt
for trace in mix spans counters; do
    fxtq import -q $trace.fxt -o $trace.fxtq
    cp $trace.fxtq $trace.plain.fxtq
    sqlite3 $trace.plain.fxtq 'DROP TABLE column_data'
done
perfetto=$(command -v trace_processor_shell || true)
python3 "$ROOT/tests/column_queries.py" suite 12 >queries
number=0
most=0
while IFS= read -r query; do
    number=$((number + 1))
    case $number in
    1) name="group by name" trace=spans ;;
    2) name="longest, ties by id" trace=spans ;;
    3) name="longest" trace=spans ;;
    4) name="self time" trace=spans ;;
    5) name="by thread" trace=spans ;;
    6) name="time range" trace=spans ;;
    7) name="arguments" trace=mix ;;
    8) name="counters" trace=counters ;;
    9) name="thread states" trace=mix ;;
    10) name="CPU gaps" trace=mix ;;
    11) name="child over half its parent" trace=spans ;;
    *) name="grandparents" trace=spans ;;
    esac
    rm -f memory
    ours=$(seconds fxtq "$trace.fxtq" "$query")
    most=$(awk -v most="$most" '{ most = ($1 > most) ? $1 : most } END { print most }' memory)
    peer=$(seconds sqlite3 "$trace.plain.fxtq" "$query")
    line "timeline: $name" "$ours s" "sqlite3 $peer s" "$(calc "$ours / $peer")" "<= 1.1 x" "$ours <= 1.1 * $peer + 0.02"
    [ -n "$perfetto" ] || continue
    printf '%s;\n' "$query" >query.sql
    peer=$("$perfetto" --query-file query.sql "$trace.fxt" 2>&1 >rows | sed -n 's/.*Query execution time: \([0-9]*\) ms.*/\1/p')
    peer=$(calc "${peer:-0} / 1000")
    line "timeline: $name" "$ours s" "trace_processor $peer s" "$(calc "$ours / ($peer + 0.001)")" "<= 1.0 x" "$ours <= $peer + 0.02"
done <queries
most=$(calc "$most / 1024")
line "timeline: memory, at most" "$most MiB" "-" "-" "<= 256 MiB" "$most <= 256"
exit $missed
