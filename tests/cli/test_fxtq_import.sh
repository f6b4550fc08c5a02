#!/bin/sh
# fxtq import: what a store says of a generated trace, against what the generator says; once, twice, in parts, damaged.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
sql() { sqlite3 "$@"; }

"$O/bench/fxtgen" --count 20000 --stacks 500 --truth truth.folded >one.fxt
"$O/bench/fxtgen" --count 5000 --stacks 500 --seed 2 >two.fxt

"$fxtq" import one.fxt -o one.fxtq 2>summary || fail "import: status $?"
grep -q '20,000 samples' summary || fail "the summary says: $(cat summary)"
[ "$(sql one.fxtq 'PRAGMA integrity_check')" = ok ] || fail "the store is not sound"
[ "$(echo one.fxtq*)" = one.fxtq ] || fail "left beside the store: $(echo one.fxtq*)"

# Every stack as often as it was generated, root first, as fxt2pprof folds the same trace.
cat >folded.sql <<'SQL'
WITH RECURSIVE stack(id, text) AS (
    SELECT c.id, f.name FROM callsite AS c JOIN frame_name AS f ON f.id = c.frame_id WHERE c.parent_id IS NULL
    UNION ALL
    SELECT c.id, s.text || ';' || f.name FROM stack AS s JOIN callsite AS c ON c.parent_id = s.id JOIN frame_name AS f ON f.id = c.frame_id)
SELECT p.name || ';' || s.text || ' ' || sum(n) FROM callsite_sum JOIN stack AS s ON s.id = callsite_id JOIN process AS p USING (upid) GROUP BY p.name, s.text;
SQL
sql one.fxtq <folded.sql | LC_ALL=C sort >stored.folded
"$O/bin/fxt2pprof" -q --no-symbolize -f folded one.fxt 2>/dev/null | sed 's/ [0-9]*$//' | LC_ALL=C sort >stacks
sed 's/ [0-9]*$//' stored.folded | LC_ALL=C sort | cmp - stacks || fail "other stacks than fxt2pprof's"
[ "$(awk '{ n += $NF } END { print n }' truth.folded)" = "$(awk '{ n += $NF } END { print n }' stored.folded)" ] || fail "other sums than the generator's"

# A range of times is a range of ids; sums are those of the samples.
[ "$(sql one.fxtq 'SELECT count(*) FROM cpu_sample AS a JOIN cpu_sample AS b ON b.id = a.id + 1 WHERE b.ts < a.ts')" = 0 ] ||
    fail "samples are not in the order of their times"
[ "$(sql one.fxtq 'SELECT count(*) FROM (SELECT callsite_id, upid, count(*) AS n, sum(weight) AS value FROM cpu_sample JOIN thread USING (utid) GROUP BY 1, 2
    EXCEPT SELECT callsite_id, upid, n, value FROM callsite_sum)')" = 0 ] || fail "callsite_sum is not the sum of the samples"
[ "$(sql one.fxtq 'SELECT count(DISTINCT cpu) FROM cpu_sample')" = 4 ] || fail "not the four CPUs"

# What was released counts for where it was released, as with everything else that tells free_space.
"$O/bench/fxtgen" --kind heap --count 2000 --stacks 100 >heap.fxt
"$fxtq" import -q heap.fxt -o heap.fxtq
sums=$(sql heap.fxtq 'SELECT upid, coalesce(free_callsite_id, 0), round(sum(bytes), 3) FROM heap_event WHERE freed <> 0 GROUP BY 1, 2 ORDER BY 1, 2')
[ "$(echo "$sums" | wc -l)" -gt 100 ] || fail "hardly any releases: $sums"
[ "$(sql heap.fxtq 'SELECT upid, callsite_id, round(value, 3) FROM callsite_sum WHERE sample_type_id = 4 ORDER BY 1, 2')" = "$sums" ] ||
    fail "callsite_sum is not the sum of the releases"

# What is odd in a timeline is said; ends without a name are not odd.
cat >ends.py <<'PY'
import sys
import fxt_records as fxt
out = [fxt.event(2, 0, 1, 1, "a"), fxt.event(2, 2, 1, 1, "b"), fxt.event(3, 6, 1, 1, ""), fxt.event(3, 10, 1, 1, "")]
if sys.argv[1] == "odd":
    out += [fxt.event(3, 11, 1, 1, ""), fxt.event(3, 12, 1, 1, "b"), fxt.event(2, 13, 1, 1, "c")]
