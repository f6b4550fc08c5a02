#!/bin/sh
# Callers of code that no unwind table covers: assembler, and a C library without tables.  They are read from the instructions with
# which the code returns; where these do not say it, the stack ends there, and the file is named.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

. "$ROOT/tests/cli/x86_64.sh"

cat >code.s <<'CODE'
        .text
        .macro function name
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .endm
        function pads
        sub $8, %rsp
        call leaf
        add $8, %rsp
        ret
        function saves                  # and uses the frame pointer for something else
        push %rbx
        push %rbp
        sub $56, %rsp
        xor %ebp, %ebp
        call leaf
        add $56, %rsp
        pop %rbp
        pop %rbx
        ret
        function aligns
        push %rbp
        mov %rsp, %rax
        and $-64, %rsp
        sub $64, %rsp
        mov %rax, (%rsp)
        mov %rsp, %rbp
        sub $64, %rsp
        call leaf
        mov %rbp, %rsp
        pop %rsp
        pop %rbp
        ret
        function stops                  # the call never comes back
        push %r12
        sub $16, %rsp
        call forever
        function loops
        push %r12
        push %r13
1:      imul %edi, %eax
        dec %edi
        jnz 1b
        pop %r13
        pop %r12
        ret
        function hides                  # where its stack was says nothing but memory
        mov %rsp, hidden(%rip)
        lea room_end-64(%rip), %rsp
        call leaf
        mov hidden(%rip), %rsp
        ret
        .bss
hidden: .skip 8
        .p2align 6
        .skip 65536
room_end:
        .section .note.GNU-stack, "", @progbits
CODE
cat >main.c <<'CODE'
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned sink;
static double end;
void pads(unsigned n);
void saves(unsigned n);
void aligns(unsigned n);
void stops(unsigned n);
void loops(unsigned n);
void hides(unsigned n);
__attribute__((noinline)) void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
}
__attribute__((noinline)) void forever(unsigned n)
{
    while ((double)clock() < end)
        leaf(n);
    exit(0);
}
static const struct {
    const char *name;
    void (*call)(unsigned n);
} all[] = { { "pads", pads }, { "saves", saves }, { "aligns", aligns }, { "stops", stops }, { "loops", loops }, { "hides", hides } };
__attribute__((noinline)) static void outer(const char *name)
{
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            all[i].call(200000);
    sink++;
}
int main(int argc, char **argv)
{
    end = (double)clock() + 0.15 * CLOCKS_PER_SEC;
    while ((double)clock() < end)
        outer(argv[argc - 1]);
    return 0;
}
CODE

number() { # number KEY: of the stacks in stats.json
    sed -n 's/.*"stacks":{\([^}]*\)}.*/,\1,/; s/.*,"'"$1"'":\([0-9]*\),.*/\1/p' stats.json | grep . || fail "no $1 in $(cat stats.json)"
}
whole() { echo $(($(number whole) + $(number continued) + $(number joined))); }
captures() { # captures HOW COMMAND...
    how=$1
    shift
    sampler-capture cpu -F 2000 --unwind "$how" --stats-json stats.json -o out.fxt -- "$@" >out 2>err || fail "$*: status $?: $(cat err)"
    all=$(number all)
    [ "$all" -ge 50 ] || fail "$*: only $all stacks"
    fxt2pprof -q -f folded --sample-type samples -o folded out.fxt 2>err.names || fail "$*: $(cat err.names)"
}
# Of the samples in a stack with LEAF, nearly all match.
matches() { # matches WHAT LEAF REGEX
    awk -v leaf="$2" -v wanted="$3" '$0 ~ leaf { all += $NF; if ($0 ~ wanted) found += $NF } END { exit !(all >= 30 && found >= 0.95 * all) }' folded ||
        fail "$1: $(grep -E "$2" folded | grep -vE "$3" | head -n 3) $(cat err)"
}

# ---- The same programs, recorded by perf: the file has the instructions ----

if perf record -q -e cpu-clock:u -F 999 -o probe.data -- true >err 2>&1; then has_perf=1; else has_perf=; fi
records() { # records COMMAND...
    perf record -q -e cpu-clock:u -F 1999 --call-graph dwarf,16384 -o perf.data -- "$@" >out 2>err || fail "perf, $*: status $?: $(cat err)"
    fxt2pprof -f folded --sample-type samples -o folded perf.data 2>err || fail "perf, $*: $(cat err)"
}

# ---- Assembler, in programs with and without frame pointers ----

for flags in -fomit-frame-pointer -fno-omit-frame-pointer; do
    "${CC:-cc}" -O2 -g "$flags" -o work main.c code.s
    for how in dwarf auto; do
        for name in pads saves aligns stops loops; do
            captures "$how" ./work "$name"
            [ $(($(whole) * 100)) -ge $((all * 95)) ] || fail "$flags, $how, $name: $(whole) of $all stacks are whole: $(cat err)"
            matches "$flags, $how, $name" ";$name" ";main;outer;$name(;leaf|;forever[^ ]*)? "
        done
    done
done

if [ -n "$has_perf" ]; then
    "${CC:-cc}" -O2 -g -fomit-frame-pointer -o work main.c code.s
    for name in pads saves aligns stops loops; do
        records ./work "$name"
        matches "perf, $name" ";$name" ";main;outer;$name(;leaf|;forever[^ ]*)? "
    done
fi

# ---- The stack ends where instructions do not say where the caller is, and the file is named ----

"${CC:-cc}" -O2 -g -fomit-frame-pointer -o work main.c code.s
captures dwarf ./work hides
[ $(($(number no_table) * 100)) -ge $((all * 80)) ] || fail "hides: $(cat stats.json)"
says "cut in $WORK/work"
matches hides ';hides' '^work;hides;leaf '

# ---- A C library without tables ----

if command -v musl-gcc >/dev/null; then
    cat >sorts.c <<'CODE'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
}
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    leaf(20000);
    sink++;
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void *outer(void *unused)
{
    int numbers[] = { 3, 1, 2 };
    clock_t end = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < end)
        qsort(numbers, 3, sizeof *numbers, compare);
    return unused;
}
int main(void)
{
    pthread_t thread;
    (void)outer(NULL);
    return pthread_create(&thread, NULL, outer, NULL) || pthread_join(thread, NULL);
}
CODE
    for flags in "" -static; do
        # shellcheck disable=SC2086 # none or one
        musl-gcc -O2 -g $flags -o musl sorts.c || fail "musl-gcc $flags"
        for how in dwarf auto; do
            captures "$how" ./musl
            [ $(($(whole) * 100)) -ge $((all * 95)) ] || fail "musl $flags, $how: $(whole) of $all stacks are whole: $(cat err)"
            matches "musl $flags, $how" ';leaf ' ';outer;.*compare;leaf '
            matches "musl $flags, $how" ';main' '_start.*;main;outer'
        done
        if [ -n "$has_perf" ]; then
            records ./musl
            matches "perf, musl $flags" ';leaf ' ';outer;.*compare;leaf '
        fi
    done
fi
