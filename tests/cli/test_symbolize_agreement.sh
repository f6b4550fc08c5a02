#!/bin/sh
# 100,000 addresses of each of several larger programs: the depth, files and lines of llvm-symbolizer wherever it names a line, names but
# for the classes of tests/differences; the same answers from one batch, many, and one thread.
#
#   VMLINUX=FILE tests/run symbolize_agreement     the kernel too: about 20 s
set -eu

PATH=$PATH:${HOME:-/nonexistent}/.cargo/bin
cd "$WORK"
failed=0

compare() { # compare NAME OBJECT: addresses all over .text, in random order
    # .text of a kernel lies where awk's numbers are not exact: the upper half of its address is text.
    objdump -h "$2" | awk '$2 == ".text" { print substr($4, 1, 8), substr($4, 9), $3 }' | {
        read -r high low size
        awk -v high="$high" -v low=$((0x$low)) -v size=$((0x$size)) 'BEGIN {
            srand(1)
            for (i = 0; i < 100000; i++)
                printf "%s%08x\n", high, low + int(rand() * size)
        }'
    } >addresses
    sed 's/^/0x/' addresses >prefixed
    nm "$2" >symbols
    fxtsym --style llvm --no-demangle -e "$2" <prefixed >ours 2>err
    llvm-symbolizer --no-demangle -e "$2" <prefixed >theirs
    awk -f "$ROOT/tests/tools/symbolize_compare.awk" -v addresses=addresses -v symbols=symbols -v name="$1" -v other=llvm ours theirs || failed=1
    split -l 7777 prefixed part.
    for part in part.*; do
        sed "s,^,$2 ," "$part"
        sleep 0.01
    done | fxtsym --style llvm --no-demangle | cmp - ours || {
        echo "$1: other batches, other answers"
        failed=1
    }
    rm part.*
}

awk -v functions=80 -f "$ROOT/bench/inputs/large_c.awk" >large.c
gcc -O2 -g -o large_c large.c
compare 'C' large_c
g++ -std=c++17 -O2 -g -DTYPES=1 -o large_cpp "$ROOT/bench/inputs/large_cpp.cc"
compare 'C++' large_cpp
clang++ -std=c++17 -O2 -g -DTYPES=1 -o clang_cpp "$ROOT/bench/inputs/large_cpp.cc"
compare 'C++, clang' clang_cpp
if rustc --version >/dev/null 2>&1; then
    rustc -O -g -o rust "$ROOT/testdata/symbolize/main.rs"
    compare 'Rust' rust
else
    echo 'SKIP: rustc is not here'
fi
[ -z "${VMLINUX:-}" ] || compare 'kernel' "$VMLINUX"
exit $failed
