#!/bin/sh
# Callers at each instruction of functions, prologues and epilogues among them, against those that gdb finds.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/x86_64.sh"

command -v gdb >/dev/null || {
    echo "SKIP: gdb is not here"
    exit 0
}
cat >steps.c <<'CODE'
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
volatile unsigned sink;
NOINLINE unsigned leaf(unsigned a) { sink += a; return sink * 3; }
NOINLINE unsigned plain(unsigned a) { return leaf(a) + leaf(a + 1); }
NOINLINE unsigned saves(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d);
    return leaf(e + f) + e * f + g * h + leaf(g) + a * b * c * d;
}
NOINLINE unsigned dynamic(size_t size)
{
    volatile char *room = alloca(size);
    room[size - 1] = 1;
    return leaf(room[size - 1]) + leaf(2);
}
NOINLINE unsigned aligned(unsigned a)
{
    _Alignas(128) volatile char room[256];
    room[a] = 1;
    return leaf(room[a]) + leaf(3);
}
NOINLINE unsigned large(unsigned a)
{
    volatile char room[20000];
    room[a] = 1;
    return leaf(room[a]) + 1;
}
NOINLINE unsigned early(unsigned a)
{
    if (a == 1)
        return 5;
    return leaf(a) + leaf(a + 7);
}
NOINLINE unsigned tail(unsigned a) { sink++; return plain(a + 1); }
NOINLINE unsigned many(int count, ...)
{
    va_list list;
    unsigned sum = 0;
    va_start(list, count);
    while (count-- > 0)
        sum += leaf(va_arg(list, unsigned));
    va_end(list);
    return sum;
}
NOINLINE double floats(double a, double b) { return a * b + leaf((unsigned)a); }
NOINLINE unsigned recursive(unsigned n) { return n ? recursive(n - 1) + leaf(n) : leaf(1); }
NOINLINE int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
NOINLINE void sorts(void)
{
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof *numbers, compare);
}
NOINLINE void through_plt(void) { sink += (unsigned)labs(-(long)sink) + (unsigned)strtol("12", NULL, 10); }
NOINLINE void handler(int number) { sink += (unsigned)number; }
NOINLINE void raises(void) { raise(SIGUSR1); }
static jmp_buf place;
NOINLINE void jumps(void) { leaf(1); longjmp(place, 1); }
NOINLINE void jumped(void)
{
    if (setjmp(place) == 0)
        jumps();
}
int main(int argc, char **argv)
{
    (void)argv;
    signal(SIGUSR1, handler);
    plain(1);
    saves(1, 2, 3, 4);
    dynamic((size_t)argc * 100);
    aligned((unsigned)argc);
    large((unsigned)argc);
    early(1);
    tail(1);
    many(7, 1, 2, 3, 4, 5, 6, 7);
    sink += (unsigned)floats(1.5, 2);
    recursive(3);
    sorts();
    through_plt();
    raises();
    jumped();
    return 0;
}
CODE

# Functions in the order in which main() calls them.
functions="plain saves dynamic aligned large early tail many floats recursive compare through_plt handler jumped"
for build in "-O2 -fomit-frame-pointer" "-O2 -fno-omit-frame-pointer" "-O0" "-O2 -Wl,-z,lazy" "-O2 -fno-plt -static" "-O2 -fcf-protection=full"; do
    # shellcheck disable=SC2086 # options
    "${CC:-cc}" $build -g -o steps steps.c 2>/dev/null
    gdb -q -batch -nx -iex "set auto-load off" -ex "python FUNCTIONS='$functions'; OUT='stacks'; STEPS=120" -x "$ROOT/tests/tools/gdb_stacks.py" \
        ./steps >gdb-out 2>&1 || :
    grep -q '^F' stacks 2>/dev/null || {
        echo "SKIP: gdb does not run programs here"
        exit 0
    }
    "$O/tests/tools/unwind_gdb" stacks >result || fail "$build: $(grep -A2 differs result | head -n 12)"
    for function in $functions; do
        awk -F'\t' -v wanted="$function" '$1 == wanted && $2 >= 3 { found = 1 } END { exit !found }' result ||
            fail "$build: gdb did not step through $function(): $(cat gdb-out result)"
    done
    rm stacks
done
finish
