#!/bin/sh
# Relations of a store: foreign keys hold, views know captures and have types, a capture that is deleted leaves nothing behind, and a store
# of version 2 gets all of it.
set -eu

. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/dump.sh"
cd "$WORK"
PATH=$O/bin:$PATH
unset DEBUGINFOD_URLS

PYTHONPATH=$ROOT/tests python3 "$ROOT/testdata/perfettosql/scenario.py" >timeline.fxt
"$O/bench/fxtgen" --count 2000 --stacks 100 >cpu.fxt
"$O/bench/fxtgen" --kind sched --count 500 --seed 2 >sched1.fxt
"$O/bench/fxtgen" --kind sched --count 700 --seed 3 >sched2.fxt
"$O/bench/fxtgen" --kind heap --count 500 >heap.fxt
"$O/bench/fxtgen" --mix events=70,sched=20,stacks=5,heap=5 --count 600 --args 2 >mix.fxt
"$O/bench/fxtgen" --kind profiler --stacks 50 --count 500 --seed 4 >profiler.fxt
fxt2pprof -q -o cpu.pb.gz profiler.fxt
printf 'main;f;g 3\nmain;f 2.5\n 4\n' >stacks.folded
printf '{{{reset}}}\n{{{module:0:prog:elf:aabb}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n{{{bt:0:0x1010}}}\n' >some.log
inputs="sched1.fxt timeline.fxt cpu.fxt sched2.fxt heap.fxt mix.fxt cpu.pb.gz stacks.folded some.log"
# shellcheck disable=SC2086 # words
run 0 fxtq import -q $inputs -o all.fxtq
captures=$(sqlite3 all.fxtq 'SELECT count(*) FROM capture')
[ "$captures" = 9 ] || fail "$captures captures"

# ---- Foreign keys ----

run 0 sqlite3 all.fxtq 'PRAGMA foreign_key_check'
[ ! -s out ] || fail "foreign keys that lead nowhere: $(head -n 5 out)"
# Each column that is named after the id of another table has one, but for those that have 0 for none.
run 0 sqlite3 all.fxtq "
    SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
    WHERE t.type = 'table' AND c.hidden = 0
    AND c.name IN ('capture_id', 'upid', 'utid', 'module_id', 'frame_id', 'callsite_id', 'track_id', 'name_id', 'sample_type_id')
    AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(t.name) AS k WHERE k.\"from\" = c.name) ORDER BY 1"
[ "$(tr '\n' ' ' <out)" = "callsite_sum.callsite_id callsite_sum.upid meta.capture_id sched_slice.utid " ] || fail "columns without a foreign key: $(cat out)"

# ---- Views ----

run 0 sqlite3 all.fxtq "
    SELECT v.name FROM sqlite_schema AS v WHERE v.type = 'view'
    AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(v.name) WHERE name = 'capture_id') ORDER BY 1"
[ "$(tr '\n' ' ' <out)" = "args frame_name stack_profile_callsite stack_profile_frame stack_profile_mapping stack_profile_symbol " ] ||
    fail "views without capture_id: $(cat out)"
# A capture alone has as many rows in a view as it has among others, and knows its own id.
for input in $inputs; do
    rm -f one.fxtq
    run 0 fxtq import -q "$input" -o one.fxtq
    for view in $(sqlite3 all.fxtq "SELECT v.name FROM sqlite_schema AS v WHERE v.type = 'view' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(v.name) WHERE name = 'capture_id')"); do
        alone=$(sqlite3 one.fxtq "SELECT count(*) FROM $view")
        own=$(sqlite3 one.fxtq "SELECT count(*) FROM $view WHERE capture_id = 1")
        among=$(sqlite3 all.fxtq "SELECT count(*) FROM $view WHERE capture_id = (SELECT id FROM capture WHERE name = '$input')")
        if [ "$alone" != "$own" ] || [ "$alone" != "$among" ]; then fail "$view of $input: $alone rows alone, $own with its id, $among among others"; fi
    done
