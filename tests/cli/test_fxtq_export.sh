#!/bin/sh
# fxtq export: folded stacks are those of fxt2pprof, CSV is what Python reads, filters are those of reports.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
PATH=$O/bin:$PATH
generate() { "$O/bench/fxtgen" "$@"; }

for kind in sampler profiler region heap spans; do
    generate --kind=$kind --count 4000 --stacks 300 >$kind.fxt
    fxtq import -q -o $kind.fxtq $kind.fxt 2>err || fail "import of $kind: $(cat err)"
done
generate --mix=events=40,sched=20,stacks=20,heap=20 --count 6000 >mix.fxt
fxtq import -q -o mix.fxtq mix.fxt

# ---- Folded stacks ----

same() { # same TRACE PROFILE TYPE OPTION...
    trace=$1 profile=$2 type=$3
    shift 3
    fxt2pprof -q --no-symbolize -f folded --profile "$profile" --sample-type "$type" "$@" "$trace.fxt" >wanted 2>err ||
        fail "fxt2pprof $trace: $(cat err)"
    [ -s wanted ] || fail "$trace $type: nothing to compare"
    run 0 fxtq export folded -q --sample-type "$type" "$@" "$trace.fxtq"
    cmp -s out wanted || fail "$trace: other stacks of $type $* than fxt2pprof's"
}
same sampler cpu cpu
same sampler cpu cpu --root thread
same sampler cpu samples --root none
same sampler cpu cpu --pid 1000
same profiler cpu samples
same region cpu samples
for type in alloc_space alloc_objects inuse_space inuse_objects; do
    same heap heap "$type"
    same mix heap "$type" --root none
done
same heap heap-free free_space
same heap heap-free free_objects

# Without a type: the first there is; of a trace, without a store; of several.
fxt2pprof -q --no-symbolize -f folded --profile heap --sample-type inuse_space heap.fxt >wanted 2>err
run 0 fxtq export folded heap.fxt
cmp -s out wanted || fail "a trace folds in another way than its store"
says 'standard output: '
fxt2pprof -q --no-symbolize -f folded sampler.fxt profiler.fxt >wanted 2>err
run 0 fxtq export folded --sample-type samples sampler.fxt profiler.fxt
fxt2pprof -q --no-symbolize -f folded --sample-type samples sampler.fxt profiler.fxt >wanted 2>err
cmp -s out wanted || fail "two traces fold in another way than fxt2pprof's"

# Filters of stacks: what --focus leaves and what --ignore leaves are all; --show-from begins with its match.
fxtq export folded -q --root none sampler.fxtq >all
for how in focus ignore; do
    fxtq export folded -q --root none --$how libgen3 sampler.fxtq >$how
done
sort focus ignore | cmp -s - all.sorted 2>/dev/null || { sort all >all.sorted; sort focus ignore | cmp -s - all.sorted; } ||
    fail "--focus and --ignore do not share the stacks out"
[ "$(grep -c libgen3 focus)" = "$(wc -l <focus)" ] || fail "--focus leaves stacks without a match"
run 0 fxtq export folded -q --root none --show-from libgen3 sampler.fxtq
[ "$(grep -c '^\[libgen3' out)" = "$(wc -l <out)" ] || fail "--show-from: stacks begin with something else"
run 0 fxtq export folded -q --root none --hide 'libgen[0-4]' sampler.fxtq
grep -q libgen5 out || fail "--hide hides all"
grep -q 'libgen[0-4]' out && fail "--hide leaves what it should hide"

# flamegraph.pl takes it.
flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
fxtq export folded -q sampler.fxtq | "$flamegraph" >graph.svg 2>err || fail "flamegraph.pl: $(cat err)"
[ ! -s err ] || fail "flamegraph.pl complains: $(head -n 3 err)"
grep -q '</svg>' graph.svg || fail "flamegraph.pl draws nothing"

# ---- CSV ----

run 0 fxtq export csv -q sampler.fxtq -o cpu.csv
run 0 fxtq export csv -q --table heap mix.fxtq -o heap.csv
run 0 fxtq export csv -q --sample-type free_space heap.fxtq -o freed.csv
python3 - sampler.fxtq mix.fxtq heap.fxtq <<'PYTHON' || fail "the rows are not those of the store"
import csv, sqlite3, sys
def rows(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))
def ask(path, sql):
    return sqlite3.connect(path).execute(sql).fetchall()
cpu = rows('cpu.csv')
stored = ask(sys.argv[1], 'SELECT s.ts, s.cpu, p.pid, p.name, t.tid, t.name, s.weight, c.depth FROM cpu_sample AS s '
             'JOIN thread AS t USING (utid) JOIN process AS p USING (upid) JOIN callsite AS c ON c.id = s.callsite_id ORDER BY s.id')
assert len(cpu) == len(stored)
start = min(int(row['ts_ns']) for row in cpu)
for row, want in zip(cpu, stored):
    got = [row[name] for name in ('ts_ns', 'cpu', 'pid', 'process', 'tid', 'thread', 'weight_ns')]
    assert got == [str(value) for value in want[:7]], (got, want)
    frames = row['stack'].split(';')
    assert len(frames) == want[7] + 1 and frames[-1] == row['function']
    assert round(float(row['time_s']) * 1e9) == int(row['ts_ns']) - start
