#!/bin/sh
# Table-valued functions of timelines give what their definitions in plain SQL give.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --kind spans --count 700 --stacks 20 >spans.fxt
"$O/bench/fxtgen" --mix events=60,sched=40 --count 900 >mix.fxt
"$fxtq" import -q spans.fxt -o run.fxtq
"$fxtq" import -q mix.fxt -o run.fxtq
cp run.fxtq plain.fxtq
sqlite3 plain.fxtq 'DROP TABLE column_data'

same() { # same NAME QUERY DEFINITION: equal rows on both stores, and some; PREPARE goes first
    for store in run plain; do
        "$fxtq" --no-header $store.fxtq "${PREPARE:-SELECT 1};" "$2" >a 2>&1 || fail "$1 on $store: $(tail -n 3 a)"
        "$fxtq" --no-header $store.fxtq "${PREPARE:-SELECT 1};" "$3" >b 2>&1 || fail "$1, defined, on $store: $(tail -n 3 b)"
        cmp -s a b || fail "$1 on $store: $(diff a b | head -5)"
        [ "$(wc -l <a)" -gt "${LEAST:-20}" ] || fail "$1 on $store: $(wc -l <a) rows"
    done
}
rows='s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id'

same ancestors "SELECT q.id, a.* FROM slice AS q, ancestors(q.id) AS a WHERE q.id % 3 = 0 ORDER BY q.id, a.depth DESC" \
    "WITH RECURSIVE up (of, id) AS (SELECT id, parent_id FROM slice WHERE id % 3 = 0 UNION ALL
     SELECT up.of, s.parent_id FROM up JOIN slice AS s ON s.id = up.id)
     SELECT up.of, $rows FROM up JOIN slice AS s ON s.id = up.id ORDER BY up.of, s.depth DESC"
# Nearest first, without being asked.
same "order of ancestors" "SELECT q.id, a.depth FROM slice AS q, ancestors(q.id) AS a WHERE q.depth > 2 AND q.id < 300" \
    "SELECT q.id, a.depth FROM slice AS q, ancestors(q.id) AS a WHERE q.depth > 2 AND q.id < 300 ORDER BY q.id, a.depth DESC"

same descendants "SELECT q.id, d.* FROM slice AS q, descendants(q.id) AS d WHERE q.id % 5 = 0 ORDER BY q.id, d.id" \
    "WITH RECURSIVE below (of, id) AS (SELECT id, id FROM slice WHERE id % 5 = 0 UNION ALL
     SELECT below.of, s.id FROM below JOIN slice_data AS s ON s.parent_id = below.id)
     SELECT below.of, $rows FROM below JOIN slice AS s ON s.id = below.id WHERE below.of <> below.id ORDER BY below.of, s.id"

# In subqueries that depend on the row.
same correlated "SELECT q.id, (SELECT count(*) FROM descendants(q.id)), (SELECT sum(dur) FROM ancestors(q.id)), (SELECT max(depth) FROM slice_at(q.ts, 1))
     FROM slice AS q WHERE q.id % 4 = 0 AND EXISTS (SELECT 1 FROM ancestors(q.id) AS a WHERE a.depth = 0) ORDER BY q.id" \
    "SELECT q.id, (WITH RECURSIVE below (id) AS (SELECT q.id UNION ALL SELECT s.id FROM below JOIN slice_data AS s ON s.parent_id = below.id)
      SELECT count(*) - 1 FROM below), (WITH RECURSIVE up (id) AS (SELECT q.parent_id UNION ALL SELECT s.parent_id FROM up JOIN slice AS s ON s.id = up.id)
      SELECT sum(s.dur) FROM up JOIN slice AS s ON s.id = up.id), (SELECT max(s.depth) FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id
      WHERE t.utid = 1 AND s.ts <= q.ts AND (s.dur < 0 OR s.ts + s.dur > q.ts)) FROM slice AS q WHERE q.id % 4 = 0 AND q.parent_id IS NOT NULL ORDER BY q.id"

at="SELECT DISTINCT t.utid, s.ts + n.n * coalesce(nullif(s.dur, -1), 9) / 2 AS at FROM slice_data AS s JOIN thread_track AS t ON t.id = s.track_id,
    (SELECT -1 AS n UNION ALL SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2) AS n WHERE s.id % 17 = 0"
same slice_at "SELECT q.at, q.utid, s.* FROM ($at) AS q, slice_at(q.at, q.utid) AS s ORDER BY q.at, q.utid, s.id" \
    "SELECT q.at, q.utid, $rows FROM ($at) AS q JOIN thread_track AS t ON t.utid = q.utid JOIN slice AS s ON s.track_id = t.id
     WHERE s.ts <= q.at AND (s.dur < 0 OR s.ts + s.dur > q.at) ORDER BY q.at, q.utid, s.id"