done
# Clocks of captures are not mixed.
[ "$(sqlite3 all.fxtq "SELECT count(*) FROM trace_bounds JOIN capture AS c ON c.id = capture_id WHERE trace_bounds.start_ts IS NOT c.start_ts OR trace_bounds.end_ts IS NOT c.end_ts")" = 0 ] || fail "trace_bounds"
[ "$(sqlite3 all.fxtq 'SELECT count(*) FROM trace_bounds')" -ge 5 ] || fail "trace_bounds has $(sqlite3 all.fxtq 'SELECT count(*) FROM trace_bounds') rows"
# Types: SQLite before 3.41 has none for expressions.  str_value is whatever the capture says.
if [ "$(sqlite3 :memory: "SELECT iif(CAST(substr(sqlite_version(), 3) AS REAL) >= 41, 'types', 'none')")" = types ]; then
    run 0 sqlite3 all.fxtq "
        SELECT v.name || '.' || c.name FROM sqlite_schema AS v, pragma_table_xinfo(v.name) AS c
        WHERE v.type = 'view' AND c.type IN ('', 'NUM', 'BLOB') AND c.name <> 'str_value'"
    [ ! -s out ] || fail "columns without a type: $(cat out)"
fi
# With them or without, expressions compare as their type does: a number in text finds itself.
for ask in "thread_state WHERE id = '2'" "thread_slice WHERE is_main_thread = '1'" "args WHERE int_value = '1'" \
    "heap_profile_allocation WHERE count < '0'" "metadata WHERE int_value > '0'"; do
    [ "$(sqlite3 all.fxtq "SELECT count(*) > 0 FROM $ask")" = 1 ] || fail "nothing in $ask"
done

# ---- A capture is deleted ----

contents() { # contents STORE: what users see, with the names of captures in place of ids
    for report in top tree threads cpu slices heap damage; do
        echo "= $report"
        fxtq report "$report" --json "$1" 2>&1 | sed 's/"capture[_a-z]*":[0-9"]*//g; s/[0-9]*\.fxtq//g' || true
    done
    sqlite3 "$1" "SELECT c.name, count(*), sum(s.weight) FROM cpu_sample AS s JOIN thread AS t ON t.id = s.utid JOIN process AS p ON p.id = t.upid JOIN capture AS c ON c.id = p.capture_id GROUP BY 1"
    for table in meta provider loss damage process thread mapping cpu_sample sample_event heap_event callsite_sum profile_type profile_sample profile_value \
        profile_label profile_mapping profile_location track slice_data counter flow sched_slice thread_wait log object arg arg_set_end; do
        echo "$table $(sqlite3 "$1" "SELECT count(*) FROM $table")"
    done
    # Modules belong to all captures, and have the name that the first of them gave.
    for id in $(sqlite3 "$1" "SELECT id FROM capture WHERE format <> 'pprof'"); do
        fxtq export folded -q --capture "$id" "$1" 2>/dev/null | sed 's/.* //' | sort || true
    done
}
python_delete() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA foreign_keys = ON")
db.execute("DELETE FROM capture WHERE name = ?", (sys.argv[2],))
db.commit()' "$1" "$2"
}
for input in $inputs; do
    rm -f rest.fxtq
    # shellcheck disable=SC2046,SC2086 # words
    run 0 fxtq import -q $(echo " $inputs " | sed "s/ $input / /") -o rest.fxtq
    contents rest.fxtq >want
    for how in sqlite3 python fxtq; do
        cp all.fxtq deleted.fxtq
        case $how in
        sqlite3) sqlite3 deleted.fxtq "DELETE FROM capture WHERE name = '$input'" ;;
        python) python_delete deleted.fxtq "$input" ;;
        fxtq) run 0 fxtq --write deleted.fxtq "DELETE FROM capture WHERE name = '$input'" ;;
        esac
        [ "$(sqlite3 deleted.fxtq 'PRAGMA foreign_key_check; PRAGMA integrity_check')" = ok ] || fail "$input, by $how: keys that lead nowhere"
        contents deleted.fxtq >got
        cmp -s want got || fail "$input, deleted by $how: $(diff want got | head -n 10 | cut -c 1-200)"
    done
    # It can come back.
    run 0 fxtq import -q "$input" -o deleted.fxtq
    [ "$(sqlite3 deleted.fxtq 'SELECT count(*) FROM capture')" = "$captures" ] || fail "$input does not come back"
    [ "$(sqlite3 deleted.fxtq 'SELECT count(*) FROM cpu_sample')" = "$(sqlite3 all.fxtq 'SELECT count(*) FROM cpu_sample')" ] || fail "$input: samples"
done
# Triggers of a user do not fire; nor does a capture leave anything then.
cp all.fxtq deleted.fxtq
sqlite3 deleted.fxtq "CREATE TABLE mine (a); CREATE TRIGGER bites AFTER DELETE ON capture BEGIN INSERT INTO mine VALUES (1); END"
run 0 fxtq --write deleted.fxtq "DELETE FROM capture WHERE name = 'cpu.fxt'"
[ "$(sqlite3 deleted.fxtq 'SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM cpu_sample)')" = "0|$(($(sqlite3 all.fxtq 'SELECT count(*) FROM cpu_sample') - 2000))" ] ||
    fail "with a trigger of the user: $(sqlite3 deleted.fxtq 'SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM cpu_sample)')"

