#!/bin/sh
# Callers in programs without frame pointers, by unwind tables: of a program whose stacks are known, however it is built and found.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

. "$ROOT/tests/cli/x86_64.sh"

# main() calls outer() calls qsort() calls compare() calls leaf(), a function of the C library among them: memset().
cat >work.c <<'CODE'
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned sink;
static char room[1 << 14];
__attribute__((noinline)) static void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
    memset(room, (int)n, sizeof room);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    leaf(20000);
    sink++;
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void outer(int depth)
{
    volatile char pad[256];
    int numbers[] = { 3, 1, 2 };
    pad[0] = (char)depth;
    if (depth > 0)
        outer(depth - 1);
    else
        qsort(numbers, 3, sizeof *numbers, compare);
    sink += (unsigned)pad[0];
}
static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
    double end = cpu() + strtod(argv[1], NULL);
    while (cpu() < end)
        outer(argc > 2 ? atoi(argv[2]) : 0);
    return 0;
}
CODE

number() { # number KEY: of the stacks in stats.json
    sed -n 's/.*"stacks":{\([^}]*\)}.*/,\1,/; s/.*,"'"$1"'":\([0-9]*\),.*/\1/p' stats.json | grep . || fail "no $1 in $(cat stats.json)"
}
# How many samples of TRACE have a stack that matches, in percent.
share() { # share TRACE REGEX
    fxt2pprof -f folded "$1" 2>/dev/null |
        awk -v wanted="$2" '{ all += $NF; if ($0 ~ wanted) found += $NF } END { printf "%d\n", all ? 100 * found / all : 0 }'
}
whole='main;outer;[^ ]*compare;leaf'
capture() { # capture NAME COMMAND...: with tables; nearly all stacks are whole and right
    name=$1
    shift
    sampler-capture cpu -F 2000 --unwind dwarf --stats-json stats.json -o "$name.fxt" -- "$@" >out 2>err || fail "$name: status $?: $(cat err)"
    python3 "$ROOT/tests/fxt_rules.py" --allow 14-id "$name.fxt" >rules || fail "the rules for writers: $(head -n 3 rules)"
    all=$(number all)
    good=$(($(number whole) + $(number continued)))
    [ "$all" -ge 100 ] || fail "$name: only $all stacks"
    [ $((good * 100)) -ge $((all * 97)) ] || fail "$name: $good of $all stacks are whole: $(cat err)"
    says "stacks reach the thread's start"
}

# ---- Builds ----

for build in "-O2 -fomit-frame-pointer" "-O3" "-O1 -fno-omit-frame-pointer" "-O2 -static" "-O2 -static-pie -fPIE" \
    "-O2 -fno-plt -Wl,-z,now" "-O2 -fcf-protection=full"; do
    # shellcheck disable=SC2086 # options
    "${CC:-cc}" $build -g -o work work.c
    capture build ./work 0.15
    [ "$(share build.fxt "$whole")" -ge 90 ] || fail "$build: only $(share build.fxt "$whole") % have the right callers"
done
clang -O2 -g -fuse-ld=lld -o work-lld work.c
capture lld ./work-lld 0.15
[ "$(share lld.fxt "$whole")" -ge 90 ] || fail "lld: only $(share lld.fxt "$whole") % have the right callers"

# The kernel alone finds no such stacks.
"${CC:-cc}" -O2 -fomit-frame-pointer -g -o work work.c
sampler-capture cpu --unwind fp -o fp.fxt -- ./work 0.15 2>err
says "use --unwind auto"
[ "$(share fp.fxt "$whole")" -le 10 ] || fail "frame pointers find callers where there are none"

# ---- As much of stacks as is needed (auto) ----

