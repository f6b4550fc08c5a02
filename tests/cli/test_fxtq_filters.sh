#!/bin/sh
# Every report with every filter, as the table in docs/sql.md says: rows are those that Python makes of the store's tables, and what
# nothing could pass is refused.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" drawn.fxtq 1 300
"$O/bench/fxtgen" --stacks 100 --depth 20 --processes 2 --count 400 >cpu.fxt
fxt2pprof -q -o cpu.pb.gz cpu.fxt
fxtq import -q cpu.pb.gz -o profile.fxtq
cp drawn.fxtq mixed.fxtq
fxtq import -q cpu.pb.gz -o mixed.fxtq
printf 'main;walk libgen1;decode 3\nmain;decode;libgen2 4\nwalk;main;memcpy 5\nlibgen3;decode 2\n' >plain.folded
fxtq import -q plain.folded -o folded.fxtq
"$O/bench/fxtgen" --kind heap --stacks 40 --count 300 >heap.fxt # of modules without names
fxtq import -q heap.fxt -o heap.fxtq
python3 "$ROOT/tests/tools/query_filters.py" fxtq "$ROOT/docs/sql.md" drawn.fxtq profile.fxtq mixed.fxtq folded.fxtq heap.fxtq >log || fail "$(cat log)"

# ---- What is refused says why, wherever it is asked ----

refuse() { # refuse SENTENCE COMMAND...
    wanted=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq 2 ] || fail "status $status, not 2, for $*: $(cat err)"
    [ ! -s out ] || fail "$*: $(cat out)"
    head -n 1 err | grep -qx -e "$wanted" || fail "$*: '$(cat err)', not '$wanted'"
}
no_time='fxtq [a-z]*: --time: samples of profiles have no time'
for report in top tree 'callers main' 'callees main' heap threads cpu slices timeline; do
    # shellcheck disable=SC2086 # words
    refuse "$no_time" fxtq report $report --time +1s,+2s profile.fxtq
done
refuse "$no_time" fxtq report top --time 5,6 --json profile.fxtq
refuse "$no_time" fxtq report top --time 5,6 --sql profile.fxtq
refuse "$no_time" fxtq flamegraph --time +1s, -o page.html profile.fxtq
refuse "$no_time" fxtq flamegraph --time +1s, -o page.html folded.fxtq
for format in pprof folded csv fxt; do
    refuse "$no_time" fxtq export $format --time +1s, -o file profile.fxtq
done
refuse "$no_time" fxtq report top --time +1s, --capture 3 mixed.fxtq
for file in page.html file; do
    [ ! -e $file ] || fail "$file of what is refused"
done
for table in call_top call_tree flamegraph "callers('x')" "callees('x')" callsite_counts; do
    refuse 'fxtq: samples of type cpu have no time' fxtq profile.fxtq "SELECT * FROM $table WHERE from_ts = 5"
    refuse 'fxtq: samples of type cpu have no CPU' fxtq profile.fxtq "SELECT * FROM $table WHERE cpu = 5"
    refuse 'fxtq: samples of type samples have no thread' fxtq folded.fxtq "SELECT * FROM $table WHERE tid = 5"
done
refuse 'fxtq: samples of type samples have no thread' fxtq folded.fxtq "SELECT * FROM call_top WHERE per = 'thread'"
refuse 'fxtq export: folded.fxtq: samples of profiles have no thread' fxtq export pprof --tid 5 -o file folded.fxtq
refuse 'fxtq export: folded.fxtq: samples of profiles have no thread' fxtq export folded --tid 5 folded.fxtq
cp drawn.fxtq blind.fxtq # a capture whose samples have no CPU, and whose allocations no time
sqlite3 blind.fxtq "UPDATE cpu_sample SET cpu = NULL; UPDATE heap_event SET ts = NULL, free_ts = NULL"
refuse 'fxtq report: --focus: samples have no CPU' fxtq report cpu --focus . blind.fxtq
fxtq report cpu --by thread --focus . --json blind.fxtq | grep -q '"samples"' || fail "samples of threads without CPUs"
sqlite3 blind.fxtq "DELETE FROM sched_slice"
fxtq report cpu blind.fxtq >out 2>err || fail "report cpu of samples without CPUs: $(cat err)"
grep -qx 'blind.fxtq has no CPUs in its samples, but threads: report cpu --by thread' err || fail "report cpu of samples without CPUs: $(cat err)"
refuse 'fxtq report: samples of type cpu have no CPU' fxtq report top --cpu 1 blind.fxtq
for report in threads cpu timeline; do
    refuse 'fxtq report: --cpu: samples have no CPU' fxtq report $report --cpu 1 blind.fxtq