# Times that are no integers are compared as SQL does, and extreme ones.
for time in 'q.at + 0.5' 'q.at + 0.0' "q.at || ''" 9223372036854775807 -9223372036854775808; do
    case $time in -* | 9*) LEAST=-1 ;; esac
    same "slice_at of $time" "SELECT q.at, q.utid, s.* FROM ($at) AS q, slice_at($time, q.utid) AS s ORDER BY q.at, q.utid, s.id" \
        "SELECT q.at, q.utid, $rows FROM ($at) AS q JOIN thread_track AS t ON t.utid = q.utid JOIN slice AS s ON s.track_id = t.id
         WHERE s.ts <= $time AND (s.dur < 0 OR $time - s.ts < s.dur) ORDER BY q.at, q.utid, s.id"
done
LEAST=

# Intervals that touch, nest, overlap, are empty, or have no end.
PREPARE="CREATE TEMP TABLE a AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 150)
    SELECT i AS id, i * 7919 % 101 AS ts, CASE WHEN i % 9 = 0 THEN 0 WHEN i % 11 = 0 THEN -1 ELSE i * 31 % 13 END AS dur,
    CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'x' ELSE i % 3 END AS k FROM n;
    CREATE TEMP TABLE b AS SELECT id + 1000 AS id, ts * 3 % 101 AS ts, CASE WHEN id % 5 = 0 THEN 0 ELSE dur END AS dur, k FROM a"
meet="SELECT max(a.ts, b.ts) AS ts, CASE WHEN a.dur < 0 AND b.dur < 0 THEN -1
      ELSE min(iif(a.dur < 0, 9e9, a.ts + a.dur), iif(b.dur < 0, 9e9, b.ts + b.dur)) - max(a.ts, b.ts) END AS dur, a.id, b.id"
on="max(a.ts, b.ts) < iif(a.dur < 0, 9e9, a.ts + max(a.dur, 1)) AND max(a.ts, b.ts) < iif(b.dur < 0, 9e9, b.ts + max(b.dur, 1))
    AND max(a.ts, b.ts) <= min(iif(a.dur < 0, 9e9, a.ts + a.dur), iif(b.dur < 0, 9e9, b.ts + b.dur))"
same "intervals by key" "SELECT ts, dur, id_a, id_b, key FROM intervals_intersect('a', 'b', 'k') ORDER BY id_a, id_b" \
    "$meet, a.k FROM a JOIN b ON a.k = b.k WHERE $on ORDER BY a.id, b.id"
same "intervals" "SELECT ts, dur, id_a, id_b, key FROM intervals_intersect('a', 'b') ORDER BY id_a, id_b" \
    "$meet, NULL FROM a JOIN b WHERE $on ORDER BY a.id, b.id"
same "intervals by NULL" "SELECT id_a, id_b FROM intervals_intersect('a', 'b', NULL) ORDER BY 1, 2" \
    "SELECT a.id, b.id FROM a JOIN b WHERE $on ORDER BY a.id, b.id"
PREPARE="CREATE TEMP VIEW b AS SELECT s.*, t.utid FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id; CREATE TEMP VIEW a AS SELECT * FROM thread_state"
same "threads while they ran" "SELECT ts, dur, id_a, id_b FROM intervals_intersect('a', 'b', 'utid') WHERE dur > 0 ORDER BY id_a, id_b" \
    "SELECT * FROM ($meet FROM a JOIN b ON a.utid = b.utid WHERE $on) WHERE dur > 0 ORDER BY 3, 4"
PREPARE=

# Ids that do not exist, and NULL, have no rows; what cannot be answered says why.
[ -z "$("$fxtq" --no-header run.fxtq "SELECT * FROM ancestors(NULL); SELECT * FROM ancestors(99999999); SELECT * FROM descendants('x');
    SELECT * FROM descendants(-1); SELECT * FROM slice_at(NULL, 1); SELECT * FROM slice_at(0, 99999)")" ] || fail "rows of nothing"
refuses() { # refuses QUERY WORDS
    ! "$fxtq" run.fxtq "$1" >out 2>&1 || fail "$1: $(cat out)"
    grep -q "$2" out || fail "$1: $(cat out)"
}
refuses "SELECT * FROM ancestors" 'ancestors() needs 1 argument'
refuses "SELECT * FROM slice_at(5)" 'slice_at() needs 2 arguments'
refuses "SELECT * FROM intervals_intersect('a')" 'intervals_intersect() needs 2 arguments'
refuses "SELECT * FROM intervals_intersect('slice', 'nowhere')" 'no such table: nowhere'
refuses "SELECT * FROM intervals_intersect('slice', 'sched', 'nothing')" 'no such column'
refuses "CREATE TEMP VIEW v AS SELECT 1 AS id, ts, dur FROM intervals_intersect('v', 'v'); SELECT * FROM v" 'intervals_intersect(): more than 16 such functions inside each other; a view may call itself'

# Parents that lead round in a circle end.
sqlite3 plain.fxtq "UPDATE slice_data SET parent_id = id + 1 WHERE id = 4; UPDATE slice_data SET parent_id = 4 WHERE id = 5"
"$fxtq" plain.fxtq "SELECT count(*) FROM ancestors(5); SELECT count(*) FROM ancestors(4); SELECT count(*) FROM descendants(4)" >out ||
    fail "a circle: $(cat out)"
finish