cat >deep.c <<'CODE'
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned sink;
static char room[1 << 14];
__attribute__((noinline)) static void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
    memset(room, (int)n, sizeof room);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void outer(int depth)
{
    volatile char pad[256];
    pad[0] = (char)depth;
    if (depth > 0)
        outer(depth - 1);
    else
        for (int i = 0; i < 20; i++)
            leaf(5000);
    sink += (unsigned)pad[0];
}
int main(int argc, char **argv)
{
    while (clock() < strtod(argv[1], NULL) * CLOCKS_PER_SEC)
        outer(argc > 2 ? atoi(argv[2]) : 0);
    return 0;
}
CODE
adapts() { # adapts SECONDS DEPTH FLAG...: with the statistics of a capture of deep.c
    seconds=$1
    depth=$2
    shift 2
    "${CC:-cc}" -O2 -g "$@" -o deep deep.c
    sampler-capture cpu -F 2000 --stats-json stats.json -o deep.fxt -- ./deep "$seconds" "$depth" 2>err || fail "auto: status $?: $(cat err)"
    all=$(number all)
    [ "$all" -ge 200 ] || fail "$*: only $all stacks"
}
reaching() { echo $(($(number whole) + $(number continued) + $(number joined))); }
# With frame pointers small copies are enough, the C library's functions at both ends included, also for more than 32 KiB.  Stacks
# of 6 KiB fit into copies of 12 KiB, which are tried after a second.
for depth in 20 100; do
    copies=small seconds=0.5
    if [ $depth -eq 20 ]; then copies=fitting seconds=2.5; fi
    adapts $seconds $depth -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
    [ $(($(number $copies) * 100)) -ge $((all * 40)) ] || fail "with frame pointers only $(number $copies) of $all copies are $copies: $(cat stats.json)"
    [ $(($(reaching) * 100)) -ge $((all * 97)) ] || fail "with frame pointers $(reaching) of $all stacks are complete: $(cat err)"
    [ "$(share deep.fxt 'start;[^;]*;[^;]*;main;outer;(outer;)*leaf')" -ge 90 ] || fail "with frame pointers only $(share deep.fxt 'start;[^;]*;[^;]*;main;outer;(outer;)*leaf') %"
    [ "$(share deep.fxt 'leaf;([^;]*memset|[[]libc)')" -gt 0 ] || fail "the caller of memset() is missing"
done
# Without, copies are as large as the stacks.
adapts 2.5 20 -fomit-frame-pointer
[ "$(number small)" -eq 0 ] || fail "without frame pointers $(number small) of $all copies are small"
[ $(($(number fitting) * 100)) -ge $((all * 40)) ] || fail "without frame pointers only $(number fitting) of $all copies fit: $(cat stats.json)"
[ $(($(reaching) * 100)) -ge $((all * 97)) ] || fail "without frame pointers $(reaching) of $all stacks are complete: $(cat err)"
adapts 0.5 150 -fomit-frame-pointer
[ $(($(reaching) * 100)) -ge $((all * 60)) ] || fail "of stacks of 40 KiB $(reaching) of $all are complete: $(cat err)"
fxtdump deep.fxt 2>/dev/null | grep -q 'unwind.*auto' || fail "the trace does not say how callers were found"

# ---- Stacks that do not fit, and files without tables ----

capture deep ./work 0.15 90
sampler-capture cpu -F 2000 --unwind dwarf --stack-size 4k --stats-json stats.json -o cut.fxt -- ./work 0.15 90 2>err
[ "$(number no_stack)" -gt $(($(number all) / 2)) ] || fail "copies of 4 KiB hold everything: $(cat stats.json)"
says "raise --stack-size"
fxtdump cut.fxt 2>/dev/null | grep -q 'no_stack' || fail "the trace does not say how stacks ended"

# Without frame pointers and tables in one file the instructions say where the callers are.
# tests/cli/test_capture_unwind_assembler.sh has code that does not say it.
"${CC:-cc}" -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -g -o no-tables work.c
capture no-tables ./no-tables 0.15
[ "$(share no-tables.fxt "$whole")" -ge 90 ] || fail "without tables only $(share no-tables.fxt "$whole") % have the right callers"

