#!/bin/sh
# sampler-capture cpu --repeat, and fxtdiff run: real captures, one after another and of two builds in turn.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"

. "$ROOT/tests/cli/perf.sh"

cat >spin.c <<'END'
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void step(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        sink += i;
}
int main(void)
{
    do
        step(100000);
    while (clock() < CLOCKS_PER_SEC / 20);
}
END
${CC:-cc} -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o spin spin.c

# ---- --repeat ----

sampler-capture cpu --repeat 3 -o run.fxt -- ./spin 2>err || fail "--repeat: $(cat err)"
for i in 1 2 3; do
    fxtdump --verify "run.$i.fxt" 2>err || fail "run.$i.fxt: $(cat err)"
done
if [ -e run.fxt ] || [ -e run.4.fxt ]; then fail "more files than asked for"; fi
sampler-capture cpu --repeat 10 -o many.fxt -- true 2>/dev/null
if [ ! -e many.01.fxt ] || [ ! -e many.10.fxt ]; then fail "numbers do not sort"; fi

# What fails ends the series, with its status.
status=0
sampler-capture cpu --repeat 3 -o broken.fxt -- sh -c 'exit 9' 2>/dev/null || status=$?
[ $status -eq 9 ] || fail "status $status, not the command's"
if [ ! -e broken.1.fxt ] || [ -e broken.2.fxt ]; then fail "went on after a failure"; fi
# A signal ends it too.
sampler-capture cpu --repeat 100 -o stopped.fxt -- sh -c '[ -e ran ] && { : >runs; exec sleep 600; }; : >ran' 2>/dev/null &
pid=$!
wait_for test -e runs
kill -TERM $pid
ends $pid || :
count=$(find . -name 'stopped.*.fxt' | wc -l)
[ "$count" -eq 2 ] || fail "$count captures of SIGTERM in the second"
for options in '-o -' '--background -o a.fxt' '--stats-json s -o a.fxt' '-o a.fxt --repeat 0'; do
    status=0
    # shellcheck disable=SC2086 # options and their arguments
    sampler-capture cpu --repeat 2 $options -- true >/dev/null 2>&1 || status=$?
    [ $status -eq 2 ] || fail "--repeat $options: status $status"
done

# ---- fxtdiff run ----

# Runs this short say little: what is looked at is how they are made and kept.  Only what would be nearly twice as dear is a finding, and
# one function, which is nearly all of the program, is tested, so that no noise of a machine makes the verdict FAIL.  All rows are
# printed: which functions of the loader changed by more than that one is chance.
lenient='--floor 50% --min-rel 90% --min-total 90% --need-share 0 --rows 0'

status=0
# shellcheck disable=SC2086 # options
fxtdiff run -n 4 -F 2000 --warm-up 0 $lenient --keep kept --base ./spin --new './spin' >out 2>err || status=$?
[ $status -eq 0 ] || [ $status -eq 5 ] || fail "run: status $status: $(cat out err)"
grep -q '4 + 4 runs' out || fail "not 4 + 4: $(cat out)"
grep -q ' step ' out || fail "step is not named: $(cat out)"
for side in base new; do
    for i in 1 2 3 4; do
        fxtdump --verify "kept/$side-$i.fxt" 2>err || fail "kept/$side-$i.fxt: $(cat err)"
    done
done
# shellcheck disable=SC2086
fxtdiff $lenient kept/base-*.fxt -- kept/new-*.fxt >again 2>err || :
cmp -s out again || fail "what was kept compares otherwise"

# The environment of a run has what its program was compiled with.
fxtdiff --json kept/base-*.fxt -- kept/new-*.fxt >out 2>err || :
grep -q '"compiler":"[^"]*\(GCC\|clang\)' out || fail "no compiler in the environment: $(grep -o '"compiler":[^,]*' out | head -1)"

# Copies without symbols under two names are one program: nothing in it is new.  No shell starts them, which would have samples of its own
# in some runs and not in others; the tests of the matching have such runs.
cp spin first
cp spin second
strip first second
for name in first second; do
    sampler-capture cpu -F 2000 --repeat 4 -o $name.fxt -- ./$name 2>err || fail "--repeat: $(cat err)"
done
status=0
# shellcheck disable=SC2086
fxtdiff $lenient first.*.fxt -- second.*.fxt >out 2>err || status=$?
# Where the loader's share was too small for a test, there is none: the rest is all of one function.
[ $status -eq 0 ] || grep -q '^INCONCLUSIVE: .*nothing was tested' out || fail "stripped: $(cat out err)"
grep -q 'RENAMED  *\[second\] (was \[first\])' out || fail "stripped: $(cat out)"
grep -q 'note: .* of the cost of the new runs is in code without names, most in \[second\] (--symbols)' out || fail "nobody says so: $(cat out)"

