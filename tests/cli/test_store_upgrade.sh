#!/bin/sh
# A store of a former version becomes one of this version when something is added to it, with the rows that the new version has.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
PATH=$O/bin:$PATH

PYTHONPATH=$ROOT/tests python3 "$ROOT/testdata/perfettosql/scenario.py" >trace.fxt
fxtq import -q trace.fxt -o new.fxtq

# Version 1 as it was: no W, counters without ids, another view.
cp new.fxtq old.fxtq
sqlite3 old.fxtq "
    DROP TABLE sample_event;
    UPDATE thread_wait SET state = 'R' WHERE state = 'W';
    UPDATE track SET name = substr(name, 1, length(name) - 2) WHERE type = 'counter';
    DROP VIEW thread_state;
    CREATE VIEW thread_state AS
    SELECT 2 * id AS id, ts, dur, cpu, utid, 'Running' AS state, NULL AS waker_utid
    FROM sched_slice WHERE utid <> 0
    UNION ALL
    SELECT 2 * id + 1, ts, dur, NULL, utid, state, waker_utid FROM thread_wait;
    PRAGMA user_version = 1;"

status=0
fxtq old.fxtq 'SELECT count(*) FROM slice' >out 2>err || status=$?
[ $status -ne 0 ] || fail "a store of version 1 is read as if it were new"
says "a store of version 1; 'fxtq upgrade' makes it one of version"

# A cache of a former version is replaced, as any other that cannot be used; the user's tables are not.
cp trace.fxt t.fxt
fxtq --cache t.fxt 'SELECT count(*) FROM slice' >expected
sqlite3 t.fxt.fxtq "DROP VIEW thread_state; CREATE VIEW thread_state AS SELECT 1 AS id; PRAGMA user_version = 1"
fxtq --cache t.fxt 'SELECT count(*) FROM slice' >out 2>err || fail "a cache of version 1: $(cat err)"
cmp expected out || fail "another answer after the cache was replaced"
[ "$(sqlite3 t.fxt.fxtq 'PRAGMA user_version')" != 1 ] || fail "the cache is still one of version 1"
sqlite3 t.fxt.fxtq "DROP VIEW thread_state; CREATE VIEW thread_state AS SELECT 1 AS id; CREATE TABLE mine (a); PRAGMA user_version = 1"
cp t.fxt.fxtq before
! fxtq --cache t.fxt 'SELECT count(*) FROM slice' >out 2>err || fail "a table of the user in a cache was passed over"
says 'it was changed since --cache made it'
cmp before t.fxt.fxtq || fail "a table of the user is gone"

# A view of another fxtq of this version: reading names the command, writing makes the view anew.
sqlite3 new.fxtq "SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger') ORDER BY name" >views
for way in "upgrade -q" "import -q more.fxt -o"; do
    [ -f more.fxt ] || "$O/bench/fxtgen" --count 10 >more.fxt
    cp new.fxtq view.fxtq
    sqlite3 view.fxtq "DROP VIEW stats; CREATE VIEW stats AS SELECT kind AS name FROM damage"
    status=0
    fxtq view.fxtq 'SELECT 1' >out 2>err || status=$?
    [ $status -ne 0 ] || fail "another view is read as if it were ours"
    says "VIEW stats is missing or of another fxtq; 'fxtq upgrade' makes it anew"
    # shellcheck disable=SC2086 # words
    fxtq $way view.fxtq 2>err || fail "$way: $(cat err)"
    sqlite3 view.fxtq "SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger') ORDER BY name" | cmp - views || fail "$way: the view is not ours"
done

# The command that the message names.
cp old.fxtq upgraded.fxtq
fxtq upgrade upgraded.fxtq new.fxtq 2>err || fail "$(cat err)"
says 'upgraded.fxtq: upgraded to version'
says 'new.fxtq: has already version'
fxtq upgraded.fxtq 'SELECT * FROM thread_state' >upgraded.states
fxtq new.fxtq 'SELECT * FROM thread_state' >new.states
cmp upgraded.states new.states || fail "other states after fxtq upgrade"
! fxtq upgrade trace.fxt 2>err || fail "a trace was upgraded"

fxtq import -q more.fxt -o old.fxtq 2>err || fail "cannot be added to: $(cat err)"
fxtq import -q more.fxt -o new.fxtq 2>err || fail "$(cat err)"
for store in old new; do
    fxtq $store.fxtq 'SELECT * FROM thread_state' >$store.states
done
grep -q W old.states || fail "no thread was woken: $(cat old.states)"
cmp old.states new.states || fail "other states"
[ "$(sqlite3 old.fxtq 'PRAGMA user_version; SELECT * FROM track; SELECT * FROM thread_wait')" = "$(sqlite3 new.fxtq 'PRAGMA user_version; SELECT * FROM track; SELECT * FROM thread_wait')" ] ||
    fail "other rows after the upgrade"
