#!/bin/sh
# What sampling costs the program that is sampled: CPU time of the same work, alone (A), under sampler-capture (B) and under perf
# record (C), in blocks A B C C B A so that drift falls on all alike.  Differences are taken within blocks and told
# with the upper end of their 95 % interval.  Each program keeps to one CPU, the last: which CPU the scheduler picks, and when it moves on, makes equal
# runs differ by several times as much as sampling costs.  The samplers are free to run where they like.
#
#   BLOCKS (default 100) blocks of ROUNDS (default 400) rounds of work each.
set -eu

BLOCKS=${BLOCKS:-100}
ROUNDS=${ROUNDS:-400}
CPU=$(($(nproc) - 1))
cd "$WORK"
# shellcheck source=bench/lib.sh
. "$ROOT/bench/lib.sh"

if ! sampler-capture cpu -o probe.fxt -- true 2>err; then
    echo "capture: $(cat err)"
    exit 0
fi

alone() { taskset -c "$CPU" fixedwork "$ROUNDS"; }
ours() { sampler-capture cpu -F 1000 -o ours.fxt -- taskset -c "$CPU" fixedwork "$ROUNDS" 2>>messages; }
peer() { perf record -q -F 1000 -g -o peer.data -- taskset -c "$CPU" fixedwork "$ROUNDS" 2>>messages; }

alone >/dev/null # warm
i=0
: >blocks
while [ $i -lt "$BLOCKS" ]; do
    a1=$(alone)
    b1=$(ours)
    c1=0 c2=0
    if command -v perf >/dev/null; then
        c1=$(peer)
        c2=$(peer)
    fi
    b2=$(ours)
    a2=$(alone)
    echo "$a1 $b1 $c1 $c2 $b2 $a2" >>blocks
    i=$((i + 1))
done

verdict() { # verdict FIGURE BOUND
    awk -v figure="$1" -v bound="$2" 'BEGIN { print (figure + 0 > bound + 0 ? "MISSED" : "ok") }'
}
missed=
judge() { # judge mean|upper TEXT BOUND MEAN UPPER: which of the two the bound holds
    held=$4
    [ "$1" = mean ] || held=$5
    result=$(verdict "$held" "$3")
    printf '%s %s, upper bound %s, %s at most %s  %s\n' "$2" "$4" "$5" "$1" "$3" "$result"
    [ "$result" = ok ] || missed=1
}

# shellcheck disable=SC2046 # two numbers
{
    judge mean "capture at 1 kHz, % of the CPU time alone:" 1 \
        $(awk '{ print 100 * (($2 + $5) / ($1 + $6) - 1) }' blocks | trimmed)
    if command -v perf >/dev/null; then
        echo "perf record -F 1000 -g, %: $(awk '{ print 100 * (($3 + $4) / ($1 + $6) - 1) }' blocks | trimmed | sed 's/ /, upper bound /')"
        judge upper "ours less perf record's, points:" 0.3 \
            $(awk '{ print 100 * ($2 + $5 - $3 - $4) / ($1 + $6) }' blocks | trimmed)
    fi
}

# At 10 kHz: the rate that was asked for, or the kernel is said to hold back.  And the memory that takes.
fixedwork $((ROUNDS * 7)) >cpu_ns
/usr/bin/time -f %M -o memory sampler-capture cpu -F 10000 --stats-json stats.json -o fast.fxt -- fixedwork $((ROUNDS * 7)) >cpu_ns 2>>messages
samples=$(sed -n 's/.*"samples_collected":\([0-9]*\).*/\1/p' stats.json)
throttled=$(sed -n 's/.*"throttled":\([0-9]*\).*/\1/p' stats.json)
awk -v samples="$samples" -v throttled="$throttled" -v cpu_ns="$(cat cpu_ns)" -v memory="$(cat memory)" 'BEGIN {
    rate = samples / (cpu_ns / 1e9)
    fine = rate >= 9500 || throttled > 0
    printf "rate at 10 kHz: %.0f samples a second of CPU time, throttled %d times, at least 9500 or told  %s\n", rate, throttled, fine ? "ok" : "MISSED"
    printf "resident set of sampler-capture meanwhile: %.1f MiB\n", memory / 1024
    exit !fine
}' || missed=1
[ -z "$missed" ]