heap = rows('heap.csv')
stored = ask(sys.argv[2], "SELECT e.ts, e.free_ts, p.pid, printf('0x%x', address), size, bytes, freed FROM heap_event AS e JOIN process AS p USING (upid) ORDER BY e.id")
assert len(heap) == len(stored) > 0
for row, want in zip(heap, stored):
    assert [row['ts_ns'], row['pid'], row['address'], row['size_bytes']] == [str(want[i]) for i in (0, 2, 3, 4)]
    assert row['free_ts_ns'] == ('' if want[1] is None else str(want[1]))
    assert row['freed'] == ('no', 'yes', 'assumed')[want[6]]
    assert abs(float(row['bytes']) - want[5]) <= 1e-9 * want[5]
    if want[1] is not None:
        assert int(row['lifetime_ns']) == want[1] - want[0]
assert len(rows('freed.csv')) == ask(sys.argv[3], 'SELECT count(*) FROM heap_event WHERE freed')[0][0]
PYTHON

# Filters choose rows as SQL does.
count() { # count OPTION... : rows of the CSV
    run 0 fxtq export csv -q "$@" sampler.fxtq
    tail -n +2 out | wc -l
}
pid=$(fxtq sampler.fxtq --no-header 'SELECT pid FROM process ORDER BY pid LIMIT 1')
[ "$(count --cpu 1,2)" = "$(fxtq sampler.fxtq --no-header 'SELECT count(*) FROM cpu_sample WHERE cpu IN (1, 2)')" ] || fail "--cpu"
[ "$(count --pid "$pid")" = "$(fxtq sampler.fxtq --no-header "SELECT count(*) FROM cpu_sample JOIN thread USING (utid) JOIN process USING (upid) WHERE pid = $pid")" ] || fail "--pid"
[ "$(count --comm thread-1 --comm thread-2)" = "$(fxtq sampler.fxtq --no-header "SELECT count(*) FROM cpu_sample JOIN thread USING (utid) WHERE name IN ('thread-1', 'thread-2')")" ] || fail "--comm"
[ "$(count --time +10ms,+20ms)" = "$(fxtq sampler.fxtq --no-header 'SELECT count(*) FROM cpu_sample, trace_bounds WHERE ts >= start_ts + 10000000 AND ts < start_ts + 20000000')" ] || fail "--time"

# Names that CSV must quote.
cp sampler.fxtq odd.fxtq
fxtq --write odd.fxtq "UPDATE thread SET name = 'a \"b\", c' || char(10) WHERE id = 1" >out
fxtq export csv -q odd.fxtq -o odd.csv
python3 -c '
import csv
names = {row["thread"] for row in csv.DictReader(open("odd.csv", newline=""))}
assert "a \"b\", c\n" in names, names' || fail "quotes, commas and newlines do not come back"

# ---- Sentences and statuses ----

run 2 fxtq export folded
says 'no store given'
run 2 fxtq export json sampler.fxtq
says "'json' is not one of pprof, speedscope"
run 2 fxtq export folded --sample-type nothing sampler.fxtq
says "no samples of type 'nothing'"
# No samples: an empty export, and a warning.
fxtq schema | sqlite3 empty.fxtq
run 0 fxtq export folded spans.fxtq
says 'fxtq export: warning: spans.fxtq: the export is empty: no samples, but durations (fxtq report slices)'
[ ! -s out ] || fail "stacks of no samples: $(cat out)"
run 0 fxtq export csv --cpu 1 --time 1,2 empty.fxtq
says 'empty.fxtq: the export is empty: nothing matches the filters'
[ "$(tr -d '\r' <out)" = capture,ts_ns,time_s,cpu,pid,process,tid,thread,weight_ns,function,stack ] || fail "an empty table: $(cat out)"
run 0 fxtq export pprof -o none.pb.gz empty.fxtq
zcat none.pb.gz | protoc --decode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >none.txt
if grep -q '^sample {' none.txt || ! grep -q nanoseconds none.txt; then fail "a profile of nothing: $(cat none.txt)"; fi
run 2 fxtq export csv --sample-type alloc_space sampler.fxtq
says "there are no samples of type 'alloc_space'"
run 2 fxtq export csv --table profile sampler.fxtq
says 'no samples of imported profiles'
run 2 fxtq export csv --cpu 1 heap.fxtq
says 'have no CPU'
run 2 fxtq export csv --tid 1 heap.fxtq
says 'have no thread'
run 2 fxtq export folded --focus '(' sampler.fxtq
says 'is not a regular expression'
run 2 fxtq export folded --capture 7 sampler.fxtq
says 'there is no capture 7'
run 2 fxtq export csv --root none sampler.fxtq
says '--root is for folded'
run 2 fxtq export folded sampler.fxtq sampler.fxt
says 'is a store; several inputs must all be traces'
run 4 fxtq export folded not.there
run 4 fxtq export folded sampler.fxtq -o /dev/full
says 'No space left'
# SIGINT ends it by that signal, and leaves no file.
generate --count 300000 >long.fxt
fxtq import -q long.fxt -o long.fxtq
status=0
(trap - INT; exec timeout --foreground --preserve-status -s INT 0.2 fxtq export csv -q long.fxtq -o long.csv) >out 2>err || status=$?
[ $status -eq 130 ] || [ $status -eq 0 ] || fail "SIGINT: status $status: $(cat err)"
[ $status -eq 0 ] || [ ! -e long.csv ] || fail "a file although it was interrupted"
run 4 fxtq export csv sampler.fxtq -o no/such/folder.csv
[ "$(ls ./*.csv.?????? 2>/dev/null)" = "" ] || fail "temporary files are left"
# A reader that goes away ends it without a word.
fxtq export csv -q sampler.fxtq 2>err | head -n 2 >out
[ "$(wc -l <out)" = 2 ] || fail "no rows for head"

finish
