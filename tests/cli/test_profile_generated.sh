#!/bin/sh
# Profiles of generated traces are what the generator says they are.
set -eu

fail() {
    echo "$1" >&2
    exit 1
}
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
            profile_convert in.fxt out --folded --value 0 --vaddrs
            expect "$kind, depth $depth, seed $seed"
        done
        # shellcheck disable=SC2086
        "$fxtgen" --kind spans $options --truth truth >in.fxt
        for bytes in 0 1000; do
            profile_convert in.fxt out --folded --span --sort-bytes $bytes
            expect "spans, depth $depth, seed $seed, runs of $bytes bytes"
        done
    done
done

# A raw region knows neither names nor modules: only depths and counts are left to compare.
"$fxtgen" --kind region --count 3000 --stacks 300 --depth 20 --truth whole >in.fxt
sed 's/0x[0-9a-f]*/[unknown]/g' whole |
    awk '{ sum[$1] += $2 } END { for (stack in sum) print stack, sum[stack] }' | LC_ALL=C sort >truth
profile_convert in.fxt out --folded --value 0
expect "region"

# One process alone, by its pid.
"$fxtgen" --kind profiler --count 3000 --truth whole >in.fxt
profile_convert in.fxt all --raw
pid=$(protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/schemas" profile.proto <all |
    sed -n 's/^    num: //p' | head -n 1)
profile_convert in.fxt out --folded --value 0 --vaddrs --pid "$pid"
process=$(sed -n '1s/;.*//p' out)
grep "^$process;" whole >truth
expect "--pid $pid"
