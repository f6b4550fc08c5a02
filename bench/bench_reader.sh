#!/bin/sh
# How fast libfxt reads, beside what it takes to read the same bytes and add up their words; and the memory it takes.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
SIZE=${SIZE:-1G}
RUNS=${RUNS:-5}

bound() { # bound GB_PER_S; 0: none
    if [ "$1" = 0 ]; then echo -; else echo ">= $1 GB/s"; fi
}

# The peer is the sum of the file's words: read as a trace is read, and once they are in memory.  The ratio is to the first.
rate_line() { # rate_line NAME FILE FIGURE BOUND
    fxtread --mode sum --repeat "$RUNS" "$2" >summed
    fxtread --mode sum-memory --repeat "$RUNS" "$2" >in_memory
    line "$1" "$3 GB/s" "sum $(field summed gb_per_s), in memory $(field in_memory gb_per_s)" "$(calc "$3 / $(field summed gb_per_s)")" \
        "$(bound "$4")" "$3 >= $4"
}

# A trace lies in the page cache once it was written and read.
rate() { # rate NAME FILE MODE BOUND
    fxtread --mode "$3" --repeat "$RUNS" "$2" >figure
    rate_line "$1" "$2" "$(field figure gb_per_s)" "$4"
}

program() { # program NAME FILE BOUND OPTION...: fxtdump's whole run
    name=$1 file=$2 least=$3
    shift 3
    meter --runs "$RUNS" figure fxtdump "$@" "$file" >/dev/null
    rate_line "$name" "$file" "$(calc "$(wc -c <"$file") / 1e9 / $(field figure cpu_seconds)")" "$least"
}

memory() { # memory NAME BOUND_MIB: of the run in the file figure
    figure=$(calc "$(field figure max_rss_kib) / 1024")
    line "$1" "$figure MiB" "$SIZE trace" - "< $2 MiB" "$figure < $2"
}

fxtgen --kind events --size "$SIZE" >events.fxt
cat events.fxt >/dev/null
rate "every field, 72-byte events" events.fxt all 2
program "fxtdump --stats" events.fxt 4 --stats
program "fxtdump --verify" events.fxt 4 --verify

meter figure fxtdump --stats events.fxt >/dev/null
memory "memory of fxtdump --stats, file" 16
meter figure fxtread events.fxt >/dev/null
memory "memory with every field visited, file" 16
# shellcheck disable=SC2002 # a pipe is what is asked for
cat events.fxt | meter figure fxtdump --stats - >/dev/null
memory "memory of fxtdump --stats, pipe" 16
fxtcat compress -o events.fxt.zst events.fxt
meter figure fxtdump --stats events.fxt.zst >/dev/null
memory "memory of fxtdump --stats, zstd" 32
# shellcheck disable=SC2002
cat events.fxt.zst | meter figure fxtdump --stats - >/dev/null
memory "memory of fxtdump --stats, zstd in a pipe" 32
rm -f events.fxt events.fxt.zst

# 19.2 MHz divides no nanosecond: every time takes two multiplications more.
fxtgen --kind events --rate 19200000 --size "$SIZE" >events.fxt
cat events.fxt >/dev/null
rate "every field, 19.2 MHz clock" events.fxt all 2
program "fxtdump --stats, 19.2 MHz clock" events.fxt 4 --stats
rm -f events.fxt
fxtgen --mix events=70,sched=20,stacks=5,heap=5 --size "$SIZE" >mix.fxt
cat mix.fxt >/dev/null
rate "every field, mixed records" mix.fxt all 0
program "fxtdump --stats, mixed records" mix.fxt 0 --stats
exit "$missed"
