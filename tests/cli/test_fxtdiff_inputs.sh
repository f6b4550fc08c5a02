#!/bin/sh
# Every kind of input as a run of fxtdiff: traces, pprof profiles and folded stacks of one program say the same, and mix; what is not
# alike is refused in a sentence.  The traces are generated, so that it is known what regressed.
set -eu
. "$ROOT/tests/cli/common.sh"

PATH=$O/bench:$PATH
cd "$WORK"
compare() { # compare STATUS OPTION...: fxtdiff with the symbols of the generated traces
    expected=$1
    shift
    run "$expected" fxtdiff --no-cache --symbols kallsyms "$@"
}

small='--functions 200 --stacks 2000 --samples 20000'
# shellcheck disable=SC2086 # options
{
    diffruns --symbols $small >kallsyms
    for i in 1 2 3 4 5; do
        diffruns $small --seed $i >base$i.fxt
        diffruns $small --seed 10$i --regressed 30 >new$i.fxt
    done
    diffruns $small --period 2000000 >other_period.fxt
    diffruns $small --period 0 >no_period.fxt
}

# ---- Traces ----

compare 1 base?.fxt -- new?.fxt
prints 'FAIL: 1 function regressed'
grep -q 'self  *regressed  *function_number_3$' out || fail "function 3 is not named"
prints 'cpu per run: 20.00 s -> 20.00 s'
compare 0 base1.fxt base2.fxt base3.fxt base4.fxt base5.fxt -- base5.fxt base4.fxt base3.fxt base2.fxt base1.fxt
compare 1 --sample-type samples base?.fxt -- new?.fxt
prints 'samples per run: 20,000 -> 20,000'
# However many are read at once, the report is the same.
compare 1 -j 1 base?.fxt -- new?.fxt
cp out one
compare 1 -j 3 base?.fxt -- new?.fxt
cmp -s out one || fail "--jobs changes the report"
compare 1 --json -j 1 base?.fxt -- new?.fxt
cp out one
compare 1 --json -j 3 base?.fxt -- new?.fxt
cmp -s out one || fail "--jobs changes the JSON"
grep -q '"builds":\["0102030405060708000000000000000000000000 \[kernel\]"\]' out || fail "no build ID in the environment"
grep -q '"period_ns":1000000' out || fail "no period in the environment"

# Without symbols there is one function, and no word on what regressed in it.
run 5 fxtdiff --no-symbolize base?.fxt -- new?.fxt
prints 'note: 100.0 % of the cost of the base is in code without names, most in [kernel] (--symbols)'
prints 'note: 100.0 % of the cost of the new runs is in code without names'
compare 1 base?.fxt -- new?.fxt
if grep -q 'without names' out; then fail "names are there: $(grep 'without names' out)"; fi

# ---- The same as pprof and as folded stacks ----

for i in 1 2 3 4 5; do
    for side in base new; do
        fxt2pprof -q --no-cache --symbols kallsyms -o $side$i.pb.gz $side$i.fxt
        fxt2pprof -q --no-cache --symbols kallsyms --format folded --root none -o $side$i.folded $side$i.fxt
    done
done
compare 1 base?.fxt -- new?.fxt
grep function_number_3 out >expected
for kind in pb.gz folded; do
    compare 1 base?.$kind -- new?.$kind
    grep function_number_3 out | cmp -s - expected || {
        fail "$kind says otherwise"
        grep function_number_3 out | diff expected - || :
    }
done
compare 1 base1.fxt base2.pb.gz base3.folded base4.fxt base5.pb.gz -- new1.folded new2.fxt new3.pb.gz new4.fxt new5.fxt
prints 'FAIL: 1 function regressed'
prints 'note: 2 runs have no sample type: assumed to be cpu in nanoseconds'
compare 1 --sample-type samples base?.pb.gz -- new?.fxt
gzip -k base1.folded
gzip -dc base1.pb.gz >raw.pb
compare 0 base1.folded.gz base2.folded base3.folded base4.folded -- base5.folded base1.folded base2.folded base3.folded
compare 5 base1.pb.gz raw.pb
# Captures of a store: all of them, or one each.
for side in base new; do
    for i in 1 2 3 4 5; do
        fxtq import -q $side$i.fxt -o $side.fxtq
    done
