#!/bin/sh
# The symbol cache as a library: its file beside llvm-gsymutil's, what making it adds to decoding, opening, and looking up from a
# sorted batch, a random one, and one by one.
#
#   VMLINUX=FILE    a kernel with debug information too
set -eu
. bench/lib.sh
missed=0
gsymutil=$(command -v llvm-gsymutil || command -v llvm-gsymutil-14 || :)
cd "$WORK"

awk -f "$ROOT/bench/inputs/large_c.awk" >large.c
gcc -O2 -g -o large_c large.c
g++ -std=c++17 -O2 -g -DTYPES=40 -o large_cpp "$ROOT/bench/inputs/large_cpp.cc"

one() { # one NAME OBJECT
    symcache "$2" "$WORK/cache" >figure
    size=$(field figure size_bytes)
    plain=$(field figure plain_size_bytes)
    if [ -n "$gsymutil" ]; then
        "$gsymutil" --convert "$2" --out-file=peer.gsym >/dev/null 2>&1
        peer=$(stat -c %s peer.gsym)
        line "$1, file with columns" "$size B" "$peer B gsymutil" "$(calc "$size / $peer")" "<= 1.6" "$size <= 1.6 * $peer"
        line "$1, file without columns" "$plain B" "$peer B gsymutil" "$(calc "$plain / $peer")" "<= 1.2" "$plain <= 1.2 * $peer"
    fi
    make=$(field figure make_seconds)
    decode=$(field figure decode_seconds)
    line "$1, making the file" "$make s" "$decode s decoding" "$(calc "$make / $decode")" "<= 2" "$make <= 2 * $decode"
    open=$(field figure open_us)
    line "$1, opening" "$open us" - - "<= 100 us" "$open <= 100"
    sorted=$(field figure sorted_per_second)
    line "$1, 1000000 sorted" "$(calc "$sorted / 1e6") M/s" - - ">= 20 M/s" "$sorted >= 20e6"
    random=$(field figure random_per_second)
    line "$1, 1000000 random" "$(calc "$random / 1e6") M/s" - - ">= 5 M/s" "$random >= 5e6"
    single=$(field figure single_ns)
    line "$1, one at a time" "$single ns" - - "<= 1000 ns" "$single <= 1000"
}

one C large_c
one C++ large_cpp
[ -z "${VMLINUX:-}" ] || one kernel "$VMLINUX"
exit "$missed"
