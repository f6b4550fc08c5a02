#!/bin/sh
# Ten gigabytes through a pipe: nothing of them stays, neither in memory nor on the disk.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
SIZE=${SIZE:-10G}

large() { # large NAME COMMAND...: reads the generator's output
    name=$1
    shift
    fxtgen --kind events --size "$SIZE" | meter figure "$@" >out
    figure=$(calc "$(field figure max_rss_kib) / 1024")
    line "memory of $name" "$figure MiB" "$SIZE trace" - "< $bound MiB" "$figure < $bound"
}

bound=16
large "fxtdump --stats, pipe" fxtdump --stats -
large "every field visited, pipe" fxtread -
bound=32
fxtgen --kind events --size "$SIZE" | fxtcat compress -o - - | meter figure fxtdump --stats - >out
figure=$(calc "$(field figure max_rss_kib) / 1024")
line "memory of fxtdump --stats, zstd in a pipe" "$figure MiB" "$SIZE trace" - "< $bound MiB" "$figure < $bound"
exit "$missed"