done
compare 1 base.fxtq -- new.fxtq
grep function_number_3 out | cmp -s - expected || {
    fail "stores say otherwise"
    grep function_number_3 out | diff expected - || :
}
compare 1 'base.fxtq#1' base2.fxt base3.pb.gz 'base.fxtq#4' 'base.fxtq#5' -- 'new.fxtq#5' 'new.fxtq#4' 'new.fxtq#3' 'new.fxtq#2' new1.fxt
grep function_number_3 out | cmp -s - expected || fail "captures of stores say otherwise"
compare 5 --no-symbolize --sample-type samples base.fxtq -- new.fxtq
prints 'samples per run: 20,000 -> 20,000'
cp base.fxtq named.fxtq
fxtq symbolize -q --no-cache --symbols kallsyms named.fxtq
compare 0 --no-symbolize named.fxtq -- named.fxtq
grep -q function_number_3 out || fail "names of a store are not used"
compare 2 'base.fxtq#6' -- new.fxtq
says 'base.fxtq: the store has no such capture'
compare 2 --sample-type alloc_space base.fxtq -- new.fxtq
says 'base.fxtq: has no such sample type'
sqlite3 named.fxtq 'UPDATE callsite SET frame_id = 99999'
compare 3 named.fxtq -- new.fxtq
says 'named.fxtq: the store is corrupt: a row refers to 99999, which is not there'
# Through pipes.
gzip -dc base1.pb.gz | compare 5 - base2.fxt
prints 'INCONCLUSIVE: 1 + 1 runs'

# ---- What is not alike ----

compare 2 base?.fxt -- other_period.fxt
says 'base1.fxt was sampled every 1,000,000 ns, other_period.fxt every 2,000,000'
compare 2 base?.fxt -- no_period.fxt
says 'base1.fxt has cpu/nanoseconds, no_period.fxt has samples/count'
compare 5 --sample-type samples base?.fxt -- no_period.fxt
compare 2 --sample-type alloc_space base?.fxt -- new?.fxt
says 'base1.fxt: no sample type alloc_space in its cpu profile, only cpu, samples'
compare 2 --sample-type alloc_space base?.pb.gz -- new?.pb.gz
says 'no sample type alloc_space, only samples, cpu'
# Counts beside nanoseconds.
sed 's/000000$//' base1.folded >counts.folded
compare 2 base?.pb.gz -- counts.folded
says 'they cannot have the same sample type'
compare 5 --profile heap base?.fxt -- new?.fxt
prints 'the base run base1.fxt has no heap samples, only cpu'
compare 5 --pid 1 base?.fxt -- new?.fxt
prints 'has no samples'

# Cut in the middle: what is readable is compared, and said.
head -c 100001 new1.fxt >cut.fxt
compare 3 base?.fxt -- cut.fxt new2.fxt new3.fxt new4.fxt
prints 'the input is damaged'
head -c 3000 new1.pb.gz >cut.pb.gz
compare 3 base?.pb.gz -- cut.pb.gz new2.pb.gz new3.pb.gz new4.pb.gz
says 'cut.pb.gz: '
grep -q PASS out && fail "damaged, and PASS"

# ---- The heap ----

for i in 1 2 3 4; do
    fxtgen --kind heap --count 20000 --processes 1 --seed 5 >heap$i.fxt
done
status=0
fxtdiff --sample-type alloc_space heap1.fxt heap2.fxt heap3.fxt heap4.fxt -- heap4.fxt heap3.fxt heap2.fxt heap1.fxt >out 2>err || status=$?
[ $status -eq 5 ] || fail "heap: status $status: $(cat out err)" # its frames have no names: all is one function
grep -q '^alloc_space per run: .* [KMG]iB -> ' out || fail "no bytes: $(head -n 3 out)"
compare 5 heap1.fxt heap2.fxt heap3.fxt heap4.fxt -- new[1-4].fxt
prints 'the new run new1.fxt has no heap samples, only cpu'

finish
