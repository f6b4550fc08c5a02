#!/bin/sh
# Reports: their rows are those of the query that --sql prints, of what Python makes of the tables, and of what fxtgen wrote.
set -eu

fail() {
    echo "FAIL: $1"
    exit 1
}

cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" drawn.fxtq 1 1000
python3 "$ROOT/tests/tools/query_reports.py" fxtq drawn.fxtq >log || fail "reports: $(cat log)"

# ---- What fxtgen wrote is what comes out ----

"$O/bench/fxtgen" --count 5000 --stacks 300 --processes 2 --seed 9 >trace.fxt
fxtq import -q trace.fxt -o run.fxtq
fxt2pprof -q --format folded --root none trace.fxt | sort >want
fxtq --format tsv --no-header run.fxtq "SELECT folded(callsite_id) || ' ' || sum(weight) FROM cpu_sample GROUP BY folded(callsite_id)" | sort >got
cmp -s got want || fail "folded stacks: $(diff got want | head -5)"
# The table of functions, worked out from the folded stacks.
python3 - <<'EOF' || fail "top of a generated trace"
import collections, json, subprocess
own, whole = collections.Counter(), collections.Counter()
for line in open("want"):
    stack, value = line.rstrip("\n").rsplit(" ", 1)
    names = stack.split(";")
    own[names[-1]] += int(value)
    for name in set(names):
        whole[name] += int(value)
got = [json.loads(l) for l in subprocess.run(["fxtq", "report", "top", "-n", "0", "--json", "trace.fxt"], capture_output=True, text=True).stdout.splitlines()]
assert {r["name"]: (int(r["self"]), int(r["total"])) for r in got} == {n: (own[n], whole[n]) for n in whole}, got[:3]
EOF
# Heap: what fxtgen counted, process;frames;kind.
"$O/bench/fxtgen" --kind heap --count 3000 --seed 4 --truth truth >heap.fxt
fxtq import -q heap.fxt -o heap.fxtq
fxtq report heap --json heap.fxtq >got || fail "heap of a generated trace"
python3 - <<'EOF' || fail "heap of a generated trace: $(cat got; head -3 truth)"
import json, subprocess
rows = {r["what"]: r for r in map(json.loads, open("got"))}
# What is sampled: allocated objects and bytes, those still in use, those released there.
sums = [0] * 6
for line in open("truth"):
    sums = [a + int(b) for a, b in zip(sums, line.rstrip("\n").rsplit(" ", 6)[1:])]
assert sums[0] > 1000 and rows["allocated"]["sampled"] == sums[0], (rows, sums)
assert rows["in use at the end"]["sampled"] == sums[2], (rows, sums)
size = subprocess.run(["fxtq", "--no-header", "heap.fxtq", "SELECT sum(size) FROM heap_event"], capture_output=True, text=True).stdout
assert int(size) == sums[1], (size, sums)
EOF

# ---- How they look ----

fxtq report top -n 3 run.fxtq >out || fail "top as text"
[ "$(wc -l <out)" -eq 4 ] || fail "-n 3: $(cat out)"
head -n 1 out | grep -q '^ *self  *self%  *total  *total%  name' || fail "top as text: $(cat out)"
grep -Eq '^ *[0-9.]+m?s +[0-9.]+% +[0-9.]+m?s +[0-9.]+%  \[' out || fail "top as text: $(cat out)"
fxtq report top -n 1 --markdown run.fxtq | sed -n 2p | grep -Eq '^\|(-+[-:]\|)+$' || fail "markdown"
fxtq report tree --min 10 drawn.fxtq | sed -n '3p' | grep -Eq '%  +[0-9.]+[mun]?s    [^ ]' || fail "children are not indented"
fxtq report timeline --bins 20 run.fxtq >out
tail -n 1 out | grep -Eq '^\+0ns to \+[0-9.]+m?s, each column [0-9.]+m?s, █ up to [0-9]+ samples$' || fail "timeline: $(cat out)"
head -n 1 out | grep -Eq '^[ ▁▂▃▄▅▆▇█]{20}│ ' || LC_ALL=C.UTF-8 head -n 1 out | LC_ALL=C.UTF-8 grep -Eq '│ ' || fail "timeline: $(cat out)"
PYTHONPATH=$ROOT/tests/tools python3 - <<'EOF' || fail "a narrow terminal"
import re
from terminal import run as run_on_terminal, width
run = lambda columns, *arguments: run_on_terminal(columns, "fxtq", "report", *arguments).splitlines()
for columns in (60, 80, 120):
    for report in (["top"], ["top", "--by", "line"], ["top", "--by", "thread"], ["tree", "--min", "1"], ["callers", "memcpy"], ["callees", "memcpy"], ["heap"],
                   ["heap", "--by", "function"], ["threads"], ["cpu"], ["cpu", "--by", "thread"], ["cpu", "--by", "wait"], ["slices"], ["timeline"],
                   ["timeline", "--by", "cpu"], ["damage"]):
        lines = run(columns, *report, "drawn.fxtq")
        assert len(lines) > 2 and all(width(l.rstrip()) <= columns for l in lines), (columns, report, lines)
