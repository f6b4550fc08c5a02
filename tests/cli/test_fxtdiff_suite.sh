#!/bin/sh
# fxtdiff --suite, and run --benchmarks: many benchmarks, one verdict, in every output; the name of the benchmark is with each finding.
set -eu
cd "$WORK"
unset GITHUB_WORKSPACE GITHUB_STEP_SUMMARY CI_PROJECT_DIR

. "$ROOT/tests/cli/fail.sh"

# runs FOLDER FACTOR: six runs of four functions as folded stacks; grow() costs FACTOR times as much.  They vary by about 1 %, and no two
# are equal.
runs() {
    mkdir -p "$1"
    for i in 1 2 3 4 5 6; do
        awk -v i="$i" -v factor="$2" -v name="$1" 'BEGIN {
            srand(i + 100 * length(name) + 1000 * factor)
            split("scan emit grow rest", names); split("4000 3000 1500 2500", costs)
            for (f = 1; f <= 4; f++)
                printf "main;%s %d\n", names[f], costs[f] * (names[f] == "grow" ? factor : 1) * (0.99 + 0.02 * rand())
        }' >"$1/$i.folded"
    done
}

for name in parse render store; do runs old/$name 1; done
runs new/parse 1
runs new/render 1.5
runs new/store 1

# ---- Text, status ----

status=0
fxtdiff --suite old -- new >out 2>err || status=$?
[ $status -eq 1 ] || fail "status $status: $(cat out err)"
head -n 1 out | grep -qx 'FAIL: 1 of 3 benchmarks failed: render' || fail "the summary: $(cat out)"
[ "$(grep -c '^== ' out)" -eq 3 ] || fail "not three: $(cat out)"
sed -n '/^== render/,/^== store/p' out | grep -q 'regressed.*  grow' || fail "no finding: $(cat out)"
if sed -n '/^== parse/,/^== render/p' out | grep -q regressed; then fail "a finding in parse: $(cat out)"; fi
fxtdiff --suite old old2 >out 2>err && fail "a folder that is missing passed"
grep -q 'old2: No such file' err || fail "old2: $(cat err)"

cp -r new same
rm -r same/render
status=0
fxtdiff --suite old -- same >out 2>err || status=$?
[ $status -eq 0 ] || fail "without render: status $status: $(cat out err)"
head -n 1 out | grep -qx 'PASS: 2 of 2 benchmarks passed' || fail "without render: $(cat out)"
grep -q 'old/render: same has no benchmark of this name, so it is not compared' err || fail "nobody misses render: $(cat err)"
fxtdiff --suite same -- new >out 2>err || :
grep -q 'new/render: same has no benchmark of this name, so it is not compared' err || fail "a benchmark that is new: $(cat err)"
mkdir none
status=0
fxtdiff --suite old -- none >out 2>err || status=$?
[ $status -eq 2 ] || fail "nothing in common: status $status"
status=0
fxtdiff --suite old/parse old/store -- new >out 2>err || status=$?
[ $status -eq 2 ] || fail "two folders of a side: status $status"

# Ranked alone, each benchmark has fewer tests: what all of them share is stricter.
fxtdiff --json old/render -- new/render >alone || :
fxtdiff --suite --json old -- new >out 2>err || :
[ "$(grep -c '"benchmark":"[a-z]*","verdict"' out)" -eq 3 ] || fail "JSON: $(cat out)"
q() { sed 's/.*"total":{"base":[^}]*"q":\([0-9.e-]*\).*/\1/'; }
awk -v alone="$(q <alone)" -v shared="$(grep '"benchmark":"render"' out | q)" 'BEGIN { exit !(shared > alone) }' ||
    fail "q of the total: $(q <alone) alone, $(grep '"benchmark":"render"' out | q) of three"

# ---- Other outputs ----

