#!/bin/sh
# Tables and views of the user beside those of a store, whatever they are called, change no report, page or export.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --kind mix --count 2000 >mix.fxt 2>/dev/null || "$O/bench/fxtgen" --count 2000 >mix.fxt
"$fxtq" import -q mix.fxt -o plain.fxtq
cp plain.fxtq own.fxtq
# Every name that a function, a table of SQLite or a part of a report's query goes by.
"$fxtq" --format csv --no-header plain.fxtq "SELECT name FROM pragma_module_list WHERE substr(name, 1, 4) <> 'fxt_'" | tr -d '\r' >names
grep -q '^call_top$' names || fail "the functions have other names: $(cat names)"
for name in $(cat names) top samples stack function thread_time result tree t s; do
    sqlite3 own.fxtq "CREATE TABLE \"$name\" (mine)" 2>errors || grep -q 'reserved\|already' errors || fail "$name: $(cat errors)"
done
[ "$(sqlite3 own.fxtq "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%(mine)'")" -gt 10 ] || fail "hardly any tables of the user"

compare() { # compare COMMAND...: STORE stands for either store
    for store in plain own; do
        status=0
        # shellcheck disable=SC2046
        "$fxtq" $(echo "$@" | sed "s/STORE/$store.fxtq/") >$store.out 2>$store.err || status=$?
        sed "s/$store.fxtq//g; s/$store.html//g" $store.err >$store.said
        echo "status $status" >>$store.said
    done
    if ! cmp -s plain.out own.out || ! cmp -s plain.said own.said; then fail "$*: $(cat own.err)"; fi
}
for report in top tree threads cpu slices damage heap timeline; do compare report $report STORE; done
for report in callers callees; do compare report $report . STORE; done
for by in function file line module thread process; do compare report top --by $by STORE; done
compare report top --comm . --focus . STORE
compare export folded STORE
compare export csv STORE
compare coverage STORE
for store in plain own; do "$fxtq" flamegraph --title x $store.fxtq -o $store.html 2>/dev/null || fail "flamegraph of $store"; done
cmp -s plain.html own.html || fail "another flame graph"
finish
