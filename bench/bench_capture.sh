#!/bin/sh
# What sampling costs the program that is sampled: CPU time of the same work, alone (A), under sampler-capture (B) and under perf
# record (C), in blocks A B C C B A so that drift falls on all alike.  Differences are taken within blocks; bounds hold for the upper
# end of their 95 % interval (Student's t).
#
#   BLOCKS (default 20) blocks of ROUNDS (default 900) rounds of work each.
set -eu

BLOCKS=${BLOCKS:-20}
ROUNDS=${ROUNDS:-900}
cd "$WORK"

if ! sampler-capture cpu -o probe.fxt -- true 2>err; then
    echo "capture: $(cat err)"
    exit 0
fi

alone() { fixedwork "$ROUNDS"; }
ours() { sampler-capture cpu -F 1000 -o ours.fxt -- fixedwork "$ROUNDS" 2>>messages; }
peer() { perf record -q -F 1000 -g -o peer.data -- fixedwork "$ROUNDS" 2>>messages; }

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

# t(0.975) for 1, 2, ... degrees of freedom is well described by 1.96 + 2.37 / df + 2.8 / df^2 from 5 on.
awk -v blocks="$BLOCKS" '
    function add(k, value) { n[k]++; sum[k] += value; squares[k] += value * value }
    function mean(k) { return sum[k] / n[k] }
    function upper(k,   m, v, df) {
        m = mean(k); df = n[k] - 1
        v = (squares[k] - n[k] * m * m) / df
        return m + (1.96 + 2.37 / df + 2.8 / df / df) * sqrt((v > 0 ? v : 0) / n[k])
    }
    function verdict(value, bound) { if (value > bound) { missed = 1; return "MISSED" } return "ok" }
    {
        alone = $1 + $6
        add("ours", 100 * (($2 + $5) / alone - 1))
        if ($3) {
            add("peer", 100 * (($3 + $4) / alone - 1))
            add("more", 100 * ($2 + $5 - $3 - $4) / alone)
        }
    }
    END {
        printf "capture at 1 kHz: cost %.2f %%, upper bound %.2f %%, below 1 %%  %s\n", mean("ours"), upper("ours"), verdict(upper("ours"), 1)
        if (n["peer"])
            printf "more than perf record -F 1000 -g (%.2f %%): %.2f points, upper bound %.2f, at most 0.3  %s\n", mean("peer"), mean("more"), upper("more"), verdict(upper("more"), 0.3)
        exit missed
    }' blocks || missed=1

# At 10 kHz: the rate that was asked for, or the kernel is said to hold back.  And the memory that takes.
fixedwork $((ROUNDS * 3)) >cpu_ns
/usr/bin/time -f %M -o memory sampler-capture cpu -F 10000 --stats-json stats.json -o fast.fxt -- fixedwork $((ROUNDS * 3)) >cpu_ns 2>>messages
samples=$(sed -n 's/.*"samples_collected":"\([0-9]*\)".*/\1/p' stats.json)
throttled=$(sed -n 's/.*"throttled":"\([0-9]*\)".*/\1/p' stats.json)
awk -v samples="$samples" -v throttled="$throttled" -v cpu_ns="$(cat cpu_ns)" -v memory="$(cat memory)" 'BEGIN {
    rate = samples / (cpu_ns / 1e9)
    fine = rate >= 9500 || throttled > 0
    printf "rate at 10 kHz: %.0f samples a second of CPU time, throttled %d times, at least 9500 or told  %s\n", rate, throttled, fine ? "ok" : "MISSED"
    printf "resident set of sampler-capture meanwhile: %.1f MiB\n", memory / 1024
    exit !fine
}' || missed=1
[ -z "${missed:-}" ]
