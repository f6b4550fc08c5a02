#!/bin/sh
# fxtdiff's outputs, as those who read them do: junitparser, the schema of SARIF, GitHub's runner, flamegraph.pl, Go's pprof.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
HOME=$WORK
PPROF_TMPDIR=$WORK
export HOME PPROF_TMPDIR
unset GITHUB_WORKSPACE GITHUB_STEP_SUMMARY GITHUB_WORKFLOW_REF CI_PROJECT_DIR GITLAB_CI CI_CONFIG_PATH WORKSPACE
same() { # same WHAT: expected is actual
    cmp -s expected actual || {
        fail "$1:"
        diff -u expected actual
    }
}

# encode NAME HOT COLD: a pprof profile whose functions have places; names that are hard to write down
encode() {
    protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >"$1" <<END
sample_type { type: 1 unit: 2 }
sample { location_id: 2 location_id: 1 value: $2 } sample { location_id: 3 location_id: 1 value: $3 } sample { location_id: 1 value: 4000 }
mapping { id: 1 filename: 10 has_functions: true }
location { id: 1 mapping_id: 1 line { function_id: 1 line: 12 } } location { id: 2 mapping_id: 1 line { function_id: 2 line: 34 } }
location { id: 3 mapping_id: 1 line { function_id: 3 line: 56 } }
function { id: 1 name: 3 filename: 4 start_line: 10 } function { id: 2 name: 5 filename: 6 start_line: 30 }
function { id: 3 name: 7 filename: 8 start_line: 50 }
string_table: "" string_table: "samples" string_table: "count" string_table: "main" string_table: "/home/ci/app/src/main.cc"
string_table: "std::map<a, b>::operator[](\"x\" & 'y')" string_table: "/home/ci/app/src/hot, 100%:path.cc" string_table: "cold;er 3"
string_table: "src/cold.cc" string_table: "unused" string_table: "/home/ci/app/app"
END
}
for i in 1 2 3 4 5; do
    encode base$i $((3000 + 10 * i)) $((2900 - 10 * i))
    encode dear$i $((4000 + 10 * i)) $((2900 - 10 * i))
    encode same$i $((3060 - 10 * i)) $((2840 + 10 * i))
done
cat >budgets <<'END'
function main self < 90%
function *operator* self < 5%
cpu < 3s
END

# Packages of the distribution are its own Python's.
with() { # with MODULE: a Python that has it
    for python in python3 /usr/bin/python3; do
        ! "$python" -W ignore -c "import $1" 2>/dev/null || {
            echo "$python"
            return
        }
    done
    echo python3
}

# ---- JUnit ----

cat >junit.py <<'END'
import sys
from junitparser import JUnitXml, Failure, Error, Skipped
xml = JUnitXml.fromfile(sys.argv[1])
for suite in xml:
    counts = {Failure: 0, Error: 0, Skipped: 0}
    for case in suite:
        for result in case.result:
            if type(result) in counts:
                counts[type(result)] += 1
        print(case.classname, case.name, case._elem.get("file") or "-", case._elem.get("line") or "-",
              [(type(r).__name__, r.type) for r in case.result if type(r) in counts], sep="|")
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == \
        (len(list(suite)), counts[Failure], counts[Error], counts[Skipped]), "counts"
