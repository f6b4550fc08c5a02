#!/bin/sh
# Columns: SQL gives the rows of the plain tables, also after edits, and where columns are damaged or missing.
set -eu

. "$ROOT/tests/cli/common.sh"
queries=$ROOT/tests/column_queries.py
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --kind spans --count 4500 --stacks 50 >spans.fxt
"$O/bench/fxtgen" --kind events --count 3000 --stacks 30 >events.fxt
"$O/bench/fxtgen" --mix events=60,sched=40 --count 5000 >mix.fxt
"$O/bench/fxtgen" --count 5000 >samples.fxt
"$O/bench/fxtgen" --mix counters=3,events=1 --count 6000 >counters.fxt
"$O/tests/tools/fxt_every_kind" >every.fxt

served() { "$fxtq" --no-header "$1" "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'slice'" 2>served.err; }
plain() { cp "$1" "$2" && sqlite3 "$2" 'DROP TABLE column_data'; }
same() { # same STORE PLAIN: the answers to script.sql
    "$fxtq" --no-header "$1" --file script.sql >columns.out 2>columns.err || fail "$1: $(cat columns.err)"
    "$fxtq" --no-header "$2" --file script.sql >plain.out 2>plain.err || fail "$2: $(cat plain.err)"
    python3 "$queries" compare columns.out plain.out >differences || fail "$1: $(cat differences)"
}

# Every query of the suite, and random ones; those that were seen to fail are in the suite.
for trace in spans events mix samples counters every; do
    "$fxtq" import -q $trace.fxt -o $trace.fxtq 2>import.err || [ $trace = every ] || fail "$trace: $(cat import.err)"
    plain $trace.fxtq $trace.plain.fxtq
    [ "$(served $trace.fxtq)$(served $trace.plain.fxtq)" = 10 ] || fail "$trace: served $(served $trace.fxtq), plain $(served $trace.plain.fxtq)"
done
{
    python3 "$queries" suite
    python3 "$queries" random 5 60
} | python3 "$queries" script >script.sql
for trace in spans events mix samples counters every; do same $trace.fxtq $trace.plain.fxtq; done

# Columns without plain rows would not be noticed otherwise: sqlite3 reads the same rows.
for table in slice_data counter sched_slice thread_wait cpu_sample; do
    "$fxtq" --no-header mix.fxtq "SELECT count(*), sum(id), sum(ts) FROM $table" >a
    sqlite3 -separator "$(printf '\t')" mix.fxtq "SELECT count(*), sum(id), sum(ts) FROM $table" >b
    cmp -s a b || fail "$table: $(cat a b)"
done

