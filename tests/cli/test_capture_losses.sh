#!/bin/sh
# Every sample is in the trace or counted as lost: of a program whose page faults, a sample each, the kernel counts as well; while the
# capture reads them, and while it is stopped and the kernel's buffers overrun.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"
. "$ROOT/tests/cli/wait.sh"

# Linux 6.0 is the first to count what is lost at the end.
if [ "$(uname -r | cut -d. -f1)" -lt 6 ]; then
    echo "SKIP: Linux before 6.0 does not count all losses"
    exit 0
fi

cat >faults.c <<'CODE'
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define PAGES 1500
#define EARLY 100000
static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}
__attribute__((noinline)) static void touch(volatile char *memory)
{
    for (long i = 0; i < PAGES; i++) {
        memory[i << 12] = 1;
        for (volatile int wait = 0; wait < 200000; wait++)
            ;
    }
}
/* Samples for those who wait for them.  */
__attribute__((noinline)) static void wait_for(const char *name, volatile char *memory)
{
    for (long i = 0; access(name, F_OK) != 0; i++) {
        if (memory && i < EARLY)
            memory[i << 12] = 1;
        usleep(1000);
    }
}
int main(void)
{
    long before;
    char *memory = mmap(NULL, (EARLY + PAGES) << 12L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(memory, (EARLY + PAGES) << 12L, MADV_NOHUGEPAGE);
    wait_for("attached", memory + (PAGES << 12));
    printf("quiet\n");
    fflush(stdout);
    wait_for("go", NULL);
    before = faults();
    touch(memory);
    printf("%ld\n", faults() - before);
    fflush(stdout);
    wait_for("end", NULL);
    return 0;
}
CODE
"${CC:-cc}" -O2 -g -fomit-frame-pointer -o faults faults.c

counts() { # counts UNWIND ACTION: what the kernel counted while the capture did that
    rm -f attached go end lost.fxt
    ./faults >out &
    program=$!
    wait_for runs $program faults
    sampler-capture cpu --event page-faults --period 1 --unwind "$1" -p $program -o lost.fxt --stats-json stats.json 2>err &
    capture=$!
    wait_for has_samples lost.fxt
    : >attached
    wait_for grep -q quiet out
    [ "$2" = reads ] || kill -STOP $capture
    : >go
    wait_for grep -q '^[0-9]' out
    [ "$2" = reads ] || kill -CONT $capture
    : >end
    wait $capture || fail "$*: status $?: $(cat err)"
    wait $program || fail "$*: the program: status $?"
    fxt2pprof -q -f folded --sample-type samples -o folded lost.fxt 2>messages || fail "$*: $(cat messages)"
    python3 - "$@" <<'PY' || fail "$*: samples and losses are not what the kernel counted: $(cat err)"
import json, sys
kernel = int(open("out").read().split()[1])
stats = json.load(open("stats.json"))
lost = {cause: int(count) for cause, count in stats["lost"].items()}
stacks = [line.rsplit(" ", 1) for line in open("folded")]
sampled = sum(int(count) for stack, count in stacks if ";touch" in stack)
assert sum(int(count) for _, count in stacks) == int(stats["samples_collected"])
told = sampled + sum(lost.values()) - lost["throttled"]
print("%s, %s: %d of the kernel, %d sampled, lost: %s" % (*sys.argv[1:], kernel, sampled, lost))
assert kernel >= 1500
if lost["throttled"] == 0: # nobody counts what the kernel does not sample then
    assert kernel - 10 <= told <= kernel + 10 # those of printf()
if sys.argv[1:] == ["dwarf", "stops"]:
    assert lost["ring"] > 0
    assert "samples, because the kernel's buffers were full" in open("err").read()
PY
}
for how in dwarf auto fp; do
    counts $how reads
    counts $how stops
done