# Columns are left out before names are cut to nothing, and names are cut behind their indent.
assert run(60, "threads", "drawn.fxtq")[0].split() == ["pid", "process", "tid", "thread", "samples", "cpu_ns", "blocked"]
assert "switches" in run(120, "threads", "drawn.fxtq")[0]
deep = run(80, "callers", "memcpy", "--min", "0", "drawn.fxtq")[1:]
assert any("…" in l for l in deep)
bad = [l for l in deep if not re.match(r" *[0-9.]+[mun]?s +[0-9.]+%( +[0-9.]+[mun]?s)? +[^ …]+", l)]
assert not bad, bad[:3]
# What is empty in all rows is no column.
assert "waker" in run(120, "cpu", "--by", "wait", "drawn.fxtq")[0]
assert "running" not in run(120, "threads", "--capture", "2", "drawn.fxtq")[0]
assert any("…" in l for l in run(90, "top", "drawn.fxtq"))
EOF

# Of two captures each has its own peak, as if the other one were not there.
"$O/bench/fxtgen" --kind heap --count 2000 --seed 5 >heap2.fxt
fxtq import -q heap.fxt heap2.fxt -o heaps.fxtq
for capture in 1 2; do
    fxtq report heap --json --capture $capture heaps.fxtq | grep '"at the peak"'
done >each
fxtq report heap --json heaps.fxtq | grep '"at the peak"' >all
fxt2pprof -q --profile heap --at peak --format folded heap.fxt >peaks
awk '{ n += $NF } END { printf "%.0f\n", n }' peaks >peak
python3 - <<'EOF' || fail "peaks: $(cat each all peak)"
import json
one, two = map(json.loads, open("each"))
both = json.loads(open("all").read())
assert abs(one["bytes"] + two["bytes"] - both["bytes"]) < 1 and both["ts"] is None and both["after"] is None
assert abs(one["bytes"] - int(open("peak").read())) < 1000, "not fxt2pprof's"
EOF

# What a filter chooses by and context switches do not know is not theirs.
fxtq report threads --json --focus main --capture 1 drawn.fxtq >out
[ -s out ] || fail "threads --focus"
! grep -v '"running":null,"runnable":null,"blocked":null,"switches":null' out || fail "threads --focus: $(cat out)"
fxtq report threads --json --cpu 1 --capture 1 drawn.fxtq >out
grep -q '"running":[1-9]' out || fail "threads --cpu: $(cat out)"
grep -q '"runnable":[1-9][0-9]*,"blocked":[1-9]' out || fail "threads --cpu: $(cat out)"
# Slices of asynchronous operations have a process and no thread, and belong to a capture.
"$O/bench/fxtgen" --kind spans --count 500 --seed 2 >spans.fxt
fxtq import -q spans.fxt heap.fxt -o spans.fxtq
fxtq --write spans.fxtq "UPDATE track SET upid = NULL, utid = NULL WHERE id = 1" \
    "UPDATE track SET utid = NULL, upid = (SELECT max(id) FROM process WHERE capture_id = 1) WHERE id = 2"