END
jenkins() { # jenkins FILE: its plugin xUnit takes it
    xmllint --noout --schema "$ROOT/testdata/fxtdiff/junit-jenkins.xsd" "$1" 2>err || fail "Jenkins refuses $1: $(cat err)"
}
run 1 fxtdiff base? -- dear? --junit junit.xml --budget budgets -q
jenkins junit.xml
"$(with junitparser)" junit.py junit.xml >actual || fail "junitparser does not read it"
cat >expected <<'END'
fxtdiff|conclusive|-|-|[]
fxtdiff|total|-|-|[('Failure', 'total-regressed')]
fxtdiff.budget|function main self < 90%|-|-|[]
fxtdiff.budget|function *operator* self < 5%|-|-|[('Failure', 'budget-exceeded')]
fxtdiff.budget|cpu < 3s|-|-|[('Error', 'budget-exceeded')]
fxtdiff.function|std::map<a, b>::operator[]("x" & 'y')|-|-|[('Failure', 'function-regressed')]
fxtdiff.function|cold;er 3|-|-|[]
fxtdiff.function|main|-|-|[]
END
sort expected >sorted && mv sorted expected
sort actual >sorted && mv sorted actual
same "JUnit"
python3 -c 'import sys, xml.dom.minidom as m; m.parse("junit.xml")'
GITHUB_WORKSPACE=/home/ci/app/ fxtdiff base? -- dear? --junit junit.xml -q || true
grep -q 'type="function-regressed">src/hot, 100%:path.cc:30<' junit.xml || fail "GITHUB_WORKSPACE is not taken off"
GITLAB_CI=true CI_PROJECT_DIR=/home/ci fxtdiff base? -- dear? --junit junit.xml -q || true
grep -q 'file="app/src/hot' junit.xml || fail "CI_PROJECT_DIR is not taken off"
run 0 fxtdiff base? -- same? --junit junit.xml -q
jenkins junit.xml
grep -q '<testsuites tests="5" failures="0" errors="0" time="0"' junit.xml || fail "a pass fails: $(cat junit.xml)"
run 5 fxtdiff base1 -- same1 --junit junit.xml -q
jenkins junit.xml
grep -q 'failures="0" errors="1"' junit.xml || fail "what is inconclusive passes"
# The check can say no.
sed 's/<testcase /<testcase file="a" /' junit.xml >refused.xml
! xmllint --noout --schema "$ROOT/testdata/fxtdiff/junit-jenkins.xsd" refused.xml 2>/dev/null || fail "Jenkins would take a file of a test case"
run 1 fxtdiff base? -- dear? --junit - -q
head -n 1 out | grep -q '^<?xml' || fail "- is not standard output"

# ---- SARIF ----

sarif() { # sarif FILE: to actual
    "$(with jsonschema)" -W ignore "$ROOT/tests/tools/sarif_check.py" "$1" >actual 2>err || fail "$1 is not SARIF: $(tail -n 1 err)"
}
cat >suppressions <<'END'
# known
function *operator* until 2030-01-01: the cure: worse than the illness
END
run 1 fxtdiff base? -- dear? --sarif log.sarif --budget budgets -q
sarif log.sarif
cat >expected <<'END'
error|total-regressed|file:///home/ci/app/src/hot, 100%:path.cc|30|[]
error|function-regressed|file:///home/ci/app/src/hot, 100%:path.cc|30|[]
error|budget-exceeded|file:///home/ci/app/src/hot, 100%:path.cc|30|[]
warning|budget-exceeded|budgets|3|[]
FAIL 1
END
same "SARIF"
grep -q 'hot,%20100%25%3Apath.cc' log.sarif || fail "the URI is not one"
run 1 fxtdiff base? -- dear? --sarif log.sarif --suppressions suppressions --today 2029-12-31 -q
sarif log.sarif
cat >expected <<'END'
error|total-regressed|file:///home/ci/app/src/hot, 100%:path.cc|30|[]
note|function-regressed|file:///home/ci/app/src/hot, 100%:path.cc|30|['the cure: worse than the illness, until 2030-01-01']
FAIL 1
END
same "SARIF with suppressions"
run 5 fxtdiff base1 -- same1 --sarif log.sarif -q
sarif log.sarif
grep -q '^warning|inconclusive|src/cold.cc|50' actual || fail "SARIF of nothing conclusive: $(cat actual)"
run 5 env GITHUB_WORKFLOW_REF=me/app/.github/workflows/gate.yml@refs/heads/main fxtdiff base1 -- same1 --sarif log.sarif -q
sarif log.sarif
grep -q '^warning|inconclusive|.github/workflows/gate.yml|1' actual || fail "not in the workflow: $(cat actual)"
run 5 env GITLAB_CI=true fxtdiff base1 -- same1 --sarif log.sarif -q
sarif log.sarif
grep -q '^warning|inconclusive|.gitlab-ci.yml|1' actual || fail "not in GitLab's file: $(cat actual)"
for i in 1 2 3 4 5; do
    echo "main;hot $((50000 + i)) " >bare$i
    echo "main;cold $((50000 + i))" >>bare$i
    sed 's/hot 5/hot 9/' bare$i >worse$i
