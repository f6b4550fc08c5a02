#!/bin/sh
# Callers by unwind tables against a stack that the program keeps itself: recursion, alloca(), realigned frames, callbacks, signal
# handlers, coroutines, longjmp(), tail calls, destructors and handlers of exceptions, the vDSO; however the program is built.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

. "$ROOT/tests/cli/x86_64.sh"

# ---- The program ----

cat >shadow.h <<'CODE'
#define NOINLINE __attribute__((noinline))
#ifdef __cplusplus
extern "C" {
#endif
extern int depth;                        /* of the stack of names */
void shadow_push(const char *name);
void shadow_pop(void);
int shadow_switch(int start);            /* the depth at which another stack begins; returns the old one */
void shadow_tell(const char *leaf);      /* print the stack */
void leaf_unseeing(void);
void catches(void);
void unseeing(void);
#ifdef __cplusplus
}
#endif
#define FRAME(...) \
    do { \
        shadow_push(__func__); \
        __VA_ARGS__; \
        shadow_pop(); \
    } while (0)
/* A function with much work, which tells the stack when it is called first.  */
#define LEAF(name) \
    NOINLINE void name(void) \
    { \
        static int told; \
        static volatile unsigned sum; \
        if (!told++) \
            shadow_tell(#name); \
        for (unsigned i = 0; i < 50000; i++) \
            sum += i * i; \
    }
CODE
# In a file of its own, so that the compiler cannot know what lies on it.
cat >shadow.c <<'CODE'
#include "shadow.h"
#include <stdio.h>
static const char *names[256];
static int start;
int depth;
void shadow_push(const char *name) { names[depth++] = name; }
void shadow_pop(void) { depth--; }
int shadow_switch(int to)
{
    int old = start;
    start = to;
    return old;
}
void shadow_tell(const char *leaf)
{
    for (int i = start; i < depth; i++)
        printf("%s;", names[i]);
    printf("%s\n", leaf);
}
CODE
cat >truth.c <<'CODE'
#define _GNU_SOURCE
#include "shadow.h"
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
static volatile unsigned sink;
LEAF(leaf_plain)
LEAF(leaf_deep)
LEAF(leaf_dynamic)
LEAF(leaf_aligned)
LEAF(leaf_sorted)
LEAF(leaf_handler)
LEAF(leaf_coroutine)
LEAF(leaf_jumping)
LEAF(leaf_jumped)
LEAF(leaf_tail)
LEAF(leaf_unseeing)
NOINLINE static void plain(void) { FRAME(leaf_plain()); }
NOINLINE static void deep(int n)
{
    FRAME(if (n > 0) deep(n - 1); else leaf_deep());
}
NOINLINE static void dynamic(size_t size)
{
    FRAME(volatile char *room = alloca(size); room[size - 1] = 1; leaf_dynamic(); sink += (unsigned)room[size - 1]);
}
NOINLINE static void aligned(void)
{
    FRAME(_Alignas(128) volatile char room[256]; room[0] = 1; leaf_aligned(); sink += (unsigned)room[0]);
}
static int compare(const void *a, const void *b)
{
    FRAME(leaf_sorted());
    return *(const int *)a - *(const int *)b;
}
NOINLINE static void sorts(void)
{
    int numbers[] = { 3, 1, 2 };
    FRAME(qsort(numbers, 3, sizeof *numbers, compare));
}
static void handle(int number)
{
    FRAME(sink += (unsigned)number; leaf_handler());
}
NOINLINE static void raises(void) { FRAME(raise(SIGUSR1)); }
static ucontext_t outside, inside;
static void coroutine(void)
{
    for (;;) {
        int old = shadow_switch(depth);
        FRAME(leaf_coroutine());
        (void)shadow_switch(old);
        swapcontext(&inside, &outside);
    }
}
NOINLINE static void switches(void) { FRAME(swapcontext(&outside, &inside)); }
static jmp_buf place;
NOINLINE static void jumps(void)
{
    FRAME(leaf_jumping(); shadow_pop(); longjmp(place, 1));
}
NOINLINE static void jumped(void)
{
    FRAME(if (setjmp(place) == 0) jumps(); leaf_jumped());
}
NOINLINE static void tail(void) { leaf_tail(); }
NOINLINE static void tails(void) { FRAME(tail()); }
NOINLINE static void timed(void)
{
    struct timespec now;
    FRAME(for (int i = 0; i < 2000; i++) sink += (unsigned)clock_gettime(CLOCK_MONOTONIC, &now));
}
int main(int argc, char **argv)
{
    static char stack[1 << 16];
    double end = strtod(argv[1], NULL) * CLOCKS_PER_SEC;
    struct sigaction action = { .sa_handler = handle };
    sigaction(SIGUSR1, &action, NULL);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, coroutine, 0);
    shadow_push("main");
    while (clock() < end) {
        plain();
        deep(30);
        dynamic((size_t)argc * 1000);
        aligned();
        sorts();
        raises();
        switches();
        jumped();
        tails();
        timed();
        catches();
        unseeing();
    }
    return 0;
}
CODE
cat >throws.cc <<'CODE'
#include "shadow.h"
LEAF(leaf_destructor)
LEAF(leaf_caught)
struct guard {
    int old;
    guard() : old(depth) {}
    NOINLINE ~guard()
    {
        depth = old; /* what lay above is gone */
        FRAME(leaf_destructor());
    }
};
NOINLINE static void throws(void) { FRAME(throw 1); }
NOINLINE static void guarded(void)
{
    shadow_push(__func__);
    guard here;
    throws();
}
void catches(void)
{
    shadow_push(__func__);
    int old = depth;
    try {
        guarded();
    } catch (int) {
        depth = old;
        leaf_caught();
    }
    shadow_pop();
}
CODE
cat >unseeing.cc <<'CODE'
#include "shadow.h"
void unseeing(void) { FRAME(leaf_unseeing()); }
CODE

