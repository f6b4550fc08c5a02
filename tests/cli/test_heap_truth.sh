#!/bin/sh
# What a capture estimates of a program that allocates known amounts on known stacks, from the program to the profile: over 200 seeds
# without bias, and with the standard error of the theory.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

seeds=$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "S(%d) ", i }')
for unwind in cfi fp; do
    "${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread -DSEEDS=200 "-DNAMED=$seeds" -o heaptruth \
        "$ROOT/testdata/capture/heaptruth.c"
    FXT_HEAP_SEED=${FXT_TRUTH_SEED:-2} sampler-capture heap --interval 20000 --unwind $unwind -o truth.fxt -- ./heaptruth >truth 2>err ||
        fail "$(cat err)"
    grep -q '^lost: ' err && fail "$(cat err)"
    for type in alloc_objects alloc_space inuse_objects inuse_space; do
        fxt2pprof --profile heap --sample-type $type --format folded truth.fxt >folded.$type 2>err || fail "$(cat err)"
    done
    python3 "$ROOT/tests/tools/heap_truth.py" 20000 truth folded.alloc_objects folded.alloc_space folded.inuse_objects folded.inuse_space ||
        fail "--unwind $unwind: see above"
done