done
run 1 fxtdiff bare? -- worse? --sarif log.sarif -q
sarif log.sarif
grep -q '^error|total-regressed|fxtdiff|1' actual || fail "functions without places: $(cat actual)"
run 0 fxtdiff base? -- same? --sarif log.sarif -q
sarif log.sarif
echo 'PASS 0' >expected
same "SARIF of a pass"
# The check can say no: to a log that is broken in one place.
run 1 fxtdiff base? -- dear? --sarif log.sarif -q
sarif log.sarif
# shellcheck disable=SC2016 # a key of JSON
grep -qF '"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"' log.sarif || fail "no schema: $(head -c 200 log.sarif)"
cat >break.py <<'END'
import json, sys
log = json.load(open("log.sarif"))
run, result = log["runs"][0], log["runs"][0]["results"][0]
place = result["locations"][0]["physicalLocation"]
exec(sys.argv[1])
json.dump(log, open("broken.sarif", "w"))
END
while read -r change; do
    python3 break.py "$change"
    if "$(with jsonschema)" -W ignore "$ROOT/tests/tools/sarif_check.py" broken.sarif >actual 2>err; then
        fail "taken for SARIF: $change"
    fi
    grep -q '^/' err || fail "not the schema refuses $change: $(tail -n 1 err)"
done <<'END'
log["version"] = "2.0.0"
log["$schema"] = "not a URI"
del log["runs"]
run["more"] = 1
del run["tool"]["driver"]["name"]
run["tool"]["driver"]["rules"] *= 2
run["invocations"][0]["exitCode"] = "1"
del run["invocations"][0]["executionSuccessful"]
result["level"] = "fatal"
del result["message"]
result["ruleIndex"] = -2
place["region"]["startLine"] = 0
place["artifactLocation"]["uri"] = "a file.c"
place["artifactLocation"]["uri"] = "50%.c"
place["artifactLocation"]["uri"] = "map:of c"
del run["tool"]["driver"]["rules"][0]["help"]
del run["tool"]["driver"]["rules"][1]["fullDescription"]
run["tool"]["driver"]["rules"][0]["name"] = "inconclusive"
del result["locations"]
del place["region"]
place["artifactLocation"]["uri"] = "runs/new-1.fxt"
del result["partialFingerprints"]
END
# Where Microsoft's validator is installed, by itself.
if command -v Sarif.Multitool >multitool; then
    "$(cat multitool)" validate --rule-kind 'Sarif;Ghas' log.sarif --output validated --log ForceOverwrite >actual 2>&1 || true
    grep -q 'Analysis completed successfully' actual || fail "Sarif.Multitool: $(cat actual)"
    ! grep ': error ' actual || fail "GitHub refuses the log"
fi

# ---- GitHub: as actions/runner takes a command apart ----

cat >github.py <<'END'
import re, sys
for line in open(sys.argv[1]):
    found = re.fullmatch(r"::(\w+)(?: (.*?))?::(.*)\n", line)
    if not found:
        continue
    def plain(text, more=()):
        for code, character in (*more, ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, character)
        return text
    properties = dict(pair.split("=", 1) for pair in (found[2] or "").split(","))
    print(found[1], *(plain(properties.get(k, "-"), (("%3A", ":"), ("%2C", ","))) for k in ("file", "line", "title")), plain(found[3]), sep="|")
END
echo 'from an earlier command' >summary.md
GITHUB_WORKSPACE=/home/ci/app GITHUB_STEP_SUMMARY=$WORK/summary.md fxtdiff base? -- dear? --github >out || true
python3 github.py out >actual
grep -q "^error|src/hot, 100%:path.cc|30|fxtdiff function-regressed|std::map<a, b>::operator\[\](\"x\" & 'y') regressed: own cost +33" actual ||
    fail "no annotation at the function: $(cat actual)"
