#!/bin/sh
# What sampling costs the program that is sampled: CPU time of the same work, alone and under each sampler, in blocks that run
# all of them forwards and then backwards, so that drift falls on all alike.  Differences are taken within blocks and printed
# with the upper end of their 95 % interval.  Each program keeps to one CPU, the last: which CPU the scheduler picks, and when
# it moves on, makes equal runs differ by several times as much as sampling costs.  The samplers run where they like.
#
#   fixedwork      without frame pointers: callers are found from copies of the stack
#   fixedwork_fp   with them: no copy is needed
#
# Runs take about four seconds: copies of a size that all stacks fit into are taken after one.
#
#   BLOCKS (default 100) blocks of ROUNDS (default: what takes four seconds) rounds of work each, as far as they fit into TIME (default
#   900) seconds; ten at least.
set -eu

BLOCKS=${BLOCKS:-100}
TIME=${TIME:-900}
CPU=$(($(nproc) - 1))
cd "$WORK"
# shellcheck source=bench/lib.sh
. "$ROOT/bench/lib.sh"
# shellcheck source=bench/blocks.sh
. "$ROOT/bench/blocks.sh"
ROUNDS=${ROUNDS:-$(fixedwork 2000 | awk '{ printf "%.0f", 4e9 * 2000 / $1 }')}

if ! sampler-capture cpu -o probe.fxt -- true 2>err; then
    echo "capture: $(cat err)"
    exit 0
fi

command -v perf >/dev/null || {
    echo "capture: perf is missing"
    exit 0
}

# shellcheck disable=SC2154 # blocks() names the program
alone() { taskset -c "$CPU" "$program" "$ROUNDS"; }
ours() { sampler-capture cpu -F 1000 --unwind "$1" -o ours.fxt -- taskset -c "$CPU" "$program" "$ROUNDS" 2>>messages; }
perfs() { perf record -q -F 1000 --call-graph "$1" -o perf.data -- taskset -c "$CPU" "$program" "$ROUNDS" 2>>messages; }
ours_fp() { ours fp; }
ours_auto() { ours auto; }
perf_fp() { perfs fp; }
perf_dwarf() { perfs dwarf,32768; }
perf_bare() { perf record -q -F 1000 -o perf.data -- taskset -c "$CPU" "$program" "$ROUNDS" 2>>messages; } # the interrupts

missed=
# shellcheck disable=SC2016 # expressions of awk
{
    blocks fixedwork plain $((TIME * 6 / 10)) alone ours_fp ours_auto perf_fp perf_dwarf perf_bare
    blocks fixedwork_fp framed $((TIME * 4 / 10)) alone ours_fp ours_auto perf_fp
    cost plain 'at 1 kHz, --unwind fp, %' '100 * ($2 / $1 - 1)' -
    cost plain 'perf record -F 1000 -g, %' '100 * ($4 / $1 - 1)' -
    cost plain 'ours less that, points' '100 * ($2 - $4) / $1' 0.3
    cost plain 'at 1 kHz, --unwind auto, %' '100 * ($3 / $1 - 1)' -
    cost plain 'perf --call-graph dwarf,32768, %' '100 * ($5 / $1 - 1)' -
    cost plain 'ours less half of that, points' '100 * ($3 - $1 - ($5 - $1) / 2) / $1' 0
    cost plain 'perf record -F 1000 without stacks, %' '100 * ($6 / $1 - 1)' -
    cost plain 'above that, ours less half of perf dwarf' '100 * ($3 - $6 - ($5 - $6) / 2) / $1' -
    cost framed 'with frame pointers, --unwind fp, %' '100 * ($2 / $1 - 1)' -
    cost framed 'with frame pointers, --unwind auto, %' '100 * ($3 / $1 - 1)' -
    cost framed 'with frame pointers, perf -g, %' '100 * ($4 / $1 - 1)' -
    cost framed 'auto less fp, points' '100 * ($3 - $2) / $1' 0.3
}

# What the kernel takes for a sample, by what it records, where nobody reads the samples.
samplecost >parts
us() { field parts "$1"; }
us_error() { field parts "$1_error"; }
line 'a sample with its address alone, us' "$(us address)" "+- $(us_error address)" - - 1
for part in chain registers copy_1k auto copy_12k perf_dwarf; do
    line "$part more than that, us" "$(us $part)" "+- $(us_error $part)" - - 1
done
line "auto less chain, us" "$(us auto_less_chain)" "+- $(us_error auto_less_chain)" - - 1

# At 10 kHz: the rate that was asked for, or the kernel is said to hold back.  And the memory that takes.
fixedwork "$ROUNDS" >cpu_ns
/usr/bin/time -f %M -o memory sampler-capture cpu -F 10000 --stats-json stats.json -o fast.fxt -- fixedwork "$ROUNDS" >cpu_ns 2>>messages
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