export GITHUB_STEP_SUMMARY="$WORK/summary.md"
fxtdiff --suite --github --junit junit.xml --sarif out.sarif old -- new >out 2>err || :
grep -q '^::error title=fxtdiff function-regressed::render: grow regressed' out || fail "annotations: $(cat out)"
[ "$(grep -c '^::notice title=fxtdiff PASS::' out)" -eq 2 ] || fail "two passed: $(cat out)"
grep -q '^### fxtdiff: FAIL: 1 of 3 benchmarks failed: render' summary.md || fail "summary: $(cat summary.md)"
[ "$(grep -c '^#### ' summary.md)" -eq 3 ] || fail "summary: $(cat summary.md)"
python=python3
python3 -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3 # where the distribution's packages are
"$python" -W ignore "$ROOT/tests/tools/sarif_check.py" out.sarif >findings 2>err || fail "not SARIF: $(tail -n 1 err)"
grep -q '^error|function-regressed|' findings || fail "no finding in SARIF: $(cat findings)"
for name in parse render store; do
    grep -q "\"automationDetails\":{\"id\":\"fxtdiff/$name\"}" out.sarif || fail "SARIF has no run of $name"
    grep -q "<testsuite name=\"fxtdiff.$name\" " junit.xml || fail "JUnit has no suite of $name: $(cat junit.xml)"
done
"$python" - junit.xml <<'END' || fail "JUnit: $(cat junit.xml)"
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
suites = root.findall("testsuite")
for what in ("tests", "failures", "errors"):
    assert int(root.get(what)) == sum(int(suite.get(what)) for suite in suites), what
for suite in suites:
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    assert (int(suite.get("failures")) > 0) == (suite.get("name") == "fxtdiff.render")
END
for output in --folded --pprof=x.pb.gz; do
    status=0
    fxtdiff --suite $output old -- new >out 2>err || status=$?
    [ $status -eq 2 ] || fail "$output of three benchmarks: status $status"
done
unset GITHUB_STEP_SUMMARY

# ---- Baselines: a file for each benchmark ----

mkdir perf
for name in parse render store; do
    fxtdiff baseline create perf/$name.txt old/$name 2>err || fail "baseline: $(cat err)"
done
status=0
fxtdiff --suite perf -- new >out 2>err || status=$?
[ $status -eq 1 ] || fail "baselines: status $status: $(cat out err)"
head -n 1 out | grep -qx 'FAIL: 1 of 3 benchmarks failed: render' || fail "baselines: $(cat out)"

# ---- run --benchmarks ----

. "$ROOT/tests/cli/perf.sh"

mkdir turns
export TMPDIR="$WORK/turns"
cat >list <<'END'
# what is measured
first:  echo {}1 >>order
 second: echo {}2 >>order; true

END
status=0
fxtdiff run -n 2 --warm-up 0 --benchmarks list --base a --new b --keep kept --event page-faults --period 1 >out 2>err || status=$?
[ $status -eq 5 ] || fail "run: status $status: $(cat out err)"
[ "$(tr -d '\n' <order)" = a1b1a2b2b1a1b2a2 ] || fail "order: $(cat order)"
head -n 1 out | grep -qx 'INCONCLUSIVE: 2 of 2 benchmarks are inconclusive: first, second' || fail "run: $(cat out)"
for file in base/first/1 base/first/2 base/second/2 new/first/1 new/second/2; do
    [ -e kept/$file.fxt ] || fail "not kept: $file.fxt; $(find kept)"
done
fxtdiff --suite kept/base -- kept/new 2>/dev/null | sed '/^note: the metric/d' >again || :
sed '/^note: the metric/d' out | cmp -s - again || fail "what was kept compares otherwise: $(cat out again)"
fxtdiff run -n 1 --warm-up 0 --benchmarks list --base a --new b >out 2>err || :
[ -z "$(ls turns)" ] || fail "temporary files are left: $(find turns)"

for line in 'no colon' ': {}' 'a b: {}' 'a.b: {}' '../x: {}' 'same: ./program' '# nothing'; do
    echo "$line" >wrong
    status=0
    fxtdiff run --benchmarks wrong --base a --new b >out 2>err || status=$?
    [ $status -eq 2 ] || fail "'$line': status $status: $(cat err)"
    grep -q '^fxtdiff run: wrong' err || fail "'$line': $(cat err)"
done
printf 'a: {}\na: {}\n' >wrong
status=0
fxtdiff run --benchmarks wrong --base a --new b >out 2>err || status=$?
if [ $status -ne 2 ] || ! grep -q '^fxtdiff run: wrong:2: the name is used twice' err; then fail "twice: status $status: $(cat err)"; fi
status=0
fxtdiff run --benchmarks missing --base a --new b >out 2>err || status=$?
[ $status -eq 4 ] || fail "no list: status $status"