# ---- Sampled and kept ----

# Of each stack with a function that the program has told of, the functions that keep the stack are those that it told, in the same
# order.  Functions of libraries lie between.  In the vDSO, the caller is a function that calls it.  With --unwind auto, a few stacks
# may end early, since the size of copies is what nearly all need.
cat >compare.py <<'PY'
import re, sys
kept = {line.split(";")[-1]: line.split(";") for line in open("kept").read().split()}
known = {name for stack in kept.values() for name in stack} | {"timed"}
total = vdso = cut = 0
strange = []
for line in open("folded"):
    stack, value = line.rsplit(" ", 1)
    names = ["~guard" if "~" in name else re.sub(r"\(.*", "", name) for name in stack.split(";")]
    leaf = next((name for name in names if name.startswith("leaf_")), None)
    seen = [name for name in names if name in known]
    if leaf:
        seen = seen[:seen.index(leaf) + 1]
        right = seen == kept.get(leaf)
        if not right and sys.argv[1] == "auto" and seen == kept.get(leaf, [])[-len(seen):]:
            cut += int(value)
            right = True
    elif "[vdso]" in names[-1]:
        right = seen in (["main", "timed"], ["main"])
        vdso += int(value)
    else:
        continue
    total += int(value)
    if not right:
        strange.append(line)
if strange or cut * 2 > total or total < 100 or len(kept) < 13:
    sys.exit("%d stacks of %d functions, %d in the vDSO, %d cut; strange: %s" % (total, len(kept), vdso, cut, "".join(strange[:3])))
PY
builds() { # builds COMPILER... -- FLAGS FOR unseeing.cc
    compiler='' blind=''
    while [ "$1" != -- ]; do compiler="$compiler $1" && shift; done
    shift
    blind=$*
    # shellcheck disable=SC2086 # words
    {
        $compiler -g -c -x c shadow.c -o shadow.o && $compiler -g -c -x c truth.c -o truth.o && $compiler -g -c -x c++ throws.cc -o throws.o &&
            $compiler -g -c -x c++ unseeing.cc $blind -o unseeing.o && $compiler shadow.o truth.o throws.o unseeing.o -o truth
    } 2>err || fail "$compiler: $(cat err)"
    for how in dwarf auto; do
        sampler-capture cpu -F 2000 --unwind "$how" -o truth.fxt -- ./truth 0.25 >kept 2>err || fail "$compiler: $(cat err)"
        fxt2pprof -q -f folded --sample-type samples -o folded truth.fxt 2>messages || fail "$compiler: $(cat messages)"
        python3 compare.py "$how" || fail "$compiler $blind: stacks differ from those that the program kept"
    done
}
builds g++ -O2 -fomit-frame-pointer --
builds g++ -O3 -fomit-frame-pointer --
builds g++ -O2 -fno-omit-frame-pointer --
builds g++ -O2 -static --
builds g++ -O2 -static-pie -fPIE --
builds g++ -O2 -fcf-protection=full --
builds clang++ -O2 -fuse-ld=lld --
# One file without tables of each instruction: a file of C++ has those of its calls all the same, which are enough.
builds g++ -O2 -fomit-frame-pointer -- -fno-asynchronous-unwind-tables
# Without any, the instructions say where the callers are.
builds g++ -O2 -fomit-frame-pointer -- -fno-asynchronous-unwind-tables -fno-exceptions