# Each view on tables with columns reads these.
left=$("$fxtq" --no-header mix.fxtq "SELECT name FROM main.sqlite_schema AS v WHERE type = 'view' AND name NOT IN (SELECT name FROM temp.sqlite_schema)
    AND EXISTS (SELECT 1 FROM temp.sqlite_schema AS t WHERE replace(v.sql, char(10), ' ') || ' ' LIKE '%FROM ' || t.name || ' %')")
[ -z "$left" ] || fail "views on the plain tables: $left"

# The first rows by a column are chosen without sorting all, also if ids order equal ones.
"$fxtq" --no-header spans.fxtq "EXPLAIN QUERY PLAN SELECT id FROM slice ORDER BY dur DESC, id LIMIT 10" >out
grep -q 'SCAN slice VIRTUAL TABLE INDEX 0:L.*/-C+A' out || fail "longest slices, by id: $(cat out)"

# A join whose groups are those of one table begins with it, in their order, and looks the others up: nothing is sorted.
"$fxtq" --no-header spans.fxtq "EXPLAIN QUERY PLAN $(python3 "$queries" suite 12 | tail -n 1)" >out
grep -q 'SCAN g VIRTUAL TABLE INDEX 0:/+F' out || fail "grandparents: $(cat out)"
[ "$(grep -c 'VIRTUAL TABLE INDEX 2:=H/' out)" = 2 ] || fail "grandparents: $(cat out)"
! grep -q 'TEMP B-TREE' out || fail "grandparents are sorted: $(cat out)"

# Arguments of the begins and of the ends of slices; keys that are missing; values that are not of their type.
cp every.fxtq args.fxtq
"$fxtq" import -q events.fxt -o args.fxtq
for edit in "INSERT INTO arg_set_end SELECT arg_set_id, arg_set_id + 1 FROM arg WHERE arg_set_id % 3 = 0 GROUP BY 1" \
    "DELETE FROM string WHERE id = (SELECT min(key_id) FROM arg)" "UPDATE arg SET value = 'x' WHERE arg_set_id = 20"; do
    sqlite3 args.fxtq "$edit"
    plain args.fxtq args.plain.fxtq
    "$fxtq" upgrade -q args.fxtq
    [ "$(served args.fxtq)" = 1 ] || fail "no columns after $edit"
    same args.fxtq args.plain.fxtq
done
[ "$("$fxtq" --no-header args.fxtq 'SELECT count(*) FROM arg_set_end')" -gt 100 ] || fail "no arguments of ends"

# Values as far from each other as integers can be have no index.
cp spans.fxtq far.fxtq
sqlite3 far.fxtq "UPDATE slice_data SET async_id = CASE id % 3 WHEN 0 THEN -9223372036854775807 - 1 WHEN 1 THEN 9223372036854775807 ELSE id END"
plain far.fxtq far.plain.fxtq
"$fxtq" upgrade -q far.fxtq
far="SELECT v.column1, count(*), max(c.id) FROM (VALUES (5), (8), (9223372036854775807), (-9223372036854775807 - 1), (11), (0), (14)) AS v
    CROSS JOIN slice AS c ON c.async_id = v.column1 GROUP BY 1 ORDER BY 1"
"$fxtq" far.fxtq "$far" >a 2>&1 || fail "far values: $(cat a)"
"$fxtq" far.plain.fxtq "$far" >b
[ "$(wc -l <b)" = 7 ] || fail "far values: $(cat b)"
cmp -s a b || fail "far values: $(diff a b)"

# The rest needs fewer queries.
{
    python3 "$queries" suite 12
    python3 "$queries" random 6 6
} | python3 "$queries" script >script.sql

# A trace without a store has columns, too.
[ "$("$fxtq" --no-header mix.fxt "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'slice'")" = 1 ] || fail "a trace has no columns"
same mix.fxt mix.plain.fxtq

# Its rows and columns stay in memory as far as --memory lets them: if files are limited, the others cannot be written.
"$O/bench/fxtgen" --kind spans --count 60000 --stacks 50 >long.fxt
for memory in 64k 1G; do
    for command in "$fxtq" "$fxtq report slices" "$fxtq export folded" "$fxtq flamegraph -o page.html"; do
        status=0
        (
            trap '' XFSZ
            ulimit -f 1500
            $command --memory $memory long.fxt
        ) </dev/null >out 2>err || status=$?
        [ $memory = 64k ] || [ $status = 0 ] || fail "$command --memory $memory: $(cat err)"
        [ $memory = 1G ] || [ $status = 4 ] || fail "$command --memory $memory: status $status, nothing was written to a file"
    done
done
"$fxtq" --no-header --memory 64k --file script.sql long.fxt >a 2>err || fail "--memory 64k: $(cat err)"
"$fxtq" --no-header --file script.sql long.fxt >b
python3 "$queries" compare a b >differences || fail "--memory 64k: $(cat differences)"
"$fxtq" --memory 63k long.fxt 'SELECT 1' >out 2>err && fail "--memory 63k is taken"
grep -q 'memory.*65,536' err || fail "--memory 63k: $(cat err)"

# An import adds columns, and a label keeps them.
cp mix.fxtq more.fxtq
"$fxtq" import -q spans.fxt -o more.fxtq --label commit=a1 >out 2>&1 || fail "append: $(cat out)"
[ "$(served more.fxtq)" = 1 ] || fail "no columns after an import into a store"
[ "$("$fxtq" --no-header more.fxtq 'SELECT count(*) FROM slice')" -gt "$("$fxtq" --no-header mix.fxtq 'SELECT count(*) FROM slice')" ] || fail "nothing was added"
plain more.fxtq more.plain.fxtq
same more.fxtq more.plain.fxtq

# After a change that fxtq did not make, or cannot follow, the plain tables answer.
for edit in "UPDATE slice_data SET dur = dur + 1 WHERE id % 3 = 0" "DELETE FROM capture WHERE id = 1" \
    "INSERT INTO sched_slice SELECT id + 1000000, ts, dur, cpu, utid, 'S', 1 FROM sched_slice LIMIT 9" \
    "DELETE FROM event_name WHERE id = 1" "VACUUM"; do
    for by in sqlite3 "$fxtq --write"; do
        [ "$edit$by" = "VACUUM$fxtq --write" ] && continue
        cp more.fxtq edited.fxtq
        $by edited.fxtq "$edit" >out 2>&1 || fail "$by $edit: $(cat out)"
        plain edited.fxtq edited.plain.fxtq
        [ "$(served edited.fxtq)" = 0 ] || fail "columns are used after $by $edit"
        same edited.fxtq edited.plain.fxtq
    done
done
# The next import makes them anew, in spite of the gaps.
cp more.fxtq edited.fxtq
sqlite3 edited.fxtq "DELETE FROM capture WHERE id = 1; UPDATE slice_data SET parent_id = NULL, arg_set_id = -9223372036854775807 WHERE id % 7 = 0"
"$fxtq" import -q events.fxt -o edited.fxtq
[ "$(served edited.fxtq)" = 1 ] || fail "an import did not make columns anew"
plain edited.fxtq edited.plain.fxtq
same edited.fxtq edited.plain.fxtq
# A store without columns gets them.
"$fxtq" import -q spans.fxt -o mix.plain.fxtq
[ "$(served mix.plain.fxtq)" = 1 ] || fail "a store without columns got none"
# In WAL mode SQLite does not count changes.
cp mix.fxtq wal.fxtq
sqlite3 wal.fxtq 'PRAGMA journal_mode = WAL' >out
[ "$(served wal.fxtq)" = 0 ] || fail "columns of a store in WAL mode are used"
same wal.fxtq mix.fxtq
"$fxtq" upgrade -q wal.fxtq
[ "$(served wal.fxtq)" = 0 ] || fail "a store in WAL mode got columns"
"$fxtq" import -q spans.fxt -o wal.fxtq --label commit=a1
[ "$(served wal.fxtq)" = 0 ] || fail "an import into a store in WAL mode made columns"
same wal.fxtq more.plain.fxtq
# Columns from before do not come back with the mode: those of the import are missing.
sqlite3 wal.fxtq 'PRAGMA journal_mode = DELETE' >out
[ "$(served wal.fxtq)" = 0 ] || fail "columns are used that have no rows of what was added in WAL mode"
same wal.fxtq more.plain.fxtq
"$fxtq" upgrade -q wal.fxtq
[ "$(served wal.fxtq)" = 1 ] || fail "upgrade made no columns after WAL mode"
same wal.fxtq more.plain.fxtq

# Another program changes the store between two statements of one shell.
cp mix.fxtq shell.fxtq
mkfifo pipe
"$fxtq" --no-header shell.fxtq <pipe >shell.out 2>shell.err &
pid=$!
exec 3>pipe
echo 'SELECT sum(dur) FROM slice;' >&3
sqlite3 -cmd '.timeout 20000' shell.fxtq 'UPDATE slice_data SET dur = 1'
echo 'SELECT sum(dur) FROM slice; SELECT count(*) FROM slice WHERE dur = 1 AND id = 3;' >&3
exec 3>&-
wait $pid || fail "a store that changes: $(cat shell.err)"
count=$(sqlite3 shell.fxtq 'SELECT count(*) FROM slice')
[ "$(tail -n 2 shell.out | tr '\n' ' ')" = "$count 1 " ] || fail "after a change of the store: $(cat shell.out)"

# ---- Damage ----

# A flipped bit in any blob changes no answer, although the count of changes stays.
for id in 0 1 3 20 17 16; do
    cp mix.fxtq bad.fxtq
    python3 "$ROOT/tests/column_damage.py" bad.fxtq $id || fail "no blob $id"
    same bad.fxtq mix.fxtq
done
grep -q 'columns are damaged.*fxtq upgrade' columns.err || fail "damage is not reported: $(cat columns.err)"
"$fxtq" upgrade -q bad.fxtq
same bad.fxtq mix.fxtq
[ "$(served bad.fxtq)" = 1 ] || fail "upgrade did not make columns anew"
[ ! -s columns.err ] || fail "upgrade left damage: $(cat columns.err)"
plain mix.fxtq old.fxtq
"$fxtq" upgrade -q old.fxtq
same old.fxtq mix.fxtq
[ "$(served old.fxtq)" = 1 ] || fail "upgrade made no columns"

# So does much damage: of every block, of half of those of each column, and of all directories.  One note reports it.
python3 "$queries" suite | python3 "$queries" script >script.sql
damaged() { # damaged WHAT TRACE: bad/run.fxtq, and plain/run.fxtq beside it
    mkdir -p bad plain
    cp "$2.fxtq" bad/run.fxtq
    python3 "$ROOT/tests/column_damage.py" bad/run.fxtq "$1" || fail "no $1 in $2"
    plain "$2.fxtq" plain/run.fxtq
}
noted() { # noted FILE COMMAND: the note, and nothing else
    [ "$(sed 's,^[a-z/]*run.fxtq: columns are damaged; .*: fxtq upgrade [a-z/]*run.fxtq$,noted,' "$1")" = noted ] || fail "$2: not one note: $(cat "$1")"
}
report_same() { # report_same COMMAND...: in bad/ and plain/
    for kind in bad plain; do
        (cd $kind && "$fxtq" "$@" >../$kind.out 2>../$kind.err) || fail "$kind: $*: $(cat $kind.err)"
    done
    [ -s plain.out ] || fail "$*: nothing"
    cmp -s bad.out plain.out || fail "$*: $(diff bad.out plain.out | head -n 6)"
    grep -vxFf plain.err bad.err >note || true
    noted note "$*"
}
for what in blocks half directories; do
    for trace in mix every counters; do
        damaged $what $trace
        same bad/run.fxtq plain/run.fxtq
        noted columns.err "the suite on $what of $trace"
        # Statements are planned for the plain tables, which would be slow to read in the order of other plans.
        [ $what = half ] || [ "$(served bad/run.fxtq)" = 0 ] || fail "damaged $what of $trace are used"
    done
    damaged $what mix
    for report in slices threads cpu; do report_same report $report run.fxtq; done
    report_same report slices run.fxtq --rows 0 --json
    damaged $what samples
    for report in top tree timeline threads cpu; do report_same report $report run.fxtq; done
    report_same report top run.fxtq --cpu 0
    report_same report top run.fxtq --time +0s,+2ms
    report_same flamegraph -o - run.fxtq
    report_same flamegraph -o - run.fxtq --cpu 1
done
# A few damaged blocks of many are read from the plain table, and the others go on being used.
"$fxtq" import -q long.fxt -o long.fxtq
for id in 40 77 150; do
    damaged $id long
    same bad/run.fxtq plain/run.fxtq
done

# What fxtq shows of a store is what is in it.
"$fxtq" mix.fxtq .tables >out
[ "$(tr -s ' ' '\n' <out | grep -cx slice)" = 1 ] || fail ".tables: $(cat out)"
finish
