#!/bin/sh
# How fast fxtq import takes events and scheduling records, beside bare SQLite that only writes as many rows; how large the store
# is beside the trace; and the memory it takes.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
COUNT=${COUNT:-4000000}
RUNS=${RUNS:-3}

# import NAME MILLION_PER_S SIZE_RATIO TABLE ARGS FXTGEN_OPTION...
# Rates are of records: a slice written as begin and end is two.  The peer writes as many rows as there are slices.
import() {
    name=$1 least=$2 most=$3 table=$4 args=$5
    shift 5
    fxtgen --count "$COUNT" "$@" >trace.fxt
    # Which reads it into the page cache as well.
    records=$(fxtdump --stats trace.fxt | awk '/ (event|context_switch|thread_wakeup)$/ { gsub(",", "", $1); n += $1 } END { print n }')
    best=
    for _ in $(seq "$RUNS"); do
        rm -f store.fxtq
        meter figure fxtq import --quiet trace.fxt -o store.fxtq
        seconds=$(field figure seconds)
        [ -n "$best" ] && [ "$(calc "$best < $seconds")" = 1.00 ] || best=$seconds
    done
    sqlrows peer.db "$table" "$COUNT" "$args" >peer
    rate=$(calc "$records / 1e6 / $best")
    bare=$(calc "$records / 1e6 / $(field peer seconds)")
    line "$name" "$rate M/s" "bare SQLite $bare M/s" "$(calc "$rate / $bare")" ">= $least M/s" "$rate >= $least"
    ratio=$(calc "$(wc -c <store.fxtq) / $(wc -c <trace.fxt)")
    line "$name, size" "$(calc "$(wc -c <store.fxtq) / $records") B each" "FXT $(calc "$(wc -c <trace.fxt) / $records") B" "$ratio" \
        "<= $most" "$ratio <= $most"
    memory=$(calc "$(field figure max_rss_kib) / 1024")
    line "$name, memory" "$memory MiB" "$COUNT records" - "< 256 MiB" "$memory < 256"
    rm -f trace.fxt store.fxtq peer.db
}

import "slices, no arguments, 24 bytes" 1.0 2 slices 0 --kind events --args 0
import "slices, 2 arguments, 48 bytes" 0.5 2 slices 2 --kind events --args 2
import "slices, 1 argument, 72 bytes" 0.5 1.3 slices 1 --kind events
import "nested slices, out of order" 1.0 2 slices 0 --kind spans
import "scheduling records" 1.0 2 sched 0 --kind sched
exit "$missed"