grep -q '^error|src/hot, 100%:path.cc|30|fxtdiff total-regressed|the total regressed: +10' actual || fail "no annotation of the total: $(cat actual)"
[ "$(head -n 1 summary.md)" = 'from an earlier command' ] || fail "the summary was not appended to"
fxtdiff base? -- dear? --markdown >markdown || true
tail -n +2 summary.md | cmp -s - markdown || fail "the summary is not the report"
# One run a side has neither intervals nor q; a row that was not tested has none either.
run 5 fxtdiff --markdown base1 -- same1
! grep -q '±' out || fail "intervals of one run: $(cat out)"
grep -q '^|  | .main. | self | 40.40 % | 40.40 % | +0.00 | +0.0% |  |' out || fail "a row of one run: $(grep main out)"
run 5 fxtdiff base1 -- same1
! grep -q '±\|[0-9]%  *[01]\.[0-9]*  self' out || fail "intervals or q of one run: $(cat out)"
for i in 1 2 3 4; do
    printf 'main;f 100000\nmain;g 9%s000\nmain;rare 3%s\n' $i $i >rows$i
    printf 'main;f 100000\nmain;g 9%s100\nmain;rare 3%s\n' $i $i >again$i
done
run 0 fxtdiff --markdown rows? -- again? --rows 0
grep '| .rare. |' out | grep -qv '±' || fail "an interval of what was not tested: $(grep rare out)"
grep '| .g. |' out | grep -q ' ± ' || fail "no interval of what was tested: $(cat out)"
run 0 fxtdiff base? -- same? --github
grep -q '^::notice title=fxtdiff PASS::5 + 5 runs' out || fail "no notice of a pass: $(cat out)"
run 5 fxtdiff base1 -- same1 --github
grep -q '^::warning file=src/cold.cc,line=50,title=fxtdiff inconclusive::inconclusive: 1 + 1 runs' out || fail "no warning: $(cat out)"
GITHUB_STEP_SUMMARY=/nowhere/summary run 4 fxtdiff base? -- same? --github
grep -q '^fxtdiff: /nowhere/summary: ' err || fail "$(cat err)"

# ---- Folded stacks, two columns ----

run 1 fxtdiff base? -- dear? --folded=two -q
cat >expected <<'END'
main 4000 4000
main;cold:er_3 2870 2870
main;std::map<a, b>::operator[]("x" & 'y') 3030 4030
END
cp two actual
same "folded stacks"
flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
perl "$flamegraph" --hash two >svg 2>err
[ ! -s err ] || fail "flamegraph.pl: $(cat err)"
grep -q "operator\[\](&quot;x&quot; &amp; 'y') (4,030 samples, 36.97%; +9.17%)" svg || fail "flamegraph.pl draws: $(grep '<title>' svg)"
# Of one run a side, what difffolded.pl gives: the union of both, sorted here.
for seed in 1 2; do
    "$O/bench/fxtgen" --kind spans --stacks 40 --depth 6 --count 2000 --seed $seed >spans$seed.fxt
    fxt2pprof -q --format folded --root none -o spans$seed.folded spans$seed.fxt
    fxt2pprof -q -o spans$seed.pb.gz spans$seed.fxt
done
awk '{ n = $NF; sub(/ [0-9]+$/, ""); all[$0]; if (FNR == NR) a[$0] += n; else b[$0] += n }
    END { for (s in all) print s, a[s] + 0, b[s] + 0 }' spans1.folded spans2.folded | LC_ALL=C sort >expected
run 5 fxtdiff spans1.folded spans2.folded --folded=actual -q
LC_ALL=C sort actual >sorted && mv sorted actual
same "difffolded"

# ---- pprof: what pprof -diff_base shows of the same two ----

