#!/bin/sh
# What sampler-capture cpu says about programs whose profile is known.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"

. "$ROOT/tests/cli/perf.sh"

# Without -mno-omit-leaf-frame-pointer the caller of a leaf function goes missing.
"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o workload "$ROOT/testdata/capture/workload.c"
low=$(nm -S workload | awk '$4 == "hot_function" { print $1 }')
size=$(nm -S workload | awk '$4 == "hot_function" { print $2 }')
high=$(printf '%x' $((0x$low + 0x$size)))

# check EXPRESSION: what capture_check says about the last trace must make it true.
capture() { # capture TRACE COMMAND...
    trace=$1
    shift
    sampler-capture cpu -o "$trace" "$@" >out 2>err || fail "status $? of $*: $(cat err)"
    # A module has the same id in every process; readers tell them apart by process.
    python3 "$ROOT/tests/fxt_rules.py" --allow 14-id "$trace" >rules || fail "the rules for writers: $(head -n 3 rules)"
    measure "$trace"
}
measure() {
    capture_check "$1" workload "$low" "$high" >facts || fail "$1 is damaged"
    . ./facts
}
check() {
    [ $(($1)) -ne 0 ] || fail "$1: $(tr '\n' ' ' <facts)"
}

# The hot function is the leaf of nearly all samples, and its caller can be found.
capture hot.fxt -- ./workload 500
check "hits * 10 > samples * 9"
check "damage == 0"
check "unmapped == 0"
check "unnamed == 0"
check "disorder == 0"
check "lost == 0"
check "processes == 1 && tasks == 1"

# Nothing but what was lost, where no summary is wanted.
sampler-capture cpu -q -o quiet.fxt -- ./workload 100 >out 2>err || fail "-q: $(cat err)"
[ ! -s err ] || fail "-q is not quiet: $(cat err)"
[ -s quiet.fxt ] || fail "-q writes nothing"
sampler-capture cpu --quiet -F 10000 --mode oneshot --buffer-size 4k -o quiet.fxt -- ./workload 300 >out 2>err || fail "-q: $(cat err)"
grep -q 'stopped sampling, because their buffers' err || fail "-q keeps back what was lost: $(cat err)"
[ "$(grep -vc -e '^lost: ' -e 'stopped sampling' err)" -eq 0 ] || fail "-q is not quiet: $(cat err)"

# As many samples as periods of CPU time.  Where a hypervisor takes CPUs away, the kernel's clocks
# disagree about what was used: one good measurement out of several shows that it is right.
counts() { # counts PERIOD_NS OPTION...
    period_ns=$1
    samples=0
    shift
    for _ in 1 2 3 4 5 6; do
        capture count.fxt "$@" -- ./workload 300
        wanted=$(($(cat out) / period_ns))
        [ $((samples * 100)) -gt $((wanted * 93)) ] && [ $((samples * 100)) -lt $((wanted * 107)) ] &&
            return
    done
    fail "$samples samples, not about $wanted, with a period of $period_ns ns"
}
counts 1000000
counts 100000 -F 10000
counts 5000000 --period 5000000

# Threads are told apart and named.
capture threads.fxt -- ./workload threads 4 100
check "tasks >= 4 && processes == 1"
check "hits * 10 > samples * 9"
check "unnamed == 0"
for i in 0 1 2 3; do
    fxtdump threads.fxt | grep -q "kernel_object type=2 .* name=worker-$i " || fail "no thread worker-$i"
done

# Many short children, each with the mappings of its parent.  Where page faults are slow, they spend much of their time in fork()
# and at their end.
capture forks.fxt -- ./workload forks 300 4
check "processes >= 290"
check "hits * 2 > samples"
check "unmapped == 0"
check "unnamed == 0"
check "damage == 0"

# An exec begins a new process of the same pid: the high half of its koid counts up.
capture exec.fxt -- ./workload exec 50
check "processes == 2 && tasks == 2"
check "unmapped == 0"
first=$(fxtdump exec.fxt | sed -n 's/.*kernel_object type=1 koid=\([0-9]*\) .*/\1/p' | head -n 1)
second=$(fxtdump exec.fxt | sed -n 's/.*kernel_object type=1 koid=\([0-9]*\) .*/\1/p' | tail -n 1)
[ "$second" -eq $((first + (1 << 32))) ] || fail "koids $first and $second"

