#!/bin/sh
# The SQL functions give what Python makes of the same store, in fxtq and, as an extension, in the stock sqlite3 shell.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" drawn.fxtq 1 600
python3 "$ROOT/tests/tools/query_oracle.py" fxtq drawn.fxtq >log || fail "fxtq: $(cat log)"
python3 "$ROOT/tests/tools/query_oracle.py" fxtq drawn.fxtq "$O/lib/libfxtsql" >log || fail "libfxtsql: $(cat log)"

# What they refuse.
refuse() { # refuse SQL PATTERN
    status=0
    fxtq drawn.fxtq "$1" >out 2>err || status=$?
    [ $status -eq 2 ] || fail "status $status for $1"
    grep -q "$2" err || fail "$1: $(cat err)"
}
refuse "SELECT in_stack(1, '(')" "'(' is not a regular expression: ."
refuse "SELECT '(' REGEXP '('" "'(' is not a regular expression: ."
refuse "SELECT leaf(1, NULL, '(')" "'(' is not a regular expression"
refuse "SELECT leaf(1, NULL, NULL, 'planet')" "per: 'planet' is not one of"
refuse "SELECT * FROM call_tree WHERE focus = '['" "is not a regular expression"
refuse "SELECT * FROM call_top WHERE per = 'planet'" "per: 'planet' is not one of"
refuse "SELECT * FROM call_tree WHERE per = 'thread'" "per: 'thread' is not one of"
refuse "SELECT * FROM callers" "callers() needs a pattern"
refuse "SELECT * FROM call_tree('gold')" "there is no sample type 'gold'"
refuse "SELECT * FROM call_tree('alloc_space') WHERE tid = 1" "alloc_space have no thread"
refuse "SELECT * FROM call_tree('alloc_space') WHERE cpu = 1" "alloc_space have no CPU"
refuse "SELECT * FROM call_tree WHERE cpu = 'one'" "cpu: 'one' is not a list of numbers"
refuse "SELECT * FROM call_top WHERE pid = '100,'" "pid: '100,' is not a list of numbers"
refuse "SELECT * FROM call_top WHERE tid = ''" "tid: '' is not a list of numbers"
refuse "SELECT * FROM call_top WHERE from_ts = 'soon'" "from_ts: 'soon' is not a number"
refuse "SELECT * FROM call_top WHERE capture = '2x'" "capture: '2x' is not a number"
refuse "SELECT percentile(1, 101)" "p is not between 0 and 100"
refuse "SELECT percentile('x', 1)" "x is not a number"
refuse "SELECT percentile(column1, column1) FROM (VALUES (1), (2))" "p is not the same for all rows"

