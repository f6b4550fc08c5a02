#!/bin/sh
# perf.data files of 100,000 stacks of 21 frames: how fast fxt2pprof makes a profile of one and what memory that takes, beside `perf
# script` and `perf report` with the same file.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
SIZE=${SIZE:-200000000}
BOUND=${BOUND:-15} # a fifth of this size's time is for the stacks themselves: 20 is for 1 GB

# An object with symbols and without debug information, so that nobody looks for inlined functions.
objcopy --strip-debug "$O/bin/fxtq" object
perffile --size "$SIZE" "$WORK/object" >perf.data
bytes=$(stat -c %s perf.data)
cat perf.data >/dev/null

meter --runs "${RUNS:-3}" figure fxt2pprof --quiet --no-cache -o profile.pb.gz perf.data
rate=$(calc "$bytes / 1e6 / $(field figure seconds)")
memory=$(calc "$(field figure max_rss_kib) / 1024")
meter peer perf script -i perf.data --no-inline >script.txt 2>/dev/null
[ "$(wc -c <script.txt)" -gt "$bytes" ] || {
    echo 'perf script: less text than the file has bytes'
    exit 1
}
rm script.txt
ratio=$(calc "$(field peer seconds) / $(field figure seconds)")
line "perf.data to a profile, $((bytes / 1000000)) MB" "$rate MB/s" "perf script $(calc "$bytes / 1e6 / $(field peer seconds)")" "$ratio" ">= 300 MB/s" "$rate >= 300"
line "times as fast as perf script" "$ratio" - - ">= $BOUND" "$ratio >= $BOUND"
line "memory of that" "$memory MiB" "perf script $(calc "$(field peer max_rss_kib) / 1024") MiB" - "<= 64 MiB" "$memory <= 64"
meter peer perf report -i perf.data --stdio --no-inline --no-children >report.txt 2>/dev/null
line "times as fast as perf report" "$(calc "$(field peer seconds) / $(field figure seconds)")" \
    "perf report $(calc "$bytes / 1e6 / $(field peer seconds)") MB/s" - - 1
meter figure fxtcat convert -o trace.fxt perf.data 2>/dev/null
line "perf.data to a trace" "$(calc "$bytes / 1e6 / $(field figure seconds)") MB/s" - - - 1
exit $missed