# Through a shell: the programs that it starts are there by name.
capture shell.fxt -- sh -c './workload 60; exec ./workload 60'
check "processes >= 2"
check "hits > 10" # of 100 or more, where the hypervisor leaves this machine its CPUs
fxtdump shell.fxt | grep -q 'kernel_object type=1 .* name=workload' || fail "no process workload"

# The code of the C library and of the program have their build IDs.
id=$(readelf -n workload | sed -n 's/.*Build ID: //p')
fxtdump hot.fxt | grep -q "module .* build_id=$id name=.*/workload" || fail "no build ID $id"

# No CPU time, no samples: a valid trace that says so.
capture idle.fxt -- ./workload sleep 100
check "samples < 5 && damage == 0"

# A file that was deleted while it ran keeps its build ID and its addresses.
cp workload gone
# shellcheck disable=SC2016 # the inner shell's
removed='i=0; while [ "$(readlink /proc/$!/exe)" != "$PWD/gone" ] && [ $((i += 1)) -lt 10000 ]; do :; done; rm gone; wait'
capture gone.fxt -- sh -c "./gone 150 & $removed"
fxtdump gone.fxt | grep -q "module .* build_id=$id name=.*/gone$" || fail "no deleted file"

# So does one that was deleted soon after its process ended.
cp workload gone
# shellcheck disable=SC2016 # the inner shell's
capture gone.fxt -- sh -c './gone 100; i=0; until fxtdump gone.fxt 2>&1 | grep -q "module .*/gone$" || [ $((i += 1)) -ge 6000 ]; do sleep 0.1; done; rm gone; sleep 0.2'
capture_check gone.fxt gone "$low" "$high" >facts
. ./facts
check "hits > 10" # of 100 or more, where the hypervisor leaves this machine its CPUs

# The session says how the samples were taken.
fxtdump hot.fxt | grep -q 'name=session .*period_ns: 1000000, clock: "task-clock", max_frames: 512, layout: "sampler"' ||
    fail "no session"
fxtdump hot.fxt | grep -q 'command: "./workload 500"' || fail "no command"
grep -q "^hot.fxt: .* of 1 process" err || true

# A trace on standard output; the command's own output is then among the messages.
sampler-capture cpu -o - -- ./workload 100 >piped.fxt 2>err || fail "status $?"
grep -qE '^[0-9]+$' err || fail "the command's output is missing"
measure piped.fxt
check "samples > 10 && damage == 0" # likewise

# A region that is too small says what it cost, and the file stays whole.
capture small.fxt -F 100000 --buffer-size 4k -- ./workload 300
check "lost > 0 && lost_events > 0"
check "damage == 0"

# A capture that cannot keep up loses samples, the last ones too, and says so; it loses no names and
# mappings of processes that begin meanwhile.
# Linux 6.0 is the first to count them.  The long variable makes every stack longer than the 32 KiB that are
# copied of it, so that 300 samples fill a buffer, however slowly this machine takes them.
major=$(uname -r | cut -d. -f1)
# shellcheck disable=SC2016 # the inner shell's
LONG=$(printf '%060000d' 0) sampler-capture cpu -F 50000 --unwind dwarf --buffer-size 64k -o late.fxt -- \
    sh -c ': >begun; ./workload 600; ./workload 50; ./workload 50; : >finished; i=0; while [ ! -e go ] && [ $((i += 1)) -lt 6000 ]; do sleep 0.1; done' >out 2>err &
pid=$!
wait_for test -e begun
kill -STOP $pid
wait_for test -e finished
: >go
kill -CONT $pid
wait $pid || fail "status $?: $(cat err)"
measure late.fxt
check "damage == 0"
check "unmapped == 0"
[ "$major" -lt 6 ] || check "lost > 1000"
[ "$major" -lt 6 ] || grep -q "^lost: .* the kernel's buffers were full" err || fail "$(cat err)"