sys.stdout.buffer.write(fxt.magic() + b"".join(out))
PY
for kind in even odd; do
    PYTHONPATH=$ROOT/tests python3 ends.py $kind >$kind.fxt
    "$fxtq" import $kind.fxt -o $kind.fxtq 2>$kind.summary || fail "$kind: status $?"
    "$O/bin/fxt2pprof" --profile span -f folded $kind.fxt >$kind.folded 2>$kind.converted || fail "$kind: status $?"
    grep note: $kind.summary >$kind.notes || :
    grep note: $kind.converted >$kind.expected || :
    cmp -s $kind.notes $kind.expected || fail "$kind: fxt2pprof notes $(cat $kind.expected), fxtq import $(cat $kind.notes)"
done
[ "$(sql even.fxtq 'SELECT name, dur, depth FROM slice ORDER BY id' | tr '\n' ' ')" = 'a|10|0 b|4|1 ' ] || fail "unnamed ends: $(sql even.fxtq 'SELECT * FROM slice')"
[ ! -s even.notes ] || fail "unnamed ends are noted: $(cat even.notes)"
grep -qF 'note: 2 ends of durations that nothing began, ignored' odd.notes || fail "stray ends are not noted: $(cat odd.notes)"
grep -qF 'note: 1 duration without an end' odd.notes || fail "an open duration is not noted: $(cat odd.notes)"

