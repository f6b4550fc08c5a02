#!/bin/sh
# Instruction traces: packets to a profile, beside libipt's block decoder alone on the same packets and code; memory.  And a
# perf.data file with such packets, beside perf script --itrace=b, where perf is installed and decodes it.
#
#   BENCH_INSN_BYTES=N    bytes of packets (default 200000000; bench/large_insn.sh: 1 GB)
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
# Single-stepping is slow: eight rounds are enough to repeat.
sampler-capture insn --simulate -q -o once.fxt -- ./branches 8 >/dev/null
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

# perf prints branches; it makes no stacks of them.
insnpackets repeat once.fxt 3000000 >few.fxt
"$O/tests/tools/insn_perf_data" few.fxt >perf.data
if ! command -v perf >/dev/null || ! perf script -i perf.data --itrace=b -F ip >branches.txt 2>perf.log || [ ! -s branches.txt ]; then
    echo "no perf that decodes the file: its line is left out"
    exit "$missed"
fi
meter ours fxt2pprof -q --profile insn -o insn.pb.gz perf.data
meter peer perf script -i perf.data --itrace=b -F ip >branches.txt 2>perf.log
ours=$(calc "3 / $(field ours cpu_seconds)")
peer=$(calc "3 / $(field peer cpu_seconds)")
line "perf.data of 3 MB to a profile, CPU time" "$ours MB/s" "$peer MB/s perf --itrace=b" "$(calc "$ours / $peer")" - 1
exit "$missed"