slices() { # slices WHAT QUERY OPTION...: the sum of the counts
    want=$(fxtq --no-header spans.fxtq "SELECT count(*) FROM slice_data AS s JOIN track AS t ON t.id = s.track_id LEFT JOIN thread AS th ON th.id = t.utid
        LEFT JOIN process AS p ON p.id = coalesce(t.upid, th.upid) WHERE instant = 0 AND ($2)")
    what=$1
    shift 2
    got=$(fxtq report slices --json -n 0 "$@" spans.fxtq | python3 -c 'import json, sys; print(sum(json.loads(l)["count"] for l in sys.stdin))')
    [ "$got" = "$want" ] || fail "slices of $what: $got, not $want"
    [ "$want" -gt 0 ] || fail "no slices of $what"
}
name=$(fxtq --no-header spans.fxtq "SELECT name FROM process WHERE capture_id = 1 ORDER BY id DESC LIMIT 1")
slices "a capture" "t.capture_id = 1" --capture 1
slices "a process" "t.utid IS NULL AND p.name = '$name'" --comm "$name"

# ---- The query that is printed, in fxtq itself ----

same() { # same REPORT [FUNCTION] [OPTION]...
    fxtq report "$@" --capture 1 --sql drawn.fxtq >sql
    fxtq report "$@" --capture 1 --json drawn.fxtq | tr -d '"' >want
    fxtq --format jsonl drawn.fxtq "$(cat sql)" | tr -d '"' >got
    [ -s want ] || fail "report $* is empty"
    cmp -s got want || fail "report $* and its SQL: $(diff got want | head -4)"
}
same top
same top --by line --time +20ms,+80ms
same top --by thread --cpu 1,2
same top --focus decode
same tree --min 5
same callers memcpy
same heap
same heap --by function --ignore main
same threads
same cpu
same cpu --by wait
same slices --hide Draw
same timeline --bins 9
same damage

# ---- What is said where there is nothing ----

nothing() { # nothing SENTENCE ARGUMENT...
    wanted=$1
    shift
    fxtq report "$@" >out 2>err || fail "$*: $(cat err)"
    grep -qF -e "$wanted" err || fail "$*: '$(cat err)', not '$wanted'"
    fxtq report "$@" --json >out 2>err
    [ ! -s err ] || fail "$* --json: $(cat err)"
}
nothing "heap.fxtq has no durations" slices heap.fxtq
nothing "heap.fxtq has no CPU samples" timeline heap.fxtq
nothing "heap.fxtq has no CPU samples and no context switches" threads heap.fxtq
nothing "run.fxtq has no context switches" cpu --by wait run.fxtq
nothing "spans.fxt has no samples with stacks, but durations: report slices" top spans.fxt
fxt2pprof -q --profile heap -o heap.pb.gz heap.fxt
nothing "heap.pb.gz has no allocations, but a profile of them: report top" heap heap.pb.gz
nothing "run.fxtq has no allocations" heap run.fxtq
nothing "run.fxtq: nothing was lost, and nothing was odd" damage run.fxtq
nothing "drawn.fxtq: nothing was lost, and nothing was odd" damage --capture 2 drawn.fxtq
nothing "run.fxtq: nothing matches the filters" top --pid 99999 run.fxtq
nothing "run.fxtq: nothing matches the filters" timeline --comm nobody run.fxtq
nothing "no function in the selected stacks matches 'nowhere'" callers nowhere run.fxtq

# ---- What is refused ----

refuse() { # refuse STATUS PATTERN ARGUMENT...
    wanted=$1
    pattern=$2
    shift 2
    status=0
    fxtq report "$@" >out 2>err || status=$?
    [ $status -eq "$wanted" ] || fail "status $status, not $wanted, for $*: $(cat err)"
    grep -q -e "$pattern" err || fail "$*: '$(cat err)', not '$pattern'"
}
refuse 2 "no report given"
refuse 2 "unknown report 'best'; reports are top, tree," best run.fxtq
refuse 2 "report top takes one store" top
refuse 2 "report callers takes a pattern and a store" callers run.fxtq
refuse 2 "--by: 'planet' is not one of function" top --by planet run.fxtq
refuse 2 "report damage has no --by" damage --by function run.fxtq
refuse 2 "--pid: damage is that of a whole capture, which --capture chooses" damage --pid 1 run.fxtq
refuse 2 "--hide: waits have no stack" cpu --by wait --hide x run.fxtq
refuse 2 "--tid: allocations have no thread" heap --tid 1 run.fxtq
refuse 2 "report top is not a tree" top --min 3 run.fxtq
refuse 2 "report tree has no --bins" tree --bins 3 run.fxtq
refuse 2 "there are no samples of type 'gold' in run.fxtq, only " top --sample-type gold run.fxtq
refuse 2 "there is no capture 7" top --capture 7 run.fxtq
refuse 2 "the store has 2 captures with times; select one with --capture ID" top --time +1s, drawn.fxtq
refuse 2 "'(' is not a regular expression" top --focus '(' run.fxtq
refuse 2 "have no CPU" top --sample-type alloc_space --cpu 1 drawn.fxtq
refuse 2 "--pid: 'x' is not a number" top --pid 1,x run.fxtq
refuse 4 "nowhere" top nowhere
# The operands of callers stand either way round.
fxtq report callers --json n0000001 run.fxtq >one
fxtq report callers --json run.fxtq n0000001 >two
cmp -s one two || fail "operands of callers"
# Nobody is busy for longer than captures last, however coarse their samples are.
for seed in 1 2 3; do
    "$O/bench/fxtgen" --count 5 --stacks 3 --seed $seed >short$seed.fxt
done
"$O/bench/fxtgen" --count 1 >one.fxt
fxtq import -q -o short.fxtq short1.fxt short2.fxt short3.fxt one.fxt
for by in cpu thread; do
    fxtq report cpu --by $by --json short.fxtq >out
    python3 -c 'import json
all = [json.loads(line)["utilisation"] for line in open("out")]
assert len(all) > 3 and all and 0 < min(all) < max(all) <= 100, all' || fail "utilisation by $by: $(cat out)"
done

# An empty store has empty reports.
fxtq schema | sqlite3 empty.fxtq
for report in top tree heap threads cpu slices timeline damage; do
    fxtq report $report --json empty.fxtq >out 2>err || fail "$report of an empty store: $(cat err)"
    fxtq report $report empty.fxtq >out 2>err || fail "$report of an empty store: $(cat err)"
done
