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
head -n 1 out | grep -q '^ *self  self_percent  *total  total_percent  name' || fail "top as text: $(cat out)"
grep -Eq '^ *[0-9.]+m?s +[0-9.]+% +[0-9.]+m?s +[0-9.]+%  \[' out || fail "top as text: $(cat out)"
fxtq report top -n 1 --markdown run.fxtq | sed -n 2p | grep -Eq '^\|(-+[-:]\|)+$' || fail "markdown"
fxtq report tree --min 10 drawn.fxtq | sed -n '3p' | grep -Eq '%  +[0-9.]+[mun]?s    [^ ]' || fail "children are not indented"
fxtq report timeline --bins 20 run.fxtq >out
tail -n 1 out | grep -Eq '^each column [0-9.]+m?s, █ up to [0-9]+ samples$' || fail "timeline: $(cat out)"
head -n 1 out | grep -Eq '^[ ▁▂▃▄▅▆▇█]{20}│ ' || LC_ALL=C.UTF-8 head -n 1 out | LC_ALL=C.UTF-8 grep -Eq '│ ' || fail "timeline: $(cat out)"
python3 - <<'EOF' || fail "a narrow terminal"
import fcntl, os, pty, struct, termios, unicodedata
def run(columns, *arguments):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp("fxtq", ["fxtq", "report", *arguments])
    out = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n").splitlines()
width = lambda line: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
for columns in (70, 90, 120):
    for report in (["top"], ["top", "--by", "line"], ["tree", "--min", "5"], ["heap", "--by", "function"], ["threads"], ["slices"], ["timeline"], ["damage"]):
        lines = run(columns, *report, "drawn.fxtq")
        if columns >= 100 or report[0] not in ("heap", "slices", "threads"): # numbers are never cut
            assert len(lines) > 2 and all(width(l.rstrip()) <= columns for l in lines), (columns, report, lines)
assert any("…" in l for l in run(90, "top", "drawn.fxtq"))
EOF

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
refuse 2 "which report?"
refuse 2 "there is no report 'best'. There are: top, tree," best run.fxtq
refuse 2 "report top takes one store" top
refuse 2 "report callers takes a pattern and a store" callers run.fxtq
refuse 2 "--by: 'planet' is not one of function" top --by planet run.fxtq
refuse 2 "report damage has no --by" damage --by function run.fxtq
refuse 2 "report damage has nothing that --pid could choose by" damage --pid 1 run.fxtq
refuse 2 "report cpu has nothing that --hide and --show-from could choose by" cpu --hide x run.fxtq
refuse 2 "there is no sample type 'gold'" top --sample-type gold run.fxtq
refuse 2 "the store has no capture 7" top --capture 7 run.fxtq
refuse 2 "which of the 2 captures? Give --capture ID" top --time +1s, drawn.fxtq
refuse 2 "'(' is not a regular expression" top --focus '(' run.fxtq
refuse 2 "do not tell a CPU" top --sample-type alloc_space --cpu 1 drawn.fxtq
refuse 2 "--pid: 'x' is not a number" top --pid 1,x run.fxtq
refuse 4 "nowhere" top nowhere
# The operands of callers stand either way round.
fxtq report callers --json n0000001 run.fxtq >one
fxtq report callers --json run.fxtq n0000001 >two
cmp -s one two || fail "operands of callers"
# An empty store has empty reports.
fxtq schema | sqlite3 empty.fxtq
for report in top tree heap threads cpu slices timeline damage; do
    fxtq report $report --json empty.fxtq >out 2>err || fail "$report of an empty store: $(cat err)"
    fxtq report $report empty.fxtq >out 2>err || fail "$report of an empty store: $(cat err)"
done
