#!/bin/sh
# How fast fxtq import takes CPU samples of 20 frames, beside bare SQLite that only writes as many rows; how large the store is beside
# the trace; the memory it takes; and how soon a store answers.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
COUNT=${COUNT:-10000000}
RUNS=${RUNS:-3}

best_import() { # best_import TRACE: best=seconds of RUNS
    best=
    for _ in $(seq "$RUNS"); do
        rm -f store.fxtq
        meter figure fxtq import --quiet "$1" -o store.fxtq
        seconds=$(field figure seconds)
        [ -n "$best" ] && [ "$(calc "$best < $seconds")" = 1.00 ] || best=$seconds
    done
}

# import NAME LEAST FXTGEN_OPTION...
import() {
    name=$1 least=$2
    shift 2
    fxtgen --count "$COUNT" --stacks 100000 --depth 20 "$@" >trace.fxt
    cat trace.fxt >/dev/null
    best_import trace.fxt
    sqlrows peer.db samples "$COUNT" 0 >peer
    rate=$(calc "$COUNT / 1e6 / $best")
    bare=$(calc "$COUNT / 1e6 / $(field peer seconds)")
    line "$name" "$rate M/s" "bare SQLite $bare M/s" "$(calc "$rate / $bare")" ">= $least M/s" "$rate >= $least"
    ratio=$(calc "$(wc -c <store.fxtq) / $(wc -c <trace.fxt)")
    line "$name, size" "$(calc "$(wc -c <store.fxtq) / $COUNT") B each" "FXT $(calc "$(wc -c <trace.fxt) / $COUNT") B" "$ratio" "<= 0.25" "$ratio <= 0.25"
    memory=$(calc "$(field figure max_rss_kib) / 1024")
    line "$name, memory" "$memory MiB" "$COUNT samples" - "< 256 MiB" "$memory < 256"
}

# answer NAME SQL MOST_MS: fxtq's whole run, beside the sqlite3 shell's.
answer() {
    meter --runs 10 figure fxtq store.fxtq "$2" >/dev/null
    ms=$(calc "$(field figure seconds) * 1000")
    meter --runs 10 figure sqlite3 store.fxtq "$2" >/dev/null
    line "$1" "$ms ms" "sqlite3 $(calc "$(field figure seconds) * 1000") ms" "$(calc "$ms / 1000 / $(field figure seconds)")" "< $3 ms" "$ms < $3"
}

import "samples, 100 000 stacks in 3 processes" 1.5
answer "opening it" "SELECT 1" 50
answer "a sample by its id, opening included" "SELECT * FROM cpu_sample WHERE id = $((COUNT / 2))" 50
import "the same, modules last, CPUs interleaved" 0 --kind profiler
exit "$missed"
