#!/bin/sh
# Profiles of generated traces are what the generator says they are.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
fxtgen=$O/bench/fxtgen

expect() { # expect WHAT: out is truth
    cmp truth out || fail "$1: $(diff truth out | head -n 4)"
}

for seed in 1 2 3; do
    # Samples and spans in one go; depth reaches what one record can hold.
    for depth in 3 60 250; do
        options="--seed $seed --count 3000 --stacks 300 --depth $depth"
        for kind in sampler profiler; do
            # shellcheck disable=SC2086 # a list of options
            "$fxtgen" --kind $kind $options --truth truth >in.fxt
            folded_addresses in.fxt out
            expect "$kind, depth $depth, seed $seed"
        done
        # shellcheck disable=SC2086
        "$fxtgen" --kind spans $options --truth truth >in.fxt
        for bytes in 0 1000; do
            folded_addresses in.fxt out $bytes
            expect "spans, depth $depth, seed $seed, runs of $bytes bytes"
        done
    done
done

# A raw region knows neither names nor modules: only depths and counts are left to compare.
"$fxtgen" --kind region --count 3000 --stacks 300 --depth 20 --truth whole >in.fxt
sed 's/0x[0-9a-f]*/[unknown]/g' whole |
    awk '{ sum[$1] += $2 } END { for (stack in sum) print stack, sum[stack] }' | LC_ALL=C sort >truth
folded_addresses in.fxt out
expect "region"

# One process alone, by its pid; fxt2pprof shows modules, not addresses.
"$fxtgen" --kind profiler --count 3000 --truth whole >in.fxt
fxt2pprof --quiet --no-symbolize -o all.pb.gz in.fxt
pid=$(gzip -dc all.pb.gz |
    protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/schemas" profile.proto |
    sed -n 's/^    num: //p' | head -n 1)
fxt2pprof --quiet --no-symbolize --format folded --pid "$pid" in.fxt >out
process=$(sed -n '1s/;.*//p' out)
grep "^$process;" whole | sed 's/\([^; ]*\)+0x[0-9a-f]*/[\1]/g' |
    awk '{ sum[$1] += $2 } END { for (stack in sum) print stack, sum[stack] }' | LC_ALL=C sort >truth
[ -s truth ] || fail "no samples of process $process"
expect "--pid $pid"
