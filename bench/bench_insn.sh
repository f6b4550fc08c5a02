#!/bin/sh
# Instruction traces: packets to a profile, beside libipt's block decoder alone on the same packets and code; memory.
#
#   BENCH_INSN_BYTES=N    bytes of packets (default 200000000; memory is asked of 1 GB)
set -eu
. bench/lib.sh
missed=0
bytes=${BENCH_INSN_BYTES:-200000000}
if ! sampler-capture insn --help >/dev/null 2>&1; then
    echo "SKIP: built without libipt"
    exit 0
fi
cd "$WORK"
export FXT_SYMBOL_CACHE="$WORK/cache"

gcc -O2 -static -o branches "$ROOT/bench/inputs/branches.c"
sampler-capture insn --simulate -q -o once.fxt -- ./branches 32 >/dev/null
insnpackets repeat once.fxt "$bytes" >packets.fxt

insnpackets bare once.fxt branches "$bytes" >figure
meter ours fxt2pprof -q --profile insn -o insn.pb.gz packets.fxt
rate=$(calc "$bytes / 1e6 / $(field ours cpu_seconds)")
peer=$(calc "$(field figure bytes) / 1e6 / $(field figure cpu_seconds)")
line "packets to a profile, CPU time" "$rate MB/s" "$peer MB/s libipt" "$(calc "$rate / $peer")" ">= 0.9" "$rate >= 0.9 * $peer"
clock=$(calc "$bytes / 1e6 / $(field ours seconds)")
line "packets to a profile, $(nproc) processors" "$clock MB/s" "$peer MB/s libipt" "$(calc "$clock / $peer")" - 1
line "packets, instructions" "$(calc "$(field figure instructions) / 1e6") M" - - - 1
resident=$(calc "$(field ours max_rss_kib) / 1024")
line "packets to a profile, memory" "$resident MiB" - - "<= 64 MiB" "$resident <= 64"
exit "$missed"
