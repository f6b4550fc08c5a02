#!/bin/sh
# Queries as PerfettoSQL's documentation has them give the expected rows in a store, with the stock sqlite3 shell; those in functions/
# with the loadable extension.
set -u

. "$ROOT/tests/cli/fail.sh"

store=$WORK/store.fxtq
PYTHONPATH=tests python3 testdata/perfettosql/scenario.py >"$WORK/trace.fxt" || fail 'no trace'
fxtq import "$WORK/trace.fxt" -o "$store" >"$WORK/log" 2>&1 || fail "$(cat "$WORK/log")"

count=0
compare() { # compare QUERY OPTION...: of sqlite3
    query=$1
    shift
    sqlite3 -readonly -list "$@" "$store" <"$query" >"$WORK/rows" 2>&1 || fail "$query: $(cat "$WORK/rows")"
    diff -u "${query%.sql}.rows" "$WORK/rows" || fail "$query: other rows"
    count=$((count + 1))
}

for query in testdata/perfettosql/*.sql; do
    compare "$query"
done
for query in testdata/perfettosql/functions/*.sql; do
    compare "$query" -cmd ".load $O/lib/libfxtsql"
done
[ "$count" -ge 50 ] || fail "only $count queries"