# ---- Version 2 ----

# As it was: no foreign keys, no trigger, other views, three columns and a table less.
python3 - <<'PY'
import re, shutil, sqlite3
shutil.copy("all.fxtq", "old.fxtq")
db = sqlite3.connect("old.fxtq", isolation_level=None)
db.execute("DROP TRIGGER capture_deleted")
db.execute("DROP TABLE sample_event")
for name in ("perf_sample", "cpu_profile_stack_sample"):
    db.execute(f"DROP VIEW {name}")
db.execute("ALTER TABLE cpu_sample DROP COLUMN sample_type_id")
for name in ("sched", "trace_bounds"):
    db.execute(f"DROP VIEW {name}")
db.execute("CREATE VIEW sched AS SELECT id, ts, dur, cpu, utid, end_state, priority FROM sched_slice")
db.execute("CREATE VIEW trace_bounds AS SELECT min(start_ts) AS start_ts, max(end_ts) AS end_ts FROM capture")
db.execute("ALTER TABLE capture DROP COLUMN sched_count")
db.execute("ALTER TABLE capture DROP COLUMN first_sched_id")
db.execute("PRAGMA writable_schema = ON")
for name, sql in db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall():
    sql = re.sub(r" REFERENCES \w+ \(id\)( ON DELETE (CASCADE|SET NULL))?", "", sql)
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?", (sql, name))
db.execute("PRAGMA writable_schema = RESET")
db.execute("PRAGMA user_version = 2")
PY
cp old.fxtq added.fxtq
fxtq schema | sed -n "s/^CREATE TABLE \([a-z_]*\).*/SELECT '\1', * FROM \1;/p" >rows.sql
for view in sched trace_bounds perf_sample stats; do echo "SELECT '$view', * FROM $view;"; done >>rows.sql
sorted_rows() { fxtq "$1" --file rows.sql 2>notes | sort; }
sorted_rows all.fxtq >want
[ "$(grep -c . <want)" -gt 100 ] || fail "few rows: $(cat notes)"
cp old.fxtq before
sorted_rows old.fxtq >got
cmp -s want got || fail "the store that was read as it is is another: $(diff want got | head -n 6)"
[ "$(cat notes)" = "old.fxtq: a store of version 2, read from an upgraded copy; 'fxtq upgrade old.fxtq' makes the copy unnecessary" ] || fail "$(cat notes)"
cmp -s before old.fxtq || fail "reading changed the store"
run 0 fxtq upgrade old.fxtq
dump all.fxtq | sort >want
dump old.fxtq | sort >got
cmp -s want got || fail "the upgraded store is another: $(diff want got | head -n 6)"
[ "$(sqlite3 old.fxtq 'PRAGMA integrity_check; PRAGMA foreign_key_check')" = ok ] || fail "the upgraded store is not sound"
run 0 fxtq import -q profiler.fxt -o added.fxtq
run 0 fxtq import -q profiler.fxt -o all.fxtq
dump all.fxtq | sort >want
dump added.fxtq | sort >got
cmp -s want got || fail "a store that was added to is another: $(diff want got | head -n 6)"
# One that only says that it is of version 2 is refused, as others that are no stores.
for harm in "DROP TABLE cpu_sample; CREATE VIEW cpu_sample AS SELECT 1 AS id" "DROP TABLE log" "DROP VIEW slices; CREATE TABLE slices (a)"; do
    cp old.fxtq broken.fxtq
    sqlite3 broken.fxtq "DROP TABLE sample_event; $harm; PRAGMA user_version = 2"
    run 3 fxtq broken.fxtq 'SELECT 1'
    run 3 fxtq upgrade broken.fxtq
    [ "$(sqlite3 broken.fxtq 'PRAGMA user_version')" = 2 ] || fail "$harm: upgraded"
done
# So is one whose user has a table that the new version needs.
sqlite3 added.fxtq "DROP TABLE sample_event; CREATE TABLE sample_event (mine); PRAGMA user_version = 3"
run 3 fxtq added.fxtq 'SELECT 1'
says "its own sample_event is in the way of the table of that name: rename it"
run 3 fxtq upgrade added.fxtq
says "sample_event"
[ "$(sqlite3 added.fxtq 'SELECT count(mine) FROM sample_event; PRAGMA user_version')" = '0
3' ] || fail "a table of the user was replaced"
finish