# Perfetto's packets in blobs: what they are is said, for a store has nothing of them.
cat >packets.py <<'PY'
import sys
import fxt_records as fxt
def blob(payload):
    body = payload + bytes(-len(payload) % 8)
    return fxt.word(5 | (1 + len(body) // 8) << 4 | len(payload) << 32 | 3 << 48) + body
packets = bytes([10, 2, 10, 0, 10, 2, 90, 0, 10, 4, 10, 2, 8, 1]) # ftrace_events, track_event, ftrace_events
sys.stdout.buffer.write(fxt.magic() + blob(packets[:5]) + blob(packets[5:]))
PY
PYTHONPATH=$ROOT/tests python3 packets.py >packets.fxt
"$fxtq" import packets.fxt -o packets.fxtq 2>summary || fail "packets: status $?"
grep -qF "note: 3 packets of Perfetto's own format, not read" summary || fail "packets: $(cat summary)"
[ "$(sql packets.fxtq "SELECT kind, count FROM damage")" = 'perfetto_packets|3' ] || fail "packets: $(sql packets.fxtq 'SELECT * FROM damage')"
"$O/bin/fxt2pprof" packets.fxt -o packets.pb.gz 2>summary || :
grep -qF "3 packets of Perfetto's own format" summary || fail "packets in fxt2pprof: $(cat summary)"
"$O/bin/fxtdump" packets.fxt >dumped
grep -qF 'type=3 size=5 packets={ftrace_events: 1}' dumped || fail "first blob: $(cat dumped)"
grep -qF 'type=3 size=9 packets={ftrace_events: 1, track_event: 1}' dumped || fail "second blob: $(cat dumped)"
"$O/bin/fxtdump" --json packets.fxt | grep -qF '"packets":{"ftrace_events":1,"track_event":1}' || fail "packets as JSON"

# The same capture again changes nothing, also when it comes compressed.
"$O/bin/fxtcat" compress -o one.fxt.zst one.fxt 2>/dev/null
sql one.fxtq .dump >before
"$fxtq" import one.fxt.zst -o one.fxtq 2>again || fail "known capture: status $?"
grep -q 'already in .*, as capture 1' again || fail "a known capture is not noticed: $(cat again)"
"$fxtq" import -q one.fxt.zst -o one.fxtq 2>again || fail "known capture, quietly: status $?"
[ ! -s again ] || fail "import -q prints: $(cat again)"
[ "$(sql one.fxtq 'SELECT count(*) FROM capture')" = 1 ] || fail "a known capture was added"
sql one.fxtq .dump | cmp - before || fail "a known capture changed the store"
[ "$(sql one.fxtq 'PRAGMA journal_mode')" = delete ] || fail "the store stays in WAL mode"

# Two captures: one after the other is the same as both at once, but for journal and free pages.
"$fxtq" import -q two.fxt -o one.fxtq
"$fxtq" import -q one.fxt two.fxt one.fxt -o both.fxtq 2>/dev/null
sql one.fxtq .dump | grep -v column_data >one.sql
sql both.fxtq .dump | grep -v column_data >both.sql
cmp one.sql both.sql || fail "an appended capture differs from one imported with the first"
[ "$(sql both.fxtq 'PRAGMA integrity_check')" = ok ] || fail "a store of two is not sound"
[ "$(echo both.fxtq*)" = both.fxtq ] || fail "files are left: $(echo both.fxtq*)"
[ "$(sql both.fxtq 'SELECT count(*), count(DISTINCT parent_id || "." || frame_id) FROM callsite WHERE parent_id IS NOT NULL' | tr '|' ' ' | awk '{ print $1 - $2 }')" = 0 ] ||
    fail "a call site is there twice"

# Damage: everything readable is there, and the status is 3.
head -c 300001 one.fxt >cut.fxt
status=0
"$fxtq" import -q cut.fxt -o cut.fxtq 2>/dev/null || status=$?
[ "$status" = 3 ] || fail "a cut trace: status $status"
[ "$(sql cut.fxtq "SELECT count(*) FROM damage WHERE is_loss AND kind IN ('truncated_tail', 'stray_bytes')")" -ge 1 ] || fail "the damage is not in the store"
[ "$(sql cut.fxtq 'SELECT count(*) > 100 FROM cpu_sample')" = 1 ] || fail "samples before the damage are missing"

# What is no trace leaves nothing; what is no store is left alone.
echo 'not a trace at all, just some text' >text
status=0
"$fxtq" import -q text -o none.fxtq 2>message || status=$?
[ "$status" = 3 ] || fail "no trace: status $status"
{ [ ! -e none.fxtq ] && [ ! -e none.fxtq.part ]; } || fail "a store was made of no trace"

# What stands where the store is to be built, and is no file, stays.
mkfifo other.fxtq.part
status=0
timeout 400 "$fxtq" import -q two.fxt -o other.fxtq 2>err || status=$?
[ $status -eq 4 ] || fail "status $status where a pipe is in the way: $(cat err)"
grep -q 'other.fxtq: its .part is not a regular file' err || fail "a pipe is in the way: $(cat err)"
[ -p other.fxtq.part ] || fail "the pipe is gone"
ln -s elsewhere link.fxtq.part
mkdir folder.fxtq.part
for store in link folder; do
    status=0
    "$fxtq" import -q two.fxt -o $store.fxtq 2>err || status=$?
    [ $status -eq 4 ] || fail "status $status where a $store is in the way: $(cat err)"
    grep -q "$store.fxtq: its .part is not a regular file: remove it first" err || fail "a $store is in the way: $(cat err)"
done
[ ! -e elsewhere ] || fail "a link was followed"
rm -r link.fxtq.part folder.fxtq.part
cp text kept
status=0
"$fxtq" import -q one.fxt -o kept 2>message || status=$?
{ [ "$status" = 3 ] && cmp -s text kept; } || fail "a file that is no store: status $status"
grep -q 'not a store' message || fail "no sentence about it: $(cat message)"
sql other.db 'CREATE TABLE x (y)'
status=0
"$fxtq" import -q one.fxt -o other.db 2>message || status=$?
{ [ "$status" = 3 ] && grep -q 'not a store of fxtq' message; } || fail "a database of others: status $status, $(cat message)"

# A store of a later version is refused with a sentence.
cp one.fxtq later.fxtq
sql later.fxtq 'PRAGMA user_version = 99'
status=0
"$fxtq" import -q two.fxt -o later.fxtq 2>message || status=$?
{ [ "$status" = 4 ] && grep -q 'version 99, made by a later fxtq' message; } || fail "a later store: status $status, $(cat message)"

# Raw regions, of several CPUs: in the order of times too.
mkdir regions
"$O/bench/fxtgen" --kind region --cpus 1 --count 3000 --seed 5 >regions/cpu0
"$O/bench/fxtgen" --kind region --cpus 1 --count 3000 --seed 6 >regions/cpu1
"$fxtq" import -q regions -o regions.fxtq 2>/dev/null || fail "regions: status $?"
[ "$(sql regions.fxtq 'SELECT count(*), count(DISTINCT cpu), (SELECT count(*) FROM cpu_sample AS a JOIN cpu_sample AS b ON b.id = a.id + 1 WHERE b.ts < a.ts) FROM cpu_sample')" = '6000|2|0' ] ||
    fail "regions: $(sql regions.fxtq 'SELECT count(*), count(DISTINCT cpu) FROM cpu_sample')"

# The schema explains itself, and is the one of the store.
"$fxtq" schema | sql made.db
[ "$(sql made.db .schema | grep -v '^--')" = "$(sql one.fxtq .schema | grep -v '^--' | grep -v column_data)" ] || fail "fxtq schema is not what a store has"
"$fxtq" schema cpu_sample | grep -q 'callsite_id  *INTEGER NOT NULL' || fail "fxtq schema cpu_sample"
status=0
"$fxtq" schema nothing >/dev/null 2>&1 || status=$?
[ "$status" = 2 ] || fail "fxtq schema nothing: status $status"
