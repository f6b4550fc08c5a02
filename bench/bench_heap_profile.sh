#!/bin/sh
# How fast heap messages become a profile, beside reading every field of the same trace; and that a longer trace takes no more memory.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
SIZE=${SIZE:-256M}
RUNS=${RUNS:-3}

fxtgen --kind heap --size 64M --stacks 1000 >short.fxt
fxtgen --kind heap --size "$SIZE" --stacks 1000 >heap.fxt
cat heap.fxt >/dev/null
bytes=$(wc -c <heap.fxt)
fxtread --mode all --repeat "$RUNS" heap.fxt >reading

convert() { # convert NAME BOUND OPTION...
    name=$1 least=$2
    shift 2
    meter --runs "$RUNS" figure fxt2pprof -q --no-symbolize "$@" -o out heap.fxt 2>/dev/null
    rate=$(calc "$bytes / 1e6 / $(field figure cpu_seconds)")
    line "$name" "$rate MB/s" "every field $(field reading gb_per_s) GB/s" "$(calc "$rate / 1000 / $(field reading gb_per_s)")" \
        ">= $least MB/s" "$rate >= $least"
}

convert "heap messages to pprof" 200
convert "the same at the peak" 180 --at peak
convert "the same by age" 180 --ages

meter figure fxt2pprof -q --no-symbolize -o out short.fxt 2>/dev/null
short=$(calc "$(field figure max_rss_kib) / 1024")
meter figure fxt2pprof -q --no-symbolize -o out heap.fxt 2>/dev/null
long=$(calc "$(field figure max_rss_kib) / 1024")
line "memory, $SIZE of heap messages" "$long MiB" "64M: $short MiB" "$(calc "$long / $short")" "< 1.2 x" "$long < 1.2 * $short"
exit "$missed"
