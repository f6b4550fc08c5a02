#!/bin/sh
# fxtdiff on real captures: a program against itself never fails; against a build in which one function does 15 % more work, that
# function is found and named, and no other.
#
# FXT_TEST_LONG=1: ten comparisons of each kind, of longer runs, instead of one, which may be tried again: a verdict is wrong with a
# probability of a few percent, and a machine shared with others errs more often.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

# Twelve functions with shares from 30 % down to 2 %, each work of its own kind; DEARER makes checksum, a tenth of all, do 15 % more.
cat >program.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEARER
#define DEARER 100
#endif

static uint64_t cells[4096];
static volatile uint64_t sink;

#define WORK(name, expression)                                                                      \
    __attribute__((noinline)) static void name(unsigned rounds)                                     \
    {                                                                                               \
        uint64_t x = cells[rounds & 4095] + 1;                                                      \
        for (unsigned i = 0; i < rounds; i++)                                                       \
            x = expression;                                                                         \
        sink = x;                                                                                   \
    }

WORK(parse_header, (x ^ x << 13) + i)
WORK(decode_block, x * 6364136223846793005u + 1442695040888963407u)
WORK(checksum, (x >> 3 ^ x << 5) + cells[i & 4095])
WORK(lookup, cells[(x + i) & 4095] + x)
WORK(compress, (x + (x >> 7)) * 31)
WORK(expand, x + (x << 3) + i * 7)
WORK(sort_rows, x ^ cells[(i * 7) & 4095])
WORK(merge_rows, (x << 1 | x >> 63) + i)
WORK(hash_key, (x ^ x >> 33) * 0xff51afd7ed558ccdu)
WORK(copy_text, x + cells[i & 63])
WORK(log_entry, x - (i ^ x >> 2))
WORK(tidy, x * 3 + 1)

/* Pieces of uneven length: a loop that always takes the same time runs in step with the sampling clock. */
static unsigned uneven(unsigned rounds)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(rounds * (state >> 33 & 1023) / 512);
}

__attribute__((noinline)) static void serve(void)
{
    parse_header(uneven(18000));
    decode_block(uneven(12000));
    checksum(uneven(6000) * DEARER / 100);
    lookup(uneven(3000));
    compress(uneven(2500));
    expand(uneven(5000));
    sort_rows(uneven(4000));
    merge_rows(uneven(4000));
    hash_key(uneven(2000));
    copy_text(uneven(2500));
    log_entry(uneven(2000));
    tidy(uneven(1800));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;

    for (int i = 0; i < 4096; i++)
        cells[i] = (uint64_t)i * 2654435761u;
    while (rounds-- > 0)
        serve();
    return sink == 42;
}
END
flags='-O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-inline'
# shellcheck disable=SC2086 # flags
${CC:-cc} $flags -o same program.c
# shellcheck disable=SC2086
${CC:-cc} $flags -DDEARER=115 -o dearer program.c

times=1 rounds=5500 frequency=20000
again=1
if [ -n "${FXT_TEST_LONG:-}" ]; then times=10 rounds=20000 again=0; fi

# The total of a shared machine says little: what is looked at here are the functions.
compare() { # compare NEW: the status of a comparison with ./same
    status=0
    fxtdiff run -n 5 -F $frequency --warm-up 1 --min-total 40% --base "./same $rounds" --new "$1 $rounds" >out 2>err || status=$?
    [ $status -le 1 ] || [ $status -eq 5 ] || fail "status $status: $(cat out err)"
}

for i in $(seq $times); do
    compare ./same
    if [ $status -eq 1 ] && [ $again -eq 1 ]; then
        cat out
        again=0
        compare ./same
    fi
    [ $status -ne 1 ] || fail "a program against itself, comparison $i: $(cat out)"
done

# Found with a probability of 80 % and more, and twice missed once in 25.
found=0 tried=0
while [ $tried -lt $times ] || { [ $found -eq 0 ] && [ $tried -lt 2 ]; }; do
    tried=$((tried + 1))
    compare ./dearer
    [ $status -eq 1 ] || continue
    if [ $times -eq 1 ] && [ $tried -eq 1 ] && [ "$(grep -c ' self  *dearer ' out)" -ne 1 ]; then continue; fi
    grep -q ' self  *dearer  *checksum ' out || fail "comparison $tried does not name checksum: $(cat out)"
    [ "$(grep -c ' self  *dearer ' out)" -eq 1 ] || fail "comparison $tried blames others: $(cat out)"
    grep -q 'checksum  *[^ ]*program\.c:[0-9]' out || fail "comparison $tried does not say where: $(cat out)"
    found=$((found + 1))
done
[ $((found * 10)) -ge $((times * 8)) ] || fail "found $found of $tried times: $(cat out)"
echo "found $found of $tried times"
