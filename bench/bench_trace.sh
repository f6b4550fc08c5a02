#!/bin/sh
# What an event costs the program that writes it: off, an instant, one with two integers, a duration; libfxttrace's flight recorder beside reading the
# clock once, and beside LTTng-ust's (overwriting buffers in a snapshot session, 4 MiB too).  LTTng has no event for a duration: it writes two.
#
# Tracy and Perfetto's SDK have no package.  bench/peers/tracy/main.cc and bench/peers/perfetto/main.cc have the same loops for
# them; programs made of these are measured in the same run, if they are named:
#
#   PEERS="tracy=PROGRAM perfetto=PROGRAM"   each prints off=NS instant=NS integers=NS duration=NS; NS 0 is not known
#   BATCHES (default 500) batches of 10,000 events; the least counts.  PEERS keep what they record: a tenth of it
set -eu

BATCHES=${BATCHES:-500}
cd "$WORK"
# shellcheck source=bench/lib.sh
. "$ROOT/bench/lib.sh"
missed=

unset FXT_TRACE_SOCKET
FXT_TRACE_FILE=own.fxtb FXT_TRACE_CATEGORIES=bench tracing "$BATCHES" >ours
FXT_TRACE_SOCKET='' tracing "$BATCHES" >never # no recorder, no manager: what a program pays always

# Bytes an event: what 50,000 more of them add to an archive.
for count in 50000 100000; do
    sampler-capture trace -q -b 16M -o $count.fxt -- tracing count integers $count
done
bytes=$(calc "($(wc -c <100000.fxt) - $(wc -c <50000.fxt)) / 50000")

# A session of its own, so that others on this machine are left alone.
: >peer
if command -v lttng >/dev/null && ${CC:-cc} -std=gnu17 -O2 -I"$ROOT" -I"$ROOT/bench/peers/lttng" "$ROOT/bench/peers/lttng/main.c" -llttng-ust -ldl -o lttng-tracing 2>err; then
    export HOME="$WORK" LTTNG_HOME="$WORK" LTTNG_UST_REGISTER_TIMEOUT=-1
    lttng-sessiond --no-kernel >/dev/null 2>&1 &
    daemon=$!
    trap 'kill $daemon 2>/dev/null || true' EXIT
    until lttng list >/dev/null 2>&1; do sleep 0.1; done
    {
        lttng create bench --snapshot
        lttng enable-channel --userspace --overwrite --subbuf-size=1M --num-subbuf=4 events
        lttng enable-event --userspace --channel=events 'bench:*' --exclude 'bench:off'
        lttng start
    } >/dev/null
    ./lttng-tracing "$BATCHES" >peer
    lttng destroy >/dev/null
else
    echo "trace: no LTTng-ust here: lttng-tools and liblttng-ust-dev"
fi

peer() { # peer KEY: what LTTng takes, or -
    figure=$(field peer "$1")
    [ -n "$figure" ] && echo "LTTng $figure ns" || echo -
}
judge() { # judge TEXT KEY BASE BOUND: at most BOUND times BASE nanoseconds
    figure=$(field ours "$2")
    ratio=$(calc "$figure / $3")
    line "$1" "$figure ns" "$(peer "$2")" "$ratio" "<= $4 x" "$ratio <= $4"
}
clock=$(field ours clock)
off=$(field never off)
line "clock" "$clock ns" - - - 1
line "off" "$off ns" "$(peer off)" - "<= 0.5 ns" "$off <= 0.5"
judge "an instant, in clock readings" instant "$clock" 1.3
judge "with two integers" integers "$clock" 1.6
judge "a duration, in two clock readings" duration "$(calc "2 * $clock")" 1.25
threads=$(field ours threads)
if [ "$(nproc)" -gt 1 ]; then
    line "two threads to one" "$threads x" - - ">= 1.8 x" "$threads >= 1.8"
fi
line "an event with two integers" "$bytes bytes" - - - "$bytes > 0"

# beside NAME KIND TEXT BOUND: how much of NAME's event ours takes; BOUND: - is none
beside() {
    theirs=$(field "other.$1" "$2")
    [ "$(calc "${theirs:-0}")" != 0.00 ] || return 0
    own=$(field ours "$2")
    ratio=$(calc "$own / $theirs")
    if [ "$4" = - ]; then
        line "$3, beside $1" "$own ns" "$1 $theirs ns" "$ratio" - 1
    else
        line "$3, beside $1" "$own ns" "$1 $theirs ns" "$ratio" "<= $4 x" "$ratio <= $4"
    fi
}
for other in ${PEERS-}; do
    name=${other%%=*}
    "${other#*=}" $((BATCHES / 10)) >"other.$name" 2>"other.$name.err"
    bound=-
    [ "$name" != tracy ] || bound=0.5 # of a zone
    beside "$name" instant "an instant" -
    beside "$name" integers "two integers" -
    beside "$name" duration "a duration" $bound
done
[ -z "$missed" ]