# A signal handler on a stack of its own: the interrupted one is not copied, and a larger copy would not help.
cat >handler.c <<'CODE'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned sink;
static void handle(int number)
{
    for (unsigned i = 0; i < 500000; i++)
        sink += i * (unsigned)number;
}
int main(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    while (clock() < CLOCKS_PER_SEC / 4)
        raise(SIGUSR1);
    return 0;
}
CODE
"${CC:-cc}" -O2 -g -o handler handler.c
sampler-capture cpu -F 2000 --unwind dwarf --stats-json stats.json -o handler.fxt -- ./handler 2>err
[ "$(number other_stack)" -gt $(($(number all) / 2)) ] || fail "the interrupted stack is there: $(cat stats.json)"
says "on another stack"
if grep -q "raise --stack-size" err; then fail "a larger copy does not help: $(cat err)"; fi
[ "$(share handler.fxt ';handle$')" -eq 0 ] || fail "callers of the handler out of nowhere"

# ---- Ways to find a program ----

./work 1.5 &
sampler-capture cpu --unwind dwarf -p $! --stats-json stats.json -o attached.fxt 2>err || fail "-p: $(cat err)"
[ "$(share attached.fxt "$whole")" -ge 90 ] || fail "-p: only $(share attached.fxt "$whole") %"
sampler-capture cpu --unwind dwarf --mode circular --buffer-size 64k -o circular.fxt -- ./work 0.5 2>err || fail "circular: $(cat err)"
[ "$(share circular.fxt "$whole")" -ge 90 ] || fail "circular: only $(share circular.fxt "$whole") %"
sampler-capture cpu --unwind dwarf --layout profiler -o profiler.fxt -- ./work 0.15 2>err || fail "profiler: $(cat err)"
[ "$(share profiler.fxt "$whole")" -ge 90 ] || fail "--layout profiler: only $(share profiler.fxt "$whole") %"
# Children, each an incarnation of its own.
cat >children.sh <<'CODE'
for _ in 1 2 3; do ./work 0.1; done
CODE
capture children sh children.sh
[ "$(share children.fxt "$whole")" -ge 80 ] || fail "children: only $(share children.fxt "$whole") %"

# ---- The command line ----

refused() { # refused TEXT OPTION...
    text=$1
    shift
    sampler-capture cpu "$@" -o x.fxt -- true 2>err && fail "accepted: $*"
    says "$text"
}
refused "--stack-size is for --unwind auto and dwarf" --unwind fp --stack-size 8k
refused "--stack-size" --unwind dwarf --stack-size 100
refused "--stack-size" --unwind dwarf --stack-size 1M
refused "--unwind" --unwind tables

# ---- By frame pointers: what they miss is said ----

# Half of it in a function of the C library that has no frame pointer, though the program has them; half in main().
cat >strings.c <<'CODE'
#include <string.h>
#include <time.h>
static char text[1 << 16];
static volatile size_t sum;
int main(int argc, char **argv)
{
    (void)argv;
    memset(text, 'x', sizeof text - 1);
    while (clock() < CLOCKS_PER_SEC / 5) {
        for (volatile int i = 0; i < 100000; i++)
            sum += (size_t)i;
        for (int i = 0; argc > 1 && i < 300; i++)
            sum += strlen(text);
    }
    return 0;
}
CODE
"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-builtin -o strings strings.c
if [ "$(uname -m)" = x86_64 ]; then
    sampler-capture cpu --unwind fp --stats-json fp.json -o strings.fxt -- ./strings library 2>err || fail "strings: $(cat err)"
    grep -q ' % of samples are in functions without a frame pointer, .*--unwind auto finds them: [^ ]*libc' err || fail "strings: $(cat err)"
    grep -q '"samples_without_frame_pointer":[1-9][0-9]' fp.json || fail "strings: $(cat fp.json)"
    sampler-capture cpu --unwind fp -o strings.fxt -- ./strings 2>err || fail "strings: $(cat err)"
    if grep -q 'without a frame pointer.*/strings ([1-9][0-9]' err; then fail "main() has one: $(cat err)"; fi
    sampler-capture cpu --unwind dwarf -o strings.fxt -- ./strings library 2>err || fail "strings: $(cat err)"
    if grep -q 'without a frame pointer' err; then fail "tables need none: $(cat err)"; fi
fi