# They see what changes under them, in the same connection and from another one.
cp drawn.fxtq changed.fxtq
fxtq --write --format csv --no-header changed.fxtq "SELECT leaf(1)" "UPDATE string SET text = 'renamed ' || text" "SELECT leaf(1)" >out
[ "$(sed -n 2p out)" = "\"renamed $(sed -n 1p out | tr -d '"')\"" ] || fail "a changed name: $(cat out)"

# A store that contradicts itself is damaged, whatever is asked.
damage() { # damage SQL PATTERN
    cp drawn.fxtq bad.fxtq
    sqlite3 bad.fxtq "$1"
    for sql in "SELECT folded(id) FROM callsite" "SELECT * FROM flamegraph" "SELECT in_stack(1, 'x')"; do
        status=0
        fxtq bad.fxtq "$sql" >out 2>err || status=$?
        [ $status -eq 3 ] || fail "status $status after $1: $sql: $(cat err)"
        grep -q "^fxtq: the store is damaged: $2" err || fail "$1: $(cat err)"
    done
}
damage "UPDATE callsite SET parent_id = 800 WHERE id = 5" "a call site comes before its caller"
damage "UPDATE callsite SET parent_id = 5 WHERE id = 5" "a call site comes before its caller"
damage "UPDATE callsite SET parent_id = -5 WHERE id = 5" "a call site comes before its caller"
damage "DELETE FROM callsite WHERE id = 7" "its call sites have gaps"
damage "UPDATE callsite SET id = 9223372036854775807 WHERE id = 900" "its call sites have gaps"
damage "UPDATE callsite SET frame_id = 4000000000 WHERE id = 9" "a call site's frame is not there"
damage "UPDATE callsite SET frame_id = -1 WHERE id = 9" "a call site has no frame"
damage "UPDATE frame SET module_id = 99 WHERE id = 9" "a frame's module is not there"
damage "UPDATE symbol SET function = 1234567 WHERE frame_id = (SELECT max(frame_id) FROM symbol)" "a symbol's name is not there"
damage "INSERT INTO symbol(frame_id, inline_depth, function, quality) VALUES (1 << 40, 0, 1, 4)" "a symbol's frame is not there"
damage "INSERT INTO string VALUES (1 << 60, 'far')" "its strings have gaps"

# Another program that loads them opens any file: what is no store of this version is refused by name, and what would run a view of
# somebody else in a table's place.
loaded() { # loaded STORE SQL
    sqlite3 -readonly -cmd ".load $O/lib/libfxtsql" "$1" "$2" >out 2>err
}
all="SELECT folded(id) FROM callsite|SELECT in_stack(1, 'x')|SELECT leaf(1)|SELECT depth(1)|SELECT extract_arg(1, 'k')|SELECT * FROM call_tree|\
SELECT * FROM flamegraph|SELECT * FROM callers('x')|SELECT * FROM callees('x')|SELECT * FROM call_top|SELECT * FROM callsite_counts"
some="SELECT folded(1)|SELECT extract_arg(1, 'k')|SELECT * FROM call_tree"
refuses() { # refuses QUESTIONS PATTERN
    questions=$1
    shift
    echo "$questions" | tr '|' '\n' | while read -r sql; do
        if loaded bad.fxtq "$sql"; then fail "$1, but an answer to $sql: $(cat out)"; fi
        grep -q "$1" err || fail "$sql: no '$1' in: $(cat err)"
    done
    loaded bad.fxtq "SELECT demangle('_Z3fooi'), percentile(1, 50)" || fail "what reads no table: $(cat err)"
}
cp drawn.fxtq bad.fxtq
for old in 1 2 3; do
    sqlite3 bad.fxtq "DROP TABLE IF EXISTS sample_event; PRAGMA user_version = $old"
    refuses "$all" "a store of version $old; 'fxtq upgrade' makes it one of version 4"
done
cp drawn.fxtq bad.fxtq
sqlite3 bad.fxtq "PRAGMA user_version = 5"
refuses "$all" "a store of version 5, made by a later fxtq; these functions know version 4"
# Every table that their queries read.
tables=$(cd "$ROOT/libstore/functions" && grep -Eoh '(FROM|JOIN) main\.[a-z_]*' selection.c scalar.c stored_stacks.c | sed 's/.*main\.//' | grep -v sqlite_ | sort -u)
[ "$(echo "$tables" | wc -l)" -ge 14 ] || fail "only these tables: $tables"
for table in $tables profile_type; do
    cp drawn.fxtq bad.fxtq
    sqlite3 bad.fxtq "PRAGMA legacy_alter_table = ON; ALTER TABLE $table RENAME TO kept; CREATE VIEW $table AS SELECT * FROM kept"
    refuses "$some" "the store is damaged: it has no table $table"
done
# Tables without the rule NOT NULL are damaged; no memory is lacking.
while read -r table column said; do
    cp drawn.fxtq bad.fxtq
    sqlite3 bad.fxtq "PRAGMA legacy_alter_table = ON; CREATE TABLE plain AS SELECT * FROM $table; DROP TABLE $table;
        ALTER TABLE plain RENAME TO $table; UPDATE $table SET $column = NULL WHERE id = 1"
    refuses "SELECT folded(1)|SELECT in_stack(1, 'x')|SELECT * FROM call_tree" "the store is damaged: $said"
done <<'END'
string text a string has no text
module name a module has no name
END