done
refuse 'fxtq report: --cpu: slices have no CPU, and the store has no context switches to find it' fxtq report slices --cpu 1 blind.fxtq
refuse 'fxtq export: blind.fxtq: samples of CPU time have no CPU' fxtq export csv --cpu 1 blind.fxtq
refuse 'fxtq report: --time: allocations have no time' fxtq report heap --time 1, blind.fxtq
refuse 'fxtq export: blind.fxtq: samples of the heap have no time' fxtq export folded --sample-type alloc_space --time 1, blind.fxtq
sqlite3 blind.fxtq "UPDATE capture SET start_ts = NULL, end_ts = NULL"
refuse 'fxtq report: --time: the records of the trace have no time' fxtq report top --time 1, blind.fxtq
# Beside profiles there is only one trace whose start can be meant.
fxtq import -q cpu.fxt cpu.pb.gz -o both.fxtq
fxtq report threads --json --time +0s, --capture 1 both.fxtq >want
fxtq report threads --json --time +0s, both.fxtq >got
[ -s want ] || fail "a trace beside its profile: nothing"
cmp -s want got || fail "a trace beside its profile: $(diff want got)"
# What is no pattern is said before anything is opened; --sql runs nothing of the query, which this store could not answer.
for option in focus ignore hide show-from; do
    for command in 'report top' 'report slices --sql' 'report heap' 'report timeline --sql' 'export csv' 'flamegraph -o no.html'; do
        # shellcheck disable=SC2086 # words
        refuse "fxtq [a-z]*: --$option: '(' is not a regular expression: .*" fxtq $command "--$option" '(' no-such.fxtq
    done
done
refuse "fxtq report: '\*(' is not a regular expression: .*" fxtq report callers --sql '*(' drawn.fxtq
cp drawn.fxtq torn.fxtq
sqlite3 torn.fxtq "DELETE FROM callsite WHERE id = 3"
for report in top 'top --by thread' tree 'callers walk' 'callees walk' threads cpu slices timeline; do
    # shellcheck disable=SC2086 # words
    fxtq report $report --focus walk --tid 101 --sql torn.fxtq >out 2>err || fail "$report --sql: $(cat err)"
    grep -q walk out || fail "$report --sql: $(cat out)"
done
status=0
fxtq report top --focus walk --tid 101 torn.fxtq >out 2>err || status=$?
[ $status -eq 3 ] || fail "call sites with gaps: $status, $(cat err)"
# A filter that nothing passes, though it could, is no error; nor is an empty store.
fxtq report top --time 1,2 drawn.fxtq >out 2>err || fail "an empty range: $(cat err)"
fxtq schema | sqlite3 empty.fxtq
for report in top heap threads cpu slices timeline; do
    fxtq report $report --pid 1 --comm x empty.fxtq >out 2>err || fail "$report of an empty store: $(cat err)"
done
for filter in '' '--cpu 1 --tid 2'; do
    # shellcheck disable=SC2086 # words
    fxtq flamegraph $filter empty.fxtq -o empty.html 2>err || fail "a flame graph of an empty store: $(cat err)"
    grep -q '^empty.html: 0 call sites: ' err || fail "a flame graph of an empty store: $(cat err)"
done
# What is asked for by its name is to be there, or to have been: here nothing is in use any more.
for type in inuse_space cpu gold; do
    refuse "fxtq flamegraph: --sample-type: there are no samples of type '$type' in empty.fxtq" fxtq flamegraph --sample-type $type empty.fxtq -o no.html
    refuse "fxtq export: empty.fxtq: there are no samples of type '$type': .*" fxtq export folded --sample-type $type empty.fxtq
    refuse "fxtq report: --sample-type: there are no samples of type '$type' in empty.fxtq" fxtq report top --sample-type $type empty.fxtq
done
cp heap.fxtq freed.fxtq
sqlite3 freed.fxtq 'UPDATE heap_event SET freed = 1, free_ts = ts; DELETE FROM callsite_sum WHERE sample_type_id = 3'
fxtq report top --sample-type inuse_space freed.fxtq >out || fail "nothing in use: report"
fxtq flamegraph --sample-type inuse_space freed.fxtq -o freed.html 2>err || fail "nothing in use: flame graph: $(cat err)"
fxtq export folded --sample-type inuse_space freed.fxtq >out 2>err || fail "nothing in use: export: $(cat err)"
[ ! -s out ] || fail "nothing in use: $(cat out)"
fxtq flamegraph --diff empty.fxtq drawn.fxtq -o new.html 2>err || fail "all of it is new: $(cat err)"

# What each kind of samples lacks another may have, of the same type: allocations times, a profile threads.
fxt2pprof -q --profile heap -o heap.pb.gz heap.fxt
fxtq import -q heap.fxt heap.pb.gz -o heaps.fxtq
fxtq report top --by thread --sql heaps.fxtq | sqlite3 heaps.fxtq >out
[ -s out ] || fail "threads of a profile of allocations: nothing"
fxtq report top --by thread --time 1, --sql heaps.fxtq | sqlite3 heaps.fxtq >out 2>&1 || fail "a time and threads: $(cat out)"
[ ! -s out ] || fail "a time and threads: $(cat out)"

# ---- Two types of one name ----

