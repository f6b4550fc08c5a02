#!/bin/sh
# fxtdiff on real captures: a program against itself never fails; against a build in which one function does half as much work again,
# that function is found and named, and no other.  (15 % more with FXT_TEST_LONG: on a machine that others load, runs vary by more.)
#
# Alone: a program that runs beside it changes what both builds measure.
#
# FXT_TEST_LONG=1: ten comparisons of each kind, of longer runs, instead of one.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

# Twelve functions with shares from 30 % down to 2 %, each work of its own kind; REGRESSED, in percent, is what checksum, a tenth of all, does.
cat >program.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef REGRESSED
#define REGRESSED 100
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
    checksum(uneven(6000) * REGRESSED / 100);
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

times=1 rounds=5500 frequency=20000 regressed=150
if [ -n "${FXT_TEST_LONG:-}" ]; then times=10 rounds=20000 regressed=115; fi
# shellcheck disable=SC2086
${CC:-cc} $flags -DREGRESSED=$regressed -o regressed program.c

# The total of a shared machine says little: what is looked at here are the functions.
compare() { # compare NEW: the status of a comparison with ./same
    status=0
    fxtdiff run -n 5 -F $frequency --warm-up 1 --min-total 40% --base "./same $rounds" --new "$1 $rounds" >out 2>err || status=$?
    [ $status -le 1 ] || [ $status -eq 5 ] || fail "status $status: $(cat out err)"
}

passes_itself() {
    compare ./same
    [ $status -ne 1 ]
}

finds_regressed() {
    compare ./regressed
    [ $status -eq 1 ] || return 1
    if ! grep -q ' self  *regressed  *checksum ' out || [ "$(grep -c ' self  *regressed ' out)" -ne 1 ]; then return 1; fi
    grep -q 'checksum  *[^ ]*program\.c:[0-9]' out || fail "it does not say where: $(cat out)"
}

# A verdict is wrong by chance: in 1 to 2 of 100 comparisons (docs/comparison.md, section 6), in 3 on a machine that others load.  What
# is wrong by itself is so most times.  So one that is right is taken, and after one that is wrong most of 7 others decide, which err
# with a probability of 1e-5 where each errs in 5 of 100.
settle() { # settle CHECK
    if "$1"; then return; fi
    cat out
    right=0 wrong=0
    while [ $right -lt 4 ] && [ $wrong -lt 4 ]; do
        if "$1"; then right=$((right + 1)); else wrong=$((wrong + 1)); fi
    done
    [ $right -eq 4 ] || fail "$1: wrong $((wrong + 1)) times of $((wrong + right + 1)), the last time: $(cat out)"
}

if [ $times -eq 1 ]; then
    settle passes_itself
    settle finds_regressed
    exit 0
fi
for i in $(seq $times); do
    passes_itself || fail "a program against itself, comparison $i: $(cat out)"
done
found=0
for i in $(seq $times); do
    if finds_regressed; then found=$((found + 1)); elif [ $status -eq 1 ]; then fail "comparison $i blames others: $(cat out)"; fi
done
[ $((found * 10)) -ge $((times * 8)) ] || fail "found $found of $times times"
echo "found $found of $times times"
