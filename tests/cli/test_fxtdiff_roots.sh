#!/bin/sh
# Roots of stacks that name processes: one program that runs as "./old" and as "./new" is compared with itself, whatever reads its runs.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
cat >runs.py <<'END'
"""Folded stacks of five runs: runs.py PREFIX FACTOR ROOT STACK=COUNT...: 30 functions of ROOT, of which f2 costs FACTOR times as much."""
import random
import sys

prefix, factor, root, *others = sys.argv[1:]
for run in range(5):
    rng = random.Random(f"{prefix} {run}")
    with open(f"{prefix}{run}", "w", encoding="utf-8") as out:
        for k in range(30):
            out.write(f"{root};main;f{k} {round(rng.gauss(10000, 100) / (k + 1) * (float(factor) if k == 2 else 1))}\n")
        for other in others:
            stack, count = other.split("=")
            out.write(f"{stack} {round(float(count) * rng.gauss(1, 0.01))}\n")
END
runs() {
    python3 runs.py "$@"
}
shows() { # shows PATTERN: in a line of standard output
    grep -q -e "$1" out || fail "no $1: $(cat out)"
}

# ---- One process ----

runs old 1 ./old
runs new 1 ./new
runs dear 1.6 ./new
run 0 fxtdiff old? -- new? --rows 0
shows 'RENAMED  *./new (was ./old)$'
prints 'note: "./old" of the base is compared with "./new" of the new runs: both begin stacks of mostly the same functions'
run 1 fxtdiff old? -- dear? --rows 0
shows 'regressed  *f2$'
shows 'functions: 32; 1 regressed, 1 renamed$'

# ---- The same against a baseline, which says what is a root ----

run 0 fxtdiff baseline create roots.txt old?
grep -qx 'fxt-baseline 2' roots.txt || fail "no version 2: $(head -1 roots.txt)"
grep -qx 'root ./old' roots.txt || fail "no root: $(cut -c1-30 roots.txt)"
run 0 fxtdiff roots.txt -- new? --rows 0
shows 'RENAMED  *./new (was ./old)$'
prints 'note: "./old" of the base is compared with "./new" of the new runs'
run 1 fxtdiff roots.txt -- dear? --rows 0
shows 'regressed  *f2$'
shows 'functions: 32; 1 regressed, 1 renamed$'
run 0 fxtdiff baseline create roots2.txt new?
run 0 fxtdiff roots.txt -- roots2.txt
prints 'note: "./old" of the base is compared with "./new" of the new runs'
# One of version 1, which does not say so.
grep -v '^root' roots.txt | sed 's/^fxt-baseline 2/fxt-baseline 1/' >roots1.txt
run 1 fxtdiff roots1.txt -- new? --rows 0
! grep -q RENAMED out || fail "a baseline without roots has one: $(cat out)"

# ---- The same in pprof profiles and in stores ----

for side in old new dear; do
    fxtq import -q -o $side.fxtq $side?
    for i in 0 1 2 3 4; do
        fxtq export -q pprof "$side.fxtq#$((i + 1))" -o $side$i.pb.gz
    done
done
run 0 fxtdiff old.fxtq -- new.fxtq
prints 'note: "./old" of the base is compared with "./new" of the new runs'
run 1 fxtdiff old.fxtq -- dear.fxtq
run 0 fxtdiff old?.pb.gz -- new?.pb.gz
prints 'note: "./old" of the base is compared with "./new" of the new runs'
run 1 fxtdiff old?.pb.gz -- dear?.pb.gz

# ---- Several processes: by name, and the others by what they do ----

runs old 1 ./old 'sh;exec;read=900' 'w1;loop;poll=2000' 'w1;loop;f3=800'
runs new 1 ./new 'sh;exec;read=900' 'w2;loop;poll=2000' 'w2;loop;f3=800'
run 0 fxtdiff old? -- new?
prints 'note: "./old" of the base is compared with "./new" of the new runs'
prints 'note: "w1" of the base is compared with "w2" of the new runs'
shows '2 renamed$'

# ---- A process whose name is that of a function ----

runs old 1 main
runs new 1 main2
run 0 fxtdiff old? -- new?
prints 'note: "main" of the base is compared with "main2" of the new runs'
run 0 fxtdiff new? -- old?

# ---- Processes with their numbers, which each run has others of ----

number=1000
for side in old new dear; do
    factor=1
    [ $side != dear ] || factor=1.6
    runs $side $factor app 'pool-1;take=2000' 'pool-2;take=1500' 'java-vm;gc=900'
    for i in 0 1 2 3 4; do
        number=$((number + 7))
        sed -i "s/^app;/app-$number;/; s/^java-vm;/java-vm-$number\/$((number + 1));/" $side$i
    done
done
run 0 fxtdiff old? -- new? --rows 0
shows ' app$'
shows ' java-vm$'
shows ' pool-1$'
shows ' pool-2$'
! grep -q 'app-1\|java-vm-1\|NEW\|GONE\|RENAMED' out || fail "numbers of processes are names: $(cat out)"
run 1 fxtdiff old? -- dear?
shows 'regressed  *f2$'
shows '^functions: 3[0-9]; 1 regressed$'
# Also through a baseline, which keeps the name alone, and with one new run of another program's name.
run 0 fxtdiff baseline create kept.txt old?
grep -q '^function app	' kept.txt || fail "the baseline has numbers: $(cut -c1-30 kept.txt)"
run 0 fxtdiff kept.txt -- new? --rows 0
! grep -q 'app-1\|NEW\|GONE' out || fail "a baseline is no match: $(cat out)"
run 5 fxtdiff kept.txt -- new0 --rows 0
! grep -q 'app-1\|NEW\|GONE' out || fail "one run is no match: $(cat out)"
run 5 fxtdiff old0 -- new0 --rows 0
! grep -q 'app-1\|NEW\|GONE' out || fail "two runs are no match: $(cat out)"
for i in 0 1 2 3 4; do
    sed -i 's/^app-/app2-/' new$i
done
run 0 fxtdiff old? -- new? --rows 0
prints 'note: "app" of the base is compared with "app2" of the new runs'

# ---- Other processes are no match ----

runs old 1 ./bench 'aux;x;y=3000'
runs new 1 ./bench 'other;p;q=3000'
run 1 fxtdiff old? -- new?
shows 'by callees NEW  *other$'
! grep -q '^note:' out || fail "what is not alike is matched: $(cat out)"
finish
