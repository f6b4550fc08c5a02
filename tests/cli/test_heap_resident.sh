#!/bin/sh
# What of the resident set a heap profile explains: the capture has the kernel's own number, and the summary and the report compare.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

# resident MALLOC MMAP: so many MiB of each are written to; prints its VmHWM in KiB.
cat >resident.c <<'EOF2'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    size_t allocated = (size_t)atoi(argv[1]) << 20, mapped = (size_t)atoi(argv[2]) << 20;
    char *volatile block = malloc(allocated + 1);
    char *memory = mmap(NULL, mapped + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char line[256];
    FILE *file;

    if (argc < 3 || memory == MAP_FAILED)
        return 2;
    memset(block, 1, allocated);
    memset(memory, 1, mapped);
    file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            printf("%ld\n", atol(line + 6));
    fflush(stdout);
    if (argc > 3) { /* without a word to the capture, once that has looked */
        for (int i = 0; i < 6000 && access("looked", F_OK) != 0; i++)
            usleep(100000);
        _exit(0);
    }
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o resident resident.c

told() { # told TRACE: the largest number in it, in KiB
    fxtq -f csv --no-header "$1" "SELECT max(value) / 1024 FROM counter JOIN track ON track.id = track_id WHERE name LIKE 'resident:peak_bytes:%'"
}
# Between what the program saw and a little more: it goes on until it ends.
is_true() { # is_true TRACE
    truth=$(cat out)
    resident=$(told "$1")
    if [ "$resident" -lt "$truth" ] || [ "$resident" -gt $((truth + 4096)) ]; then
        fail "$1: $resident KiB, but $truth KiB"
    fi
}
capture() { # capture TRACE ARGUMENT...
    trace=$1
    shift
    sampler-capture heap -o "$trace" -- ./resident "$@" >out 2>err || fail "$trace: status $?: $(cat err)"
    fxt2pprof "$trace" --format top >folded 2>err || fail "$trace: $(cat err)"
}

# Most of it was mapped.
capture mapped.fxt 8 100
is_true mapped.fxt
grep -q '^  peak: 8[.][0-9]* MiB in use at .*; the largest resident set was 1[01][0-9][.][0-9]* MiB, of which the heap is 7 %$' err || fail "mapped: $(cat err)"
says "the rest was not allocated by malloc(3) and related functions"
fxtq report heap mapped.fxt >printed || fail "report"
grep -q '^resident at most  *1[01][0-9][.][0-9]* MiB' printed || fail "report: $(cat printed)"
fxtq report heap --json mapped.fxt >printed || fail "report --json"
grep -q "{\"what\":\"resident at most\",\"bytes\":$(($(told mapped.fxt) * 1024))[.]0," printed || fail "report --json: $(cat printed)"

# Most of it was allocated: nothing is missing.
capture allocated.fxt 100 1
is_true allocated.fxt
grep -q '^  peak: 10[0-9][.][0-9]* MiB in use at .*; the largest resident set was 10[0-9][.][0-9]* MiB, of which the heap is \(9[0-9]\|100\) %$' err ||
    fail "allocated: $(cat err)"
! grep "the rest is" err || fail "allocated: $(cat err)"

# A process that ends without a word: what the capture saw itself.
sampler-capture heap -o silent.fxt -- ./resident 8 100 silently >out 2>err &
capturing=$!
i=0
until { [ -s silent.fxt ] && [ "$(told silent.fxt 2>/dev/null || echo 0)" -gt 102400 ] 2>/dev/null; } || [ $((i += 1)) -ge 3000 ]; do
    sleep 0.1
done
: >looked
wait $capturing || fail "silent: status $?: $(cat err)"
resident=$(told silent.fxt)
if [ "$resident" -le 102400 ] || [ "$resident" -gt $(($(cat out) + 4096)) ]; then
    fail "silent: $resident KiB, but $(cat out) KiB"
fi

# A trace that does not say has no such row, and no such sentence.
"$O/bench/fxtgen" --kind heap --stacks 40 --count 300 >foreign.fxt
fxtq report heap foreign.fxt >printed || fail "foreign"
! grep resident printed || fail "foreign: $(cat printed)"
fxt2pprof foreign.fxt --format top >folded 2>err || fail "foreign: $(cat err)"
! grep resident err || fail "foreign: $(cat err)"
