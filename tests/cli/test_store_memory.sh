#!/bin/sh
# Every command of fxtq while an allocation fails, its own or SQLite's: the answer it always gives, or status 4 and a sentence. What
# it writes to is as it was, or complete. tests/test_store_memory.c does the same within the library, where leaks are seen too.
set -eu

fail() {
    echo "$1" >&2
    exit 1
}
cd "$WORK"
cat >short.c <<'SOURCE'
#include <errno.h>
#include <stdlib.h>
/* The n-th allocation of the process fails, and only that one. */
static unsigned long calls, fail_at;
__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAIL_AT");
    fail_at = at ? strtoul(at, NULL, 10) : 0;
}
static int fails(void)
{
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != fail_at)
        return 0;
    errno = ENOMEM;
    return 1;
}
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
SOURCE
${CC:-cc} -O1 -shared -fPIC -o short.so short.c
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" drawn.fxtq 1 50
"$O/bench/fxtgen" --count 300 --stacks 30 --processes 1 >more.fxt
cp drawn.fxtq grown.fxtq
fxtq import -q more.fxt -o grown.fxtq
sqlite3 drawn.fxtq .dump | grep -v column_data >drawn.sql
sqlite3 grown.fxtq .dump | grep -v column_data >grown.sql

total=0
short() { # short COMMAND...: with each of its allocations failing, late ones not all
    "$@" >want 2>/dev/null || fail "$*: status $?"
    n=1
    failures=0
    while [ "$n" -lt 12000 ]; do
        prepare
        status=0
        FAIL_AT=$n LD_PRELOAD=$PWD/short.so "$@" >out 2>message || status=$?
        case $status in
        0) cmp -s out want || fail "$*: allocation $n: another answer" ;;
        4)
            grep -q 'memory\|cannot start a thread' message || fail "$*: allocation $n: $(cat message)"
            failures=$((failures + 1))
            ;;
        *) fail "$*: allocation $n: status $status, $(cat message)" ;;
        esac
        check
        n=$((n + 1 + n / 6))
    done
    [ "$failures" -gt 10 ] || fail "$*: only $failures allocations failed"
    total=$((total + failures))
}
prepare() { :; }
check() { :; }
for report in top tree 'callers .' 'callees .' heap threads cpu slices timeline damage 'heap --by function --hide std --show-from walk' \
    'timeline --hide .' 'threads --cpu 1' 'slices --cpu 1' 'top --tid 101 --sql'; do
    # shellcheck disable=SC2086 # callers takes a pattern
    short fxtq report $report drawn.fxtq
done
for format in box csv json markdown html; do
    short fxtq --format $format drawn.fxtq "SELECT * FROM call_top" "SELECT folded(id) FROM callsite LIMIT 9" "SELECT * FROM args LIMIT 9"
done
short fxtq coverage drawn.fxtq
short fxtq flamegraph drawn.fxtq -o -
short fxtq flamegraph --tid 101 drawn.fxtq -o -
short fxtq flamegraph --sample-type inuse_space --capture 2 drawn.fxtq -o -
short fxtq report top --sample-type alloc_space drawn.fxtq
short fxtq report heap --time 1, drawn.fxtq
short fxtq export folded -q drawn.fxtq
short fxtq export csv -q --cpu 1 drawn.fxtq
short fxtq more.fxt "SELECT count(*) FROM cpu_sample"

# What is written to.
prepare() {
    rm -f store.fxtq*
    cp drawn.fxtq store.fxtq
}
check() {
    sqlite3 store.fxtq .dump | grep -v column_data >now.sql
    cmp -s now.sql drawn.sql || { [ "$status" = 0 ] && cmp -s now.sql grown.sql; } || fail "allocation $n: the store is something else"
}
prepare
short fxtq import -q more.fxt -o store.fxtq
check() { [ "$(sqlite3 store.fxtq 'PRAGMA integrity_check')" = ok ] || fail "allocation $n: the store is not sound"; }
short fxtq symbolize -q --no-cache store.fxtq
echo "$total allocations failed"