# In turn: the one that comes first comes last the next time.
mkdir turns
TMPDIR=$PWD/turns
export TMPDIR
fxtdiff run -n 3 --warm-up 1 --base 'echo A >>order; ./spin' --new 'echo B >>order; ./spin' >out 2>err || :
[ "$(tr -d '\n' <order)" = ABABBAAB ] || fail "order $(tr -d '\n' <order)"
[ -z "$(ls turns)" ] || fail "temporary files are left: $(ls turns)"
# Where they lay is nobody's business once they are gone.
fxtdiff run -n 1 --warm-up 0 --json --base ./spin --new ./spin >out 2>err || :
grep -q '"label":"base-1.fxt".*"label":"new-1.fxt"' out || fail "labels: $(grep -o '"label":"[^"]*"' out)"
if grep -q "$TMPDIR" out; then fail "the temporary folder is shown: $(cat out)"; fi

status=0
fxtdiff run --base ./spin --new 'echo why >&2; exit 3' >out 2>err || status=$?
[ $status -eq 4 ] || fail "a failing command: status $status"
grep -q 'the new command ended with status 3' err || fail "not said: $(cat err)"
grep -q '^why$' err || fail "what the command said is lost"
[ -z "$(ls turns)" ] || fail "temporary files are left: $(ls turns)"
status=0
fxtdiff run --base ./spin 2>err || status=$?
[ $status -eq 2 ] || fail "no --new: status $status"

# ---- -n auto ----

# What is decided needs no more runs than the first look.  A function that is gone twice over cannot be missed, nor be an accident.
sed 's/step(100000);/step(100000), extra(100000);/; s/^int main/__attribute__((noinline)) static void extra(unsigned long n)\n{\n    for (unsigned long i = 0; i < n; i++)\n        sink -= i;\n}\n&/' \
    spin.c >slower.c
${CC:-cc} -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o slower slower.c
status=0
fxtdiff run -n auto:8 -F 2000 --warm-up 0 --keep series --base ./spin --new ./slower >out 2>err || status=$?
[ $status -eq 1 ] || fail "auto: status $status: $(cat out err)"
grep -q '^note: 5 runs of each build, at most 8; stopped at look 1 because the verdict is decided; this look tested at 0.025, so that all looks together keep 0.05$' out ||
    fail "auto: $(cat out)"
[ "$(find series -name '*.fxt' | wc -l)" -eq 10 ] || fail "auto captured $(ls series)"

# What regressed between runs of one build stays inconclusive, however many runs there are.
sed 's/int main(void)/int main(int argc, char **argv)/; s/step(100000), extra(100000);/(void)argv, step(100000), argc > 1 ? extra(100000) : (void)0;/' slower.c >either.c
${CC:-cc} -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o either either.c
status=0
fxtdiff run -n auto:8 -F 2000 --warm-up 0 --base ./either --new './either more' >out 2>err || status=$?
[ $status -eq 5 ] || fail "one build: status $status: $(cat out err)"
grep -q 'stopped at look 1 because the runs that are left would not change the verdict' out || fail "one build: $(cat out)"

# A program that is hardly sampled is never decided: all runs are taken.
status=0
fxtdiff run -n auto:6 -F 100 --warm-up 0 --json --base ./spin --new ./spin >out 2>err || status=$?
[ $status -eq 5 ] || fail "undecided: status $status: $(cat out err)"
grep -q '"series":{"looks":2,"most_runs":6,"q":0.05,"stopped":"runs"}' out || fail "undecided: $(cat out)"
grep -q '^5 runs of each build: ' err || fail "nobody says that it goes on: $(cat err)"

# Time: one pair is always captured.
status=0
fxtdiff run -n auto --time-limit 1ms --warm-up 0 --json --base ./spin --new ./spin >out 2>err || status=$?
[ $status -eq 5 ] || fail "no time: status $status: $(cat out err)"
grep -q '"series":{"looks":1,"most_runs":40,"q":0.05,"stopped":"time"}' out || fail "no time: $(cat out)"

for options in '-n auto:3' '-n auto:' '-n automatic' '-n auto:501' '-n 5 --time-limit 10' '-n auto --time-limit soon'; do
    status=0
    # shellcheck disable=SC2086 # options and their arguments
    fxtdiff run $options --base ./spin --new ./spin >out 2>err || status=$?
    [ $status -eq 2 ] || fail "$options: status $status"
done
