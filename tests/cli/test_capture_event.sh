#!/bin/sh
# sampler-capture cpu --event and --cpu, and what fxtdiff makes of such traces: runs compared by events of the kernel or the processor, on
# one CPU, with a layout of addresses that is the same in each run or never.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

# touch N: N pages of memory are used for the first time, so that there are at least as many page faults.
cat >touch.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((noinline)) static void touch(long pages)
{
    volatile char *memory = mmap(NULL, (size_t)pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)madvise((void *)memory, (size_t)pages << 12, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        memory[i << 12] = 1;
}
int main(int argc, char **argv)
{
    FILE *out = fopen("addresses", "a");

    fprintf(out, "%p\n", (void *)&argc);
    fclose(out);
    touch(strtol(argv[argc - 1], NULL, 10));
}
END
${CC:-cc} -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o touch touch.c

# ---- sampler-capture ----

sampler-capture cpu --event page-faults --period 1 --unwind fp -o faults.fxt --stats-json stats -- ./touch 1000 2>err || fail "page-faults: $(cat err)"
fxtdump --verify faults.fxt 2>err || fail "faults.fxt: $(cat err)"
fxtdump faults.fxt >out
grep -q 'name=session.*period: 1, event: "page-faults"' out || fail "the session: $(grep name=session out)"
if grep -q 'period_ns' out; then fail "the session has a period in nanoseconds"; fi
grep -q '"event":"page-faults","period":1,' stats || fail "statistics: $(cat stats)"
# Every fault is a sample: all thousand are in touch(), and there is no time.
fxt2pprof --format folded faults.fxt >stacks 2>err || fail "folded: $(cat err)"
[ "$(awk '/;touch [0-9]*$/ { n += $NF } END { print n + 0 }' stacks)" -eq 1000 ] || fail "faults of touch(): $(grep touch stacks)"

sampler-capture cpu --event page-faults --period 100 --unwind fp -o faults.fxt -- ./touch 1000 2>err || fail "--period: $(cat err)"
fxt2pprof --format folded faults.fxt >stacks 2>err
faults_of() { awk '/;touch [0-9]*$/ { n += $NF } END { print n + 0 }' "$1"; }
count=$(faults_of stacks)
if [ "$count" -lt 900 ] || [ "$count" -gt 1100 ]; then fail "a sample stands for 100 faults: $count of 1000"; fi
fxt2pprof --sample-type samples --format folded faults.fxt >counted 2>err
[ "$((100 * $(faults_of counted)))" -eq "$count" ] || fail "--sample-type samples: $(cat counted)"
# The event is a type of its own: in stores, in a trace that is made of one, and in a trace of two captures.
fxtq import faults.fxt -o faults.db 2>err || fail "import: $(cat err)"
fxtq export fxt faults.db -o again.fxt 2>err || fail "export: $(cat err)"
sampler-capture cpu --period 100000 --unwind fp -o time.fxt -- ./touch 1 2>err || fail "time: $(cat err)"
cat faults.fxt time.fxt >both.fxt
for trace in again.fxt both.fxt; do
    fxt2pprof --sample-type page-faults --format folded $trace >stacks 2>err || fail "$trace: $(cat err)"
    [ "$(faults_of stacks)" -eq "$count" ] || fail "$trace: $(faults_of stacks) faults, not $count"
done
fxtq report top faults.db >out 2>err || fail "report: $(cat err)"
[ "$(tr -d , <out | awk '$NF ~ /touch$/ || /touch.c/ { print $1; exit }')" -ge "$count" ] || fail "the report: $(cat out)"

status=0
sampler-capture cpu --event page-faults --period 1000000 -o none.fxt -- ./touch 1 2>err || status=$?
if [ $status -ne 0 ] || ! grep -q 'no samples: no thread had 1,000,000 page-faults.*--period' err; then fail "no samples: $(cat err)"; fi

# Where the processor counts nothing, that is the message; elsewhere, instructions are sampled.
status=0
sampler-capture cpu --event instructions --period 100000 -o instructions.fxt -- ./touch 1000 2>err || status=$?
case $status in
0) fxtdump instructions.fxt | grep -q 'name=session.*period: 100000, event: "instructions"' || fail "instructions: no such session" ;;
*)
    [ $status -eq 4 ] || fail "instructions: status $status"
    grep -q 'the processor does not count instructions for this system.*omit --event' err || fail "instructions: $(cat err)"
    status=0
    fxtdiff run --event instructions --base 'echo >ran' --new 'echo >ran' >out 2>err || status=$?
    [ $status -eq 4 ] || fail "fxtdiff run --event instructions: status $status"
    grep -q 'the processor does not count instructions for this system.*omit --event' err || fail "fxtdiff run: $(cat err)"
    [ ! -e ran ] || fail "the refusal came after the commands"
    ;;
