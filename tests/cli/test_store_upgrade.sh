#!/bin/sh
# A store of a former version becomes one of this version when something is added to it, with the rows that the new version has.  Until
# then, every command that reads it gets these rows, and the store is not changed.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
PATH=$O/bin:$PATH

PYTHONPATH=$ROOT/tests python3 "$ROOT/testdata/perfettosql/scenario.py" >trace.fxt
fxtq import -q trace.fxt -o new.fxtq
for commit in a b; do
    "$O/bench/fxtgen" --count 500 --stacks 20 --seed $((0x$commit)) >samples.fxt
    fxtq import -q samples.fxt -o new.fxtq --label commit=$commit
done

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

# ---- Reading ----

# A user who may only do what file modes say, in a folder where nothing can be made.
allowed() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
note="run.fxtq: a store of version 1, read from an upgraded copy; 'fxtq upgrade run.fxtq' makes the copy unnecessary"
mkdir new old wal tmp
cp new.fxtq new/run.fxtq
cp old.fxtq old/run.fxtq
cp old.fxtq wal/run.fxtq
sqlite3 wal/run.fxtq 'PRAGMA journal_mode = WAL' >out
cp wal/run.fxtq wal.before
chmod 444 old/run.fxtq
chmod 555 old
TMPDIR=$WORK/tmp
export TMPDIR
same() { # same [-q] COMMAND... in new/, old/ and wal/: the same output; with -q, without the note
    expected=$note
    [ "$1" = -q ] && expected='' && shift
    for kind in new old wal; do
        status=0
        (cd $kind && allowed "$@" >"../$kind.out" 2>"../$kind.err") || status=$?
        echo "$status" >>$kind.out
    done
    for kind in old wal; do
        cmp new.out $kind.out || fail "$*: another answer of the store in $kind: $(diff new.out $kind.out; cat $kind.err)"
        [ "$(grep -c . <new.err)" = "$(grep -vFx "$note" $kind.err | grep -c .)" ] || fail "$*: $(cat $kind.err)"
        [ "$(grep -Fx "$note" $kind.err)" = "$expected" ] || fail "$*: not one note: $(cat $kind.err)"
    done
    [ -z "$(ls -A tmp)" ] || fail "$*: left in TMPDIR: $(ls -A tmp)"
}
for sql in 'SELECT * FROM thread_state' 'SELECT * FROM track' 'SELECT * FROM slice' 'SELECT * FROM counters' 'SELECT * FROM args' \
    'CREATE TEMP TABLE mine AS SELECT * FROM thread_wait; SELECT count(*) FROM mine' \
    'SELECT count(*) FROM sample_event' 'SELECT user_version FROM pragma_user_version' 'PRAGMA integrity_check'; do
    same fxtq run.fxtq "$sql"
done
echo 'SELECT state, count(*) FROM thread_state GROUP BY 1;' >script.sql
same fxtq run.fxtq --file ../script.sql
for report in top tree heap damage slices timeline threads cpu; do same fxtq report $report run.fxtq; done
same fxtq report slices run.fxtq --json
for format in folded fxt csv; do same fxtq export $format run.fxtq; done
same -q fxtq export -q folded run.fxtq
same fxtq flamegraph -o - run.fxtq
same fxtq coverage run.fxtq
same fxtdiff run.fxtq#2 run.fxtq#3
same -q fxtdiff -q run.fxtq#2 run.fxtq#3
same fxtq trend run.fxtq
same fxtdiff history run.fxtq
cmp old.fxtq old/run.fxtq || fail "reading changed the store"
cmp wal.before wal/run.fxtq || fail "reading changed the store in WAL mode"
chmod 755 old

# fxtq trend makes one copy.
if strace -o trace true 2>err; then
    strace -f -q -e trace=mkdir,mkdirat -o trace fxtq trend old/run.fxtq >out 2>err || :
    [ "$(grep -cF "$TMPDIR/fxt-" trace)" -eq 1 ] || fail "not one copy: $(cat trace)"
fi

# Without room for the copy, the remedy is named: a file that may not grow, and a folder that is not there.
refused() { # refused STATUS SENTENCE COMMAND...
    wanted=$1 sentence=$2
    shift 2
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq "$wanted" ] || fail "$*: status $status, not $wanted: $(cat err)"
    [ "$(cat err)" = "$sentence" ] || fail "$*: $(cat err)"
    [ ! -s out ] || fail "$*: a result: $(cat out)"
    [ -z "$(ls -A tmp)" ] || fail "$*: left in TMPDIR: $(ls -A tmp)"
}
small() { (
    trap '' XFSZ
    ulimit -f 60
    "$@"
); }
why="a store of version 1, which is read from an upgraded copy in \$TMPDIR"
remedy="'fxtq upgrade' makes the copy unnecessary"
refused 4 "fxtq: old.fxtq: $why: File too large; $remedy" small fxtq old.fxtq 'SELECT 1'
refused 4 "fxtq report: old.fxtq: $why: File too large; $remedy" small fxtq report slices old.fxtq
refused 4 "fxtdiff history: old.fxtq: $why: File too large; $remedy" small fxtdiff history old.fxtq
TMPDIR=/nowhere refused 4 "fxtq: old.fxtq: $why: cannot make a file: No such file or directory; $remedy" fxtq old.fxtq 'SELECT 1'

# Damage is reported as by an upgrade, and changes nothing.
head -c 100000 old.fxtq >cut.fxtq
cp old.fxtq bad.fxtq
sqlite3 bad.fxtq 'CREATE TABLE sample_event (mine)'
cp old.fxtq view.fxtq
sqlite3 view.fxtq 'DROP VIEW slices; CREATE TABLE slices (a)'
for store in cut bad view; do
    cp $store.fxtq before
    status=0
    fxtq upgrade $store.fxtq 2>expected || status=$?
    [ $status -eq 3 ] || fail "$store.fxtq: status $status of upgrade: $(cat expected)"
    cp before $store.fxtq
    refused 3 "$(sed "s/^fxtq upgrade:/fxtq:/" expected)" fxtq $store.fxtq 'SELECT 1'
    cmp before $store.fxtq || fail "reading changed $store.fxtq"
done

# ---- Caches ----

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

# ---- Writing ----

# A view of another fxtq of this version: a reader replaces it in a copy, a writer in the store.
sqlite3 new.fxtq "SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger') ORDER BY name" >views
for way in "upgrade -q" "import -q more.fxt -o"; do
    [ -f more.fxt ] || "$O/bench/fxtgen" --count 10 >more.fxt
    cp new.fxtq view.fxtq
    sqlite3 view.fxtq "DROP VIEW stats; CREATE VIEW stats AS SELECT kind AS name FROM damage"
    cp view.fxtq before
    fxtq view.fxtq 'SELECT * FROM stats' >out 2>err || fail "another view: $(cat err)"
    says "view.fxtq: a store with views of another fxtq, read from an upgraded copy; 'fxtq upgrade view.fxtq' makes the copy unnecessary"
    fxtq new.fxtq 'SELECT * FROM stats' | cmp - out || fail "another view is read as if it were ours"
    cmp before view.fxtq || fail "reading changed the store"
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
