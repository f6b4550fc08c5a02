#!/bin/sh
# Columns: reports, functions of samples and flame graphs give the rows of the plain tables, for every filter, byte for byte.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --count 9000 --stacks 300 --processes 2 --threads 3 >samples.fxt
"$O/bench/fxtgen" --mix events=40,sched=40,stacks=20 --count 6000 >mix.fxt
"$O/bench/fxtgen" --kind spans --count 4500 --stacks 50 >spans.fxt
"$O/tests/tools/fxt_every_kind" >every.fxt
for trace in samples mix spans every; do "$fxtq" import -q $trace.fxt -o $trace.fxtq 2>import.err || [ $trace = every ] || fail "$trace: $(cat import.err)"; done
# Samples of two events, two captures in one store, and rows that no capture has: several groups, NULL in CPUs and weights.
"$fxtq" import -q "$ROOT/testdata/perf/events.data" -o types.fxtq 2>import.err || fail "types: $(cat import.err)"
"$fxtq" import -q samples.fxt mix.fxt -o both.fxtq
cp samples.fxtq odd.fxtq
sqlite3 odd.fxtq "UPDATE cpu_sample SET cpu = NULL WHERE id % 5 = 0; UPDATE cpu_sample SET weight = NULL WHERE id % 7 = 0;
UPDATE cpu_sample SET callsite_id = 1000000 WHERE id % 11 = 0; UPDATE cpu_sample SET utid = 99 WHERE id % 13 = 0;
DELETE FROM cpu_sample WHERE id BETWEEN 5000 AND 5100; UPDATE cpu_sample SET weight = 9223372036854775807 WHERE id % 17 = 0"
"$fxtq" upgrade -q odd.fxtq
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" drawn.fxtq 3 1000
"$fxtq" upgrade -q drawn.fxtq
stores='samples mix spans every types both odd drawn'
for store in $stores; do
    [ "$("$fxtq" --no-header "$store.fxtq" "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'slice'")" = 1 ] || fail "$store has no columns"
    cp "$store.fxtq" "$store.plain.fxtq"
    sqlite3 "$store.plain.fxtq" 'DROP TABLE column_data'
done

compared=0
same() { # same STORE COMMAND [ARGUMENT]...: what the command says of the store, and of the one without columns
    of=$1
    shift
    by_columns=0 by_tables=0
    "$fxtq" "$@" "$of.fxtq" >columns.out 2>columns.err || by_columns=$?
    "$fxtq" "$@" "$of.plain.fxtq" >plain.out 2>plain.err || by_tables=$?
    sed -i "s/$of\.plain\.fxtq/$of.fxtq/g" plain.out plain.err
    [ $by_columns = $by_tables ] || fail "$* $of: status $by_columns, of the plain tables $by_tables: $(cat columns.err)"
    cmp -s columns.out plain.out || fail "$* $of: $(diff columns.out plain.out | head -n 5)"
    cmp -s columns.err plain.err || fail "$* $of: $(diff columns.err plain.err)"
    [ ! -s columns.out ] || compared=$((compared + 1))
}

for store in $stores; do
    middle=$("$fxtq" --no-header "$store.fxtq" 'SELECT (min(start_ts) + max(end_ts)) / 2 FROM capture')
    late=$("$fxtq" --no-header "$store.fxtq" 'SELECT min(start_ts) + (max(end_ts) - min(start_ts)) / 4 * 3 FROM capture')
    tid=$("$fxtq" --no-header "$store.fxtq" 'SELECT tid FROM thread ORDER BY id LIMIT 1')
    pid=$("$fxtq" --no-header "$store.fxtq" 'SELECT pid FROM process ORDER BY id LIMIT 1')
    for filter in "" "--time $middle," "--time $middle,$late" "--cpu 1" "--cpu 0,2" "--tid $tid" "--pid $pid --cpu 1" "--comm thread-0" \
        "--capture 1 --tid $tid --time ,$middle"; do
        # shellcheck disable=SC2086 # filters are words
        for report in "top" "top --by thread" "threads" "cpu" "cpu --by thread" "cpu --by wait" "slices" "timeline" "timeline --by cpu"; do
            same $store report $report -n 0 --json $filter
        done
    done
    # shellcheck disable=SC2086
    for filter in "--focus n0" "--tid $tid --ignore n0" "--cpu 1 --hide n1" "--time $middle, --show-from n2"; do
        for report in "top" "tree" "callers n0" "threads" "slices"; do same $store report $report -n 0 --json $filter; done
    done
done
[ $compared -gt 450 ] || fail "only $compared reports had rows"

# The timeline looks threads up for each sample only if a filter needs them.
for filter in "" "--tid 1000"; do
    # shellcheck disable=SC2086
    "$fxtq" report timeline --sql $filter samples.fxtq | sed '/GROUP BY/q' >first.sql
    [ "$(grep -c 'JOIN thread' first.sql)" = "$([ -z "$filter" ] && echo 0 || echo 1)" ] || fail "timeline $filter: $(cat first.sql)"
done

# Functions of samples in SQL, and what they count.
cat >script.sql <<END
SELECT * FROM callsite_counts WHERE cpu = '1';
SELECT * FROM callsite_counts WHERE from_ts = 0;
SELECT * FROM call_tree WHERE type = 'samples' AND cpu = '0,1,2,3';
SELECT * FROM call_top WHERE per = 'process' AND cpu = '1,2';
SELECT * FROM call_top WHERE per = 'thread';
SELECT * FROM flamegraph WHERE comm = 'thread-1' AND limit_ts = 9000000000000000000;
END
for store in samples types both odd; do same $store --file script.sql; done
for type in cpu page-faults samples; do
    same types report top --json --sample-type $type --time 0,
    same types report top --json --sample-type $type --tid "$("$fxtq" --no-header types.fxtq 'SELECT min(tid) FROM thread')"
done
[ "$("$fxtq" --no-header samples.fxtq "SELECT sum(count) FROM callsite_counts WHERE from_ts = 0")" = 9000 ] || fail "samples are missing"

# A page of a range of times has the same samples.
for store in samples plain; do
    file=samples.fxtq
    [ $store = samples ] || file=samples.plain.fxtq
    "$fxtq" flamegraph --time "$("$fxtq" --no-header samples.fxtq 'SELECT (start_ts + end_ts) / 2 FROM capture')," --title page $file -o $store.html 2>page.err
done
cmp -s samples.html plain.html || fail "flame graphs of a range of times differ"

# Damage: the plain rows answer, and each command says so.
for command in "report top --json --cpu 1" "report timeline --json" "flamegraph --cpu 1 -o page.html"; do
    cp samples.fxtq bad.fxtq
    sqlite3 samples.fxtq "SELECT id FROM column_data WHERE id > 15" >blocks
    while read -r id; do python3 "$ROOT/tests/column_damage.py" bad.fxtq "$id" || fail "no blob $id"; done <blocks
    # shellcheck disable=SC2086
    "$fxtq" $command bad.fxtq >bad.out 2>bad.err || fail "$command: $(cat bad.err)"
    # shellcheck disable=SC2086
    "$fxtq" $command samples.plain.fxtq >plain.out 2>plain.err || fail "$command: $(cat plain.err)"
    cmp -s bad.out plain.out || fail "$command, damaged: $(diff bad.out plain.out | head -n 5)"
    grep -q 'columns are damaged.*fxtq upgrade bad.fxtq' bad.err || fail "$command: damage is not reported: $(cat bad.err)"
done
finish