top() { # top PPROF-OPTION...: the table alone, sorted
    go tool pprof -top "$@" 2>err | sed '1,/flat%/d' | sed 's/  *[^ ]*%//2' | sort
    [ ! -s err ] || fail "pprof complains: $(cat err)"
}
run 5 fxtdiff spans1.pb.gz spans2.pb.gz --pprof=diff.pb.gz -q
top -diff_base spans1.pb.gz spans2.pb.gz >expected
top diff.pb.gz >actual
[ "$(wc -l <expected)" -gt 10 ] || fail "pprof shows nothing: $(cat expected)"
same "pprof -diff_base"
run 1 fxtdiff base? -- dear? --pprof=diff.pb.gz -q
go tool pprof -top -lines diff.pb.gz >actual
grep -q '1000 10.10% .* /home/ci/app/src/hot, 100%:path.cc:30' actual || fail "pprof of several runs: $(cat actual)"
grep -q 'of 9900 total' actual || fail "percentages are not of the base: $(cat actual)"
go tool pprof -raw diff.pb.gz >actual
grep -q 'pprof::base:\[true\]' actual || fail "no label of the base"

is_xml() { # is_xml FILE
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"
}

# ---- Names that want to be something else ----

python3 - <<'END'
names = [b"::error file=x::pwned", b"a|b`c``d", b"<script>alert(1)</script>", b"\x1b[31mred", b"bad\xff\xfeutf", b"@mention #12 http://x.y",
         b"quote\"'&amp;]]>", b"\xef\xbf\xbe\xef\xbf\xbf none", b"\xed\xa0\x80half", b"tab\there", b"cr\rhere", b"\xc2\x85next", b"a\\|<b>x",
         b"%0A::error::x", b"\xf4\x90\x80\x80high", b"\xe2\x80\xaebidi", b"***bold***_x_", "\U0001f642".encode()]
for run in range(4):
    for side, cost in (("hbase", 1000), ("hdear", 1600)):
        with open(f"{side}{run}", "wb") as out:
            out.write(b"main;plain 500\n" * 300)  # what is sniffed at is plain
            for k, name in enumerate(names):
                out.write(b"main;%s %d\n" % (name, (cost if k % 3 == 0 else 1000) + (run * 7 + k) % 10))
END
printf 'function *mention* until 2030-01-01: <b>&"known"\n' >why
printf 'function <script>* self < 0.1%%\n' >limits
run 1 fxtdiff hbase? -- hdear? --junit hard.xml --sarif hard.sarif --github --suppressions why --today 2029-01-01 --budget limits
is_xml hard.xml 2>err || fail "JUnit is no XML: $(head -n 3 err)"
sarif hard.sarif
grep -a '[[:cntrl:]]' out && fail "control characters on standard output"
grep -c '^::' out >count
[ "$(grep -c '^::\(error\|warning\|notice\) \(file=.*,\)\{0,1\}title=fxtdiff' out)" -eq "$(cat count)" ] || fail "an annotation that is none of ours: $(cat out)"
run 1 fxtdiff hbase? -- hdear? --json
# JSON has the names as they are, and so have folded stacks; the text shows escapes.
python3 - <<'END' || fail "JSON of hard names"
import json
text = open("out", encoding="utf-8", errors="strict").read()
names = {function["name"] for function in json.loads(text)["functions"]} | {function["base"]["name"] for function in json.loads(text)["functions"]}
for name in ("\x1b[31mred", "\x85next", "\u202ebidi***"[:5], "bad\ufffd\ufffdutf", "<script>alert(1)</script>"):
    assert any(known.startswith(name) for known in names), (name, names)
assert "\x1b" not in text and "\x85" not in text and "\u202e" not in text, "not escaped"
END
run 1 fxtdiff hbase? -- hdear? --rows 0
grep -qF 'x1b[31mred' out || fail "the text has no escapes: $(cat out)"
run 1 fxtdiff hbase? -- hdear? --markdown
# shellcheck disable=SC2016 # backquotes of Markdown
grep -qF '`@mention #12 http://x.y`' out || fail "a mention is no code: $(grep mention out)"
run 1 fxtdiff hbase? -- hdear? --folded=hard.folded --pprof=hard.pb.gz -q
for name in '\302\205next' '\342\200\256bidi' 'bad\377\376utf'; do
    # shellcheck disable=SC2059 # its escapes are meant
    printf "main;$name" >name
    grep -qaF -f name hard.folded || fail "folded stacks have escapes: $name"