# What traces count and a profile counts has one name and two units: each is what it is.
cat >work.txt <<'EOF'
sample_type { type: 1 unit: 2 } sample { location_id: 1 value: 5 label { key: 5 num: 77 } label { key: 6 num: 78 } } sample { location_id: 1 value: 7 }
location { id: 1 line { function_id: 1 line: 3 } } function { id: 1 name: 3 filename: 4 }
string_table: "" string_table: "cpu" string_table: "count" string_table: "work" string_table: "w.c" string_table: "pid" string_table: "tid"
EOF
protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto <work.txt >work.pb
cp drawn.fxtq units.fxtq
fxtq import -q work.pb -o units.fxtq
refuse "fxtq report: --sample-type: there .* 'waits' in units.fxtq, only cpu/nanoseconds, cpu/count, inuse_space/bytes, .*" fxtq report top --sample-type waits units.fxtq
refuse "fxtq flamegraph: --sample-type: there are no samples of type 'cpu/count' in drawn.fxtq, only cpu/nanoseconds, .*" \
    fxtq flamegraph --sample-type cpu/count --diff drawn.fxtq units.fxtq -o no.html
fxtq report top --json drawn.fxtq >want
fxtq report top --json units.fxtq >got
cmp -s got want || fail "the type of a profile is shown before that of traces"
sum() { # sum OPTION...: of column self
    fxtq report top --json "$@" units.fxtq | python3 -c 'import json, sys; print(sum(int(json.loads(l)["self"]) for l in sys.stdin))'
}
[ "$(sum --sample-type cpu/count) $(sum --capture 3) $(sum --capture 3 --sample-type cpu --by process)" = "12 12 12" ] || fail "cpu/count"
[ "$(sum --sample-type cpu/count --tid 78) $(sum --capture 3 --by thread)" = "5 5" ] || fail "cpu/count of a thread"
[ "$(fxtq report top --sample-type cpu/count --tid 78 --sql units.fxtq | sqlite3 units.fxtq | cut -d '|' -f 1)" = 5 ] || fail "cpu/count of a thread, as SQL"
refuse 'fxtq report: samples of type cpu have no CPU' fxtq report top --sample-type cpu/count --cpu 1 units.fxtq

# ---- Flame graphs show the types that tell what is asked ----

fxtq flamegraph --tid 101 drawn.fxtq -o page.html 2>err || fail "flame graph of a thread: $(cat err)"
refuse 'fxtq flamegraph: drawn.fxtq: samples of type alloc_space have no thread' fxtq flamegraph --tid 101 --sample-type alloc_space drawn.fxtq -o no.html

refuse 'fxtq flamegraph: --capture: there is no capture 9' fxtq flamegraph --capture 9 drawn.fxtq -o no.html
fxtq flamegraph --pid 99999 drawn.fxtq -o no.html 2>err || fail "a flame graph of nothing"
grep -q 'no.html: 0 call sites: nothing matches the filters' err || fail "a flame graph of nothing: $(cat err)"

# ---- Stacks, as pprof leaves them ----

printf 'main;a;b 3\nx;main;c;main;d 5\nq;r 7\nmain 11\nmain;lib a;b;x 13\n' >o.folded
fxtq import -q o.folded -o o.fxtq
fxtq export pprof -q o.fxtq -o o.pb.gz
PPROF_TMPDIR=$WORK
export PPROF_TMPDIR
for filter in '--hide main --show-from main' '--hide x --show-from main' '--show-from main --focus ^x' '--hide c|d|main|x' '--focus a$ --ignore main' \
    '--hide main --focus main' '--hide main --ignore q' '--show-from a --hide b' '--hide .'; do
    set -f
    # shellcheck disable=SC2046 # words: -hide=main -show_from=main
    go tool pprof -symbolize=none -traces $(echo "$filter" | sed 's/--\([a-z]*\)-\{0,1\}\([a-z]*\) \([^ ]*\)/-\1_\2=\3/g; s/_=/=/g') o.pb.gz 2>err |
        awk '/^-/ { if (n) print s " " n; n = 0; next } /^ +[0-9]+ +/ { n = $1; $1 = ""; sub(/^ /, ""); s = $0; next } n { sub(/^ +/, ""); s = $0 ";" s }' | sort >want
    # shellcheck disable=SC2086 # words
    set -- $filter
    set +f
    fxtq export folded -q --root none "$@" o.fxtq | sort >got
    cmp -s got want || fail "folded, $filter: $(diff got want)"
    sum=$(awk '{ n += $NF } END { print n + 0 }' want)
    all=$(fxtq report tree --min 0 --json "$@" o.fxtq | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["total"])')
    owner=$(fxtq report top --by process --json "$@" o.fxtq | python3 -c 'import json, sys; print(sum(int(json.loads(l)["self"]) for l in sys.stdin))')
    [ "$all $owner" = "$sum $sum" ] || fail "$filter: $all, by process $owner, not $sum"
    rows=$(fxtq export csv -q "$@" o.fxtq | tail -n +2 | wc -l)
    [ "$rows" = "$(wc -l <want)" ] || fail "csv, $filter: $rows rows, not $(wc -l <want)"
done
