#!/bin/sh
# Instruction traces of which parts are missing: cut by time, by thread, joined again without a part in between, or cut off.  All that is
# decoded is what was stepped; what is missing is a gap.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
compile callbacks threads
# A buffer of 4 KiB: packets of a thread are in several blobs, which end in the middle of packets.
run 0 sampler-capture insn --simulate -q --buffer-size 4K --steps callbacks.steps -o callbacks.fxt -- ./callbacks
run 0 sampler-capture insn --simulate -q --buffer-size 4K --steps threads.steps -o threads.fxt -- ./threads
fxtdump callbacks.fxt | awk '/large_blob category=insntrace name=pt/ { print $2 }' >moments
fxtdump threads.fxt | awk '/large_blob category=insntrace name=pt/ { print $2, $3 }' >blobs
[ "$(wc -l <moments)" -ge 4 ] || fail "few blobs of callbacks: $(cat moments)"
stop_if_wrong
blob() { # blob N: the time of the N-th
    sed -n "$1p" moments
}

adds_up() { # adds_up TRACE STEPS: each step was decoded or is missing, and nothing else was decoded
    run 0 insn_check "$1" "$2"
    [ "$(number equal)" -gt 0 ] || fail "$1: nothing was decoded: $(cat out)"
    [ $(($(number lost) + $(number equal))) = "$(number stepped)" ] || fail "$1: it does not add up: $(cat out)"
}

is_right() { # is_right TRACE STEPS: what was decoded is what was stepped; the end may be missing
    insn_check "$1" "$2" >out 2>err || :
    if grep -q ', instruction ' out err; then fail "$1: decoded otherwise: $(cat out err)"; fi
}

# One part in between is missing: the packets before and after it do not form one stream.
for part in 2 3; do
    run 0 fxtcat cut --time ",$(blob $part)" -o before.fxt callbacks.fxt
    run 0 fxtcat cut --time "$(blob $((part + 1)))," -o after.fxt callbacks.fxt
    run 0 fxtcat merge before.fxt after.fxt -o joined.fxt
    adds_up joined.fxt callbacks.steps
    [ "$(number lost)" -gt 1000 ] || fail "part $part: too little is missing: $(cat out)"
    [ "$(number gaps)" -ge 1 ] || fail "part $part: a loss that nothing tells of: $(cat out)"
    decoded=$(number equal)
    run 0 fxt2pprof --profile insn --sample-type instructions --format folded joined.fxt
    says "could not be decoded"
    sum=$(awk '{ sum += $NF } END { print sum }' out)
    [ "$sum" = "$decoded" ] || fail "part $part: $sum instructions in the profile, $decoded decoded"
    # Compressed, it is the same.
    run 0 fxtcat compress joined.fxt -o joined.fxt.zst
    run 0 fxt2pprof --profile insn --sample-type instructions --format folded -q joined.fxt.zst
    fxt2pprof --profile insn --sample-type instructions --format folded -q joined.fxt >plain.folded
    cmp -s out plain.folded || fail "part $part: compressed, it is another profile"
done

# The parts of a trace, merged in their order, are the trace.
run 0 fxtcat cut --time ",$(blob 3)" -o before.fxt callbacks.fxt
run 0 fxtcat cut --time "$(blob 3)," -o after.fxt callbacks.fxt
run 0 fxtcat merge before.fxt after.fxt -o joined.fxt
adds_up joined.fxt callbacks.steps
[ "$(number lost)" = 0 ] || fail "merged from its parts: $(cat out)"

# The beginning is missing: the first packets come from the middle of the program.
adds_up after.fxt callbacks.steps
[ "$(number lost)" -gt 1000 ] || fail "the second half has all of it: $(cat out)"
run 0 fxt2pprof --profile insn --format folded -q after.fxt
prints ";compare "
grep -q '^callbacks;' out || fail "the process has no name: $(head -n 3 out)"

# A thread whose packets before the cut are missing, of which others have none left.  How much it did then is another number each time,
# and it may be too little for a PSB packet.
last=$(tail -n 1 blobs)
run 0 fxtcat cut --time "${last% *}," -o end.fxt threads.fxt
is_right end.fxt threads.steps
[ "$(number streams)" = 1 ] || fail "other threads have packets after the last: $(cat out)"
run 0 fxtdump end.fxt
prints "name=threads {process:"

# One thread alone: all of its instructions, and none of the others'.
run 0 insn_check threads.fxt threads.steps
[ "$(number streams)" = 5 ] || fail "threads: $(cat out)"
all=$(number equal)
sum=0
awk '{ print $2 }' blobs | sort -u >owners
while read -r owner; do
    run 0 fxtcat cut --tid "${owner#*/}" -o alone.fxt threads.fxt
    is_right alone.fxt threads.steps
    [ "$(number streams)" = 1 ] || fail "thread $owner: $(cat out)"
    [ "$(number gaps)" = 0 ] || fail "thread $owner: gaps: $(cat out)"
    sum=$((sum + $(number equal)))
done <owners
[ $sum = "$all" ] || fail "$sum instructions in the threads alone, $all together"

# A file that ends early: what is decoded is right.
head -c $(($(wc -c <callbacks.fxt) - 5000)) callbacks.fxt >short.fxt
run 3 fxtcat recover short.fxt -o recovered.fxt
is_right recovered.fxt callbacks.steps
[ "$(number equal)" -gt 10000 ] || fail "little of a file that ends early is decoded: $(cat out)"
finish
