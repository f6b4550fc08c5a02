#!/bin/sh
# fxtq lets its heap be in huge pages, and leaves it as it is where address space is limited.
set -eu

fail() {
    echo "FAIL: $1"
    exit 1
}

cd "$WORK"
if [ ! -e /sys/kernel/mm/transparent_hugepage/enabled ]; then
    echo "SKIP: Linux has no huge pages here"
    exit 0
fi
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" run.fxtq 3 200

# The flags of all parts of the heap, while fxtq waits for somebody who reads its output.
flags_of_heap() { # LIMIT
    prlimit --as="$1" sh -c 'echo $$ >pid; exec "$@"' sh fxtq --no-header run.fxtq \
        'WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n' | {
        read -r first
        [ "$first" = 1 ] || fail "the first number is $first"
        awk '/^[0-9a-f]+-/ { is_heap = /\[heap\]/ } is_heap && /^VmFlags/' "/proc/$(cat pid)/smaps" >flags
        tail -n 1 >last
    }
    [ "$(cat last)" = 100000 ] || fail "the last number is $(cat last)"
}

flags_of_heap unlimited
grep -qw hg flags || fail "no part of the heap may be in huge pages: $(cat flags)"
flags_of_heap 2000000000
if grep -qw hg flags; then
    fail "address space is limited, and the heap may be in huge pages: $(cat flags)"
fi