esac

sampler-capture cpu --kernel --event context-switches -o switches.fxt -- sh -c 'sleep 0.01; sleep 0.01' 2>err || fail "context-switches: $(cat err)"
fxtdump switches.fxt | grep -q 'name=session.*event: "context-switches"' || fail "context-switches: no such session"

cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
sampler-capture cpu --cpu "$cpu" -o pinned.fxt -- sh -c 'nproc >count' 2>err || fail "--cpu: $(cat err)"
[ "$(cat count)" -eq 1 ] || fail "--cpu: the command has $(cat count) CPUs"
status=0
sampler-capture cpu --cpu 1023 -o pinned.fxt -- true 2>err || status=$?
[ $status -eq 125 ] || fail "--cpu 1023: status $status"
grep -q '^sampler-capture cpu: --cpu 1023: .*nproc' err || fail "--cpu 1023: $(cat err)"

for options in '-F 100 --event page-faults' '--event page-faults --layout profiler' '--event page-faults --period 0' \
    '--event instructions --period 10' '--event context-switches' '--event steps' '--cpu -1' '-F 10 --period 100000'; do
    status=0
    # shellcheck disable=SC2086 # options and their arguments
    sampler-capture cpu $options -o x.fxt -- true >/dev/null 2>&1 || status=$?
    [ $status -eq 2 ] || fail "$options: status $status"
done
status=0
sampler-capture cpu --cpu 0 -p $$ -d 1 -o x.fxt 2>/dev/null || status=$?
[ $status -eq 2 ] || fail "--cpu with a process that runs: status $status"

# ---- fxtdiff run ----

# A thousand faults more, of some hundred that any program has.
status=0
fxtdiff run -n 5 --same-build --event page-faults --cpu "$cpu" --layout fixed --warm-up 0 --prepare 'echo p >>order' --base './touch 1000' --new './touch 2000' >out 2>err ||
    status=$?
[ $status -eq 1 ] || fail "page-faults: status $status: $(cat out err)"
grep -q '^page-faults per run: 1,[0-9]* -> 2,' out || fail "page-faults: $(cat out)"
grep -q "^note: the metric is page-faults, on CPU $cpu, the same address layout in each run\$" out || fail "conditions: $(cat out)"
grep -q '^FAIL: the total regressed by' out || fail "the total did not regress: $(cat out)"
[ "$(wc -l <order)" -eq 10 ] || fail "--prepare ran $(wc -l <order) times, not 10"
tail -n 10 addresses >ten
[ "$(sort -u ten | wc -l)" -le 2 ] || fail "--layout fixed: $(sort -u ten)"

# Samples of an event cost as many as lie between them; --sample-type counts samples.  Some are lost when the size of copies changes.
fxtdiff run -n 4 --event page-faults --period 100 --warm-up 0 --keep kept --json --base './touch 10000' --new './touch 10000' >out 2>err || :
grep -q '"sample_type":"page-faults","unit":"count"' out || fail "the type: $(cat out err)"
grep -q '"total":{"base":\(9[0-9]\|10\|11\)[0-9]\{3\},' out || fail "faults, not samples: $(grep -o '"total":{"base":[^,]*' out | head -1)"
fxtdiff --json --sample-type samples kept/base-* -- kept/new-* >out 2>err || :
grep -q '"sample_type":"samples","unit":"count".*"total":{"base":\(9[0-9]\|1[01][0-9]\)[.,]' out || fail "samples: $(cat out err)"

rm addresses
fxtdiff run -n 4 --layout random --warm-up 0 --base './touch 1' --new './touch 1' >out 2>err || :
[ "$(sort -u addresses | wc -l)" -gt 4 ] || fail "--layout random: $(sort -u addresses) $(cat err)"

status=0
fxtdiff run --prepare 'echo why >&2; exit 3' --base ./touch --new ./touch >out 2>err || status=$?
[ $status -eq 4 ] || fail "a failing --prepare: status $status"
if ! grep -q '^why$' err || ! grep -q -- '--prepare ended with status 3: ' err; then fail "a failing --prepare: $(cat err)"; fi
for options in '-F 100 --period 100000' '-F 100 --event page-faults' '--event steps' '--layout any' '--cpu x' '--period 0'; do
    status=0
    # shellcheck disable=SC2086 # options and their arguments
    fxtdiff run $options --base true --new true >/dev/null 2>&1 || status=$?
    [ $status -eq 2 ] || fail "fxtdiff run $options: status $status"
done