done
# SVG is UTF-8; the others go through flamegraph.pl as they are.
python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read().decode(errors="ignore").translate({0xfffe: None, 0xffff: None}).encode())' <hard.folded >hard.utf8
perl "$flamegraph" hard.utf8 >svg 2>err
[ ! -s err ] || fail "flamegraph.pl: $(cat err)"
is_xml svg 2>err || fail "the flame graph is no XML: $(head -n 3 err)"
go tool pprof -top hard.pb.gz >actual 2>err || fail "pprof: $(cat err)"
grep -q '::error file=x::pwned' actual || fail "pprof lacks a name: $(cat actual)"

# ---- Outputs do not get into each other's way ----

refused() { # refused SENTENCE OPTION...
    sentence=$1
    shift
    run 2 fxtdiff base? -- same? "$@"
    grep -qF -e "$sentence" err || fail "not said: $sentence, but $(cat err)"
    [ ! -s out ] || fail "$*: something is written all the same"
}
refused '--junit and --sarif both write to both' --junit both --sarif both
[ ! -e both ] || fail "both is written all the same"
refused '--json and --markdown both write to standard output' --json --markdown
refused '--json and --github both write to standard output' --json --github
refused '--junit and --folded both write to standard output' --folded --junit -
status=0
fxtdiff run --base nonsense --new nonsense --json --markdown 2>err || status=$?
[ $status -eq 2 ] || fail "fxtdiff run finds out after its captures: $(cat err)"
# So with what is held against them.
echo 'function main self < 5 parsecs' >typing
for option in "--budget typing" "--budget missing" "--suppressions typing" "--today tomorrow"; do
    status=0
    # shellcheck disable=SC2086 # two words
    fxtdiff run $option --base 'touch captured' --new nonsense >out 2>err || status=$?
    case $option in *missing) expected=4 ;; *) expected=2 ;; esac
    [ $status -eq $expected ] || fail "fxtdiff run $option: status $status: $(cat out err)"
    [ ! -e captured ] || fail "fxtdiff run $option finds out after its captures: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "fxtdiff run $option: $(cat err)"
done
# An operand that stands where a file is meant to is not overwritten.
cp base1 kept
status=0
fxtdiff --junit kept base? -- same? 2>err || status=$?
[ $status -eq 2 ] || fail "a trace would be overwritten: status $status"
grep -q '^fxtdiff: --junit would overwrite kept, which is an input' err || fail "a trace would be overwritten: $(cat err)"
cmp -s base1 kept || fail "a trace is overwritten"
run 0 fxtdiff --folded base? -- same?
[ "$(head -c 6 out)" != 'PASS: ' ] || fail "--folded in front of runs: $(head -3 out)"
# What is alone on standard output is for another program.
run 0 fxtdiff base? -- same? --junit -
is_xml out 2>err || fail "--junit -: $(cat out)"
run 0 fxtdiff base? -- same? --folded
cat out >actual
run 0 fxtdiff base? -- same? --folded=expected -q
same "--folded"
# On a full disk.
for option in junit sarif folded pprof; do
    run 4 fxtdiff base? -- same? --$option=/dev/full -q
    grep -q '^fxtdiff: /dev/full: No space left on device' err || fail "--$option on a full disk: $(cat err)"
done
status=0
fxtdiff base? -- same? >/dev/full 2>err || status=$?
[ $status -eq 4 ] || fail "the text on a full disk: status $status"

# ---- A file that cannot be written is one message and status 4; what it was stays ----

for option in junit sarif folded pprof; do
    run 4 fxtdiff base? -- same? --$option=/nowhere/file -q
    grep -q '^fxtdiff: /nowhere/file: No such file or directory' err || fail "--$option=/nowhere/file: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "--$option says more than one thing: $(cat err)"
done
finish
