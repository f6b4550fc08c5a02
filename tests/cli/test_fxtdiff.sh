#!/bin/sh
# fxtdiff's verdicts and exit statuses, from runs whose numbers can be read here; what it says of input that cannot be compared;
# matching of names.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
is_silent() {
    [ ! -s err ] || {
        fail "on standard error:"
        cat err
    }
}

# folded FILE LINE...: a run of folded stacks
folded() {
    file=$1
    shift
    printf '%s\n' "$@" >"$file"
}

# Six runs a side: hot regressed by 16 % in the new build, gone went, fresh came; the rest is as it was but for a little noise.
for i in 1 2 3 4 5 6; do
    folded "base$i" "main;work;hot $((5000 + i * 30))" "main;work;cold $((3000 - i * 10))" "main;io $((9000 + i * 10))" "main;gone $((400 + i))"
    folded "same$i" "main;work;hot $((5200 - i * 30))" "main;work;cold $((2940 + i * 10))" "main;io $((9060 - i * 10))" "main;gone $((405 - i))"
    folded "dear$i" "main;work;hot $((6000 - i * 30))" "main;work;cold $((3000 - i * 10))" "main;io $((9000 + i * 10))" "main;fresh $((400 + i))"
done

# ---- Verdicts ----

run 0 fxtdiff base? -- same?
prints 'PASS'
prints '6 + 6 runs'
prints 'power: 6 + 6 runs detect with 80 % probability a regression of: total 5.2 %'
is_silent

run 1 fxtdiff base? -- dear?
prints 'FAIL: '
grep -q 'regressed  *hot$' out || fail "hot is not named"
grep -q 'regressed NEW  *fresh$' out || fail "fresh is not named"
grep -q 'improved GONE  *gone$' out || fail "gone is not named"
is_silent

# Improved is no failure.
run 0 fxtdiff dear? -- base? --rows 3 --min-share 30pp
run 1 fxtdiff dear? -- base? # for what is new in it

# Fewer than four runs a side never fail, whatever they show.
run 5 fxtdiff base1 base2 base3 -- dear?
prints 'INCONCLUSIVE: 3 + 6 runs: a gate needs at least 4 + 4'
run 5 fxtdiff base1 dear1
prints 'INCONCLUSIVE: 1 + 1 runs'

# Noise that hides what is asked for, and how many runs would do.
for i in 1 2 3 4; do
    folded "noisy$i" "main;hot $((5000 + (i % 2) * 1500))" "main;cold $((9000 + (i % 2) * 2700))"
done
run 5 fxtdiff noisy? -- noisy?
prints 'INCONCLUSIVE: too noisy: '
grep -q 'too noisy: .* [0-9]* + [0-9]* runs would detect it$' out || fail "not said how many runs would do"

# What divides the counts of one or two stacks by chance is no period: these are 5,000 samples and more a run.
for i in 1 2 3 4; do
    folded "one_stack$i" "main;hot $((5000 + i * 10))"
    folded "two_stacks$i" "main;hot $((50000 + (i % 2) * 1000))" "main;cold $((90000 + (i % 2) * 1000))"
done
run 5 fxtdiff one_stack? -- one_stack?
prints 'samples per run: 5,025 -> 5,025'
run 0 fxtdiff --json two_stacks? -- one_stack?
grep -q '"cost":142000,"samples":142000' out || fail "a period of 1000 was made up"

# Few samples see nothing: that is no PASS, unless nothing is required of functions.
for i in 1 2 3 4; do
    folded "few$i" "main;hot $((9 + i % 2))" "main;cold $((11 - i % 2))"
done
run 5 fxtdiff few[1-4] -- few[1-4]
prints 'INCONCLUSIVE: too little power: a function of 5 % that regressed by 25 % would not be detected; '
grep -q 'detected; [0-9]* + [0-9]* runs, or [0-9,]* samples in each run, would detect it$' out || fail "not said what would do"
run 5 fxtdiff few[1-4] -- few[1-4] --need-change 500%
run 0 fxtdiff few[1-4] -- few[1-4] --need-share 0 --min-total 50%
run 0 fxtdiff base? -- same? --floor 20% # which is then the share that is required

# Runs that vary too much for the total: the functions decide, and the report says so.
for i in 1 2 3 4 5; do
    folded "swing$i" "main;hot $((5000 * (95 + i * 2) / 100))" "main;cold $((9000 * (95 + i * 2) / 100))"
done
run 0 fxtdiff swing? -- swing?
prints 'PASS: decided by the functions: runs vary by '

# Nanoseconds beside counts, without a word about either.
for i in 1 2 3 4; do
    folded "nano$i" "main;hot $((5000000000 + i * 1000000))" "main;cold $((3000000000 - i * 1000000))"
done
run 2 fxtdiff nano? -- same?
says 'they cannot have the same sample type'

# Nothing large enough to be tested.
run 5 fxtdiff base? -- same? --floor 100%
prints 'no function has a share from 100 % to below 100 %'

# ---- Options ----

run 0 fxtdiff base? -- dear? --min-share 30pp
run 0 fxtdiff base? -- dear? --min-rel 1000% --min-share 30pp
run 1 fxtdiff --metric self base? -- dear?
run 1 fxtdiff --metric total base? -- dear?
run 0 fxtdiff -q base? -- same?
[ ! -s out ] || fail "--quiet prints"
run 1 fxtdiff --rows 1 base? -- dear?
prints 'and '
run 2 fxtdiff base? -- same? --q 2
says '--q: 2 is more than 50%'
run 2 fxtdiff base? -- same? --min-rel five
says "'five' is not a share"
run 2 fxtdiff base1
says 'no new runs'
run 2 fxtdiff -- base1
says 'no base runs'
run 2 fxtdiff
says 'no runs given'
# Only budgets need no base: nothing else has anything to say of one side.
: >nothing
for policy in --strict-env '--today 2026-12-31' '--suppressions nothing'; do
    # shellcheck disable=SC2086 # an option and its argument
    run 2 fxtdiff $policy base1
    says 'no new runs'
done
run 4 fxtdiff base? -- nowhere
says 'nowhere: No such file or directory'
run 4 fxtdiff --symbols nowhere base? -- same?
says '--symbols: nowhere'

# A folder stands for its files, a pipe for one; standard input too.
mkdir base new
cp base? base
cp same? new
mkfifo base/pipe # nobody writes there
run 0 timeout 600 fxtdiff base -- new
prints '6 + 6 runs'
status=0
# shellcheck disable=SC2002 # a pipe is what is asked for
cat same1 | fxtdiff base? -- - same2 same3 same4 >out 2>err || status=$?
[ $status -eq 0 ] || fail "standard input: status $status"
prints '6 + 4 runs'

# ---- As wide as the terminal ----

cat >rows.py <<'END'
import os, re, sys
sys.path.insert(0, sys.argv[1])
import terminal
columns, command = int(sys.argv[2]), sys.argv[3:]
os.environ.pop("NO_COLOR", None)
os.environ["TERM"] = "xterm"
_, shown = terminal.on_terminal(columns, command)
assert "\033[31m" in shown, "no colour"
plain = re.sub("\033\\[[0-9;]*m", "", shown)
for line in plain.splitlines():
    assert terminal.width(line) <= columns or " " not in line.strip(), (columns, line)  # one word may be longer
print(plain, end="")
END
for i in 1 2 3 4 5 6; do
    for side in base dear; do
        sed -e 's/hot/a_function_with_quite_a_long_name_that_is_cut_somewhere_in_the_middle_of_itself/' \
            -e 's/io/読み込み関数の名前はとても長いのでどこかで切られますが最後も見えます/' $side$i >l$side$i
    done
done
printf 'function fresh until 2030-01-01: a reason that takes more than one line of a narrow terminal to give\n' >why
printf 'function a_function_with_quite_a_long_name* self < 5%%\n' >limits
for columns in 60 80 120 200; do
    python3 rows.py "$ROOT/tests/tools" $columns fxtdiff --suppressions why --today 2029-01-01 --budget limits lbase? -- ldear? >out 2>err || fail "$columns columns: $(tail -n 1 err)"
    grep -q 'regressed  *a_func[^ ]*self\( \|$\)' out || fail "$columns columns: neither beginning nor end of a name: $(cat out)"
    grep -q ' 読[^ ]*す$' out || fail "$columns columns: no wide name: $(cat out)"
done

# ---- The runs of findings ----

run 1 env LC_ALL=C fxtdiff base? -- dear?
grep -A 2 '^  hot (self)$' out | tail -n 2 >strips
cat >expected <<'END'
    base |o oo oo o                                        |  28.86 ...  29.46 %
    new  |                                         oo oo oo|  31.93 ...  32.50 %
END
cmp -s expected strips || fail "the runs of hot: $(cat strips)"
[ "$(grep -c '^    base |' out)" -eq 4 ] || fail "not each finding has its runs"
run 1 env LC_ALL=C.UTF-8 fxtdiff base? -- dear?
prints '    base |• •• •• •   '
run 0 fxtdiff base? -- same?
! grep -q 'each run' out || fail "runs are shown where nothing was found"
# No line is wider than the terminal; where there is room for nothing, there is none.
cat >strips.py <<'END'
import re, sys
sys.path.insert(0, sys.argv[1])
import terminal
columns = int(sys.argv[2])
shown = re.sub("\033\\[[0-9;]*m", "", terminal.on_terminal(columns, sys.argv[3:])[1])
lines = re.findall(r"^    (?:base|new ) \|[^\r\n]*", shown, re.M)
print(len(lines), max(map(terminal.width, lines), default=0))
END
for columns in '18 0 0' '19 8 19' '38 8 38' '39 8 39' '80 8 80' '200 8 80'; do
    python3 strips.py "$ROOT/tests/tools" "${columns%% *}" fxtdiff base? -- dear? >out 2>err || fail "${columns%% *} columns: $(tail -n 1 err)"
    [ "$(cat out)" = "${columns#* }" ] || fail "${columns%% *} columns: number and width of lines are $(cat out)"
done
# When a part of the program disappears, shares are compared without what all shares grew by, and that is said.
for i in 1 2 3 4 5; do
    folded "all$i" "main;gone $((30000 + i))" "main;r $((6000 - i * 12))" "main;a $((20000 + i * 30))" "main;b $((20000 - i * 10))" "main;c $((20000 + i * 10))" \
        "main;d $((20000 - i * 20))" "main;e $((20000 + i * 9))" "main;f $((20000 + i * 8))" "main;g $((20000 - i * 18))"
    folded "less$i" "main;r $((9000 + i * 11))" "main;a $((20000 - i * 30))" "main;b $((20000 + i * 10))" "main;c $((20000 - i * 10))" \
        "main;d $((20000 + i * 20))" "main;e $((20000 + i * 19))" "main;f $((20000 + i * 18))" "main;g $((20000 - i * 8))"
done
run 1 fxtdiff all? -- less?
prints 'shares that grew: those of new runs are divided by 1.1'
run 1 fxtdiff --json all? -- less?
python3 - out <<'END' || fail "values are not those that were compared: $(cat out)"
import json, sys
report = json.load(open(sys.argv[1]))
costs = {side: [run["cost"] for run in report["runs"] if run["side"] == side] for side in ("base", "new")}
values = {row["name"]: row["values"] for row in report["functions"]}
r, gone = values["r"], values["gone"]
def near(values, wanted):
    assert len(values) == len(wanted) and all(abs(a - b) < 1e-9 for a, b in zip(values, wanted)), (values, wanted)
assert r["of"] == "self" and 1.15 < r["scale"] < 1.3 and gone["scale"] == 1, (r, gone)
near(r["base"], [(6000 - i * 12) / cost for i, cost in enumerate(costs["base"], 1)])
near(r["new"], [(9000 + i * 11) / cost / r["scale"] for i, cost in enumerate(costs["new"], 1)])
near(gone["base"], [(30000 + i) / cost for i, cost in enumerate(costs["base"], 1)])
near(gone["new"], [0] * 5)
assert values["a"] is None, "no finding"
END

# ---- JSON and Markdown ----

valid() { # the JSON in out
    python3 -W ignore - "$ROOT/schemas/fxtdiff.schema.json" out <<'END' || fail "not as the schema has it"
import json, sys
import jsonschema
def closed(schema):  # so that a key that the schema lacks is found
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        for value in schema.values():
            closed(value)
    elif isinstance(schema, list):
        for value in schema:
            closed(value)
    return schema
schema = closed(json.load(open(sys.argv[1])))
jsonschema.Draft7Validator.check_schema(schema)
lines = open(sys.argv[2]).readlines()
assert len(lines) == 1
jsonschema.Draft7Validator(schema).validate(json.loads(lines[0]))
END
}
run 1 fxtdiff --json base? -- dear?
valid
prints '"verdict":"fail"'
prints '"name":"hot","state":"both","flag":"regressed"'
run 0 fxtdiff --json base? -- same?
valid
run 5 fxtdiff --json base1 dear1
valid

# Of many runs and many findings, the first.
mkdir many_base many_new
awk 'BEGIN {
    for (i = 100; i < 202; i++)
        for (f = 0; f < 120; f++) {
            printf "main;f%d %d\n", f, 1000 + i % 7 + f + (f % 2 ? 300 : i % 5) >("many_base/" i)
            printf "main;f%d %d\n", f, 1000 + i % 5 + f + (f % 2 ? 0 : 300) >("many_new/" i)
        }
}'
run 1 fxtdiff --json many_base -- many_new --metric self --min-share 0
valid
python3 - out <<'END' || fail "not the first 100 findings and runs"
import json, sys
rows = json.load(open(sys.argv[1]))["functions"]
findings = [row for row in rows if row["flag"]]
assert len(findings) > 100, len(findings)
for i, row in enumerate(rows):
    assert (row["values"] is not None) == (i < 100), i
    assert i >= 100 or len(row["values"]["base"]) == len(row["values"]["new"]) == 100
END
run 1 fxtdiff many_base -- many_new --metric self --min-share 0
[ "$(grep -c '^    new  |' out)" -eq 10 ] || fail "not the first ten findings"
grep -q '^\.\.\. and 1[0-9]* more (--json)$' out || fail "the rest is not counted"

# More functions than fit.
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "main;very<long|name>_of_a_`function`_*number*_%d %d\n", i, 1000 + i % 7 }' >wide
for i in 1 2 3; do cp wide wide$i; done
run 0 fxtdiff --markdown --rows 0 --floor 0% wide* -- wide*
prints 'wide and wide1 are equal in every stack: if one is a copy of the other, remove it'
[ "$(wc -c <out)" -lt 65000 ] || fail "$(wc -c <out) bytes of Markdown"
prints 'more functions'
# shellcheck disable=SC2016 # backquotes of Markdown
grep -qF '| ``very<long\|name>_of_a_`function`_*number*_' out || fail "a name is no code: $(grep long out | head -n 1)"
run 1 fxtdiff --markdown base? -- dear?
prints '### fxtdiff: FAIL'
# shellcheck disable=SC2016 # likewise
prints '| regressed | `hot` | self |'
# What no code can hold, a bar behind a backslash, is escaped.
for i in 1 2 3 4; do
    folded "bar$i" 'main;a\|<b> 5000' "main;cold $((3000 + i))"
done
run 0 fxtdiff --markdown bar? -- bar?
prints '| a\\\|&lt;b&gt; | self |'

# ---- Names ----

# Clones and hashes are no other functions; template arguments are, unless told otherwise.
for i in 1 2 3 4; do
    folded "one$i" "main;f.isra.0 5000" "main;f.cold 100" "main;r::g::h0123456789abcdef 3000" "main;sort<int>(int) 2000"
    folded "two$i" "main;f 5100" "main;r::g::hfedcba9876543210 3000" "main;sort<long>(int) 2000"
done
run 1 fxtdiff --rows 0 one? -- two?
grep -q 'NEW  *sort<long>$' out || fail "sort<long> is not new"
grep -q 'GONE  *sort<int>$' out || fail "sort<int> is not gone"
grep -q '50\.50%  *50\.50%.*  f$' out || fail "f is not one function"
grep -q '  r::g$' out || fail "r::g is not one function"
run 0 fxtdiff --ignore-templates --rows 0 one? -- two?
grep -q '~  *sort$' out || fail "sort is not one function"

# ---- What cannot be compared: a sentence, and never PASS ----

: >empty
printf 'main;a 5\nmain;b\n' >damaged
printf 'main;a 5 7\n' >two_columns
printf 'no stacks at all, and no number\n' >no_stacks
printf 'other;thing 500\n' >other
printf 'main;a 0\n' >zero
head -c 100 /dev/zero >zeros

bad() { # bad STATUS SENTENCE NEW...: against the base
    expected=$1 sentence=$2
    shift 2
    run "$expected" fxtdiff base? -- "$@"
    grep -q PASS out && fail "$*: PASS"
    cat out err >both
    grep -qF "$sentence" both || {
        fail "$*: not said: $sentence"
        cat both
    }
}
for i in 1 2 3; do cp zero zero$i && cp other other$i; done
bad 5 'the new run zero has no samples' zero zero[123]
bad 5 'the runs have no function in common' other other?
bad 2 'same1 is given twice; each run may be given only once' same1 same2 same1 same3
# Copies under other names, of a program of functions enough to tell.
for i in 1 2 3 4; do
    awk -v i=$i 'BEGIN { for (f = 0; f < 12; f++) printf "main;f%d %d000000\n", f, 100 + f + (f * 7 + i * 3) % 5 }' >many$i
done
cp many1 many5
run 0 fxtdiff --need-share 0 many[1-4] -- many[1-4]
run 0 fxtdiff --need-share 0 many[1-4] -- many[1-4] many5
prints 'note: many1 and many5 are equal in every stack'
protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >time1 <<END
sample_type { type: 1 unit: 2 }
$(for i in 1 2 3 4 5 6 7 8 9 10; do echo "sample { location_id: $i value: ${i}00 } location { id: $i line { function_id: $i } } function { id: $i name: $((i + 2)) }"; done)
string_table: "" string_table: "cpu" string_table: "nanoseconds"
$(for i in 1 2 3 4 5 6 7 8 9 10; do echo "string_table: \"f$i\""; done)
END
cp time1 time2
run 5 fxtdiff time1 time2
run 2 fxtdiff time1 time2 -- time1
says 'time1 and time2 are the same run; each run may be given only once'
# Work moves within a file; not between files of one name, as each crate has them.
for i in 1 2 3 4; do
    for at in a b; do
        folded "was_$at$i" "main;parse (a/src/lib.rs:10) $((1000 + i))" "main;render ($at/src/lib.rs:20) $((1600 - i))" "main;rest $((9000 + i))"
        folded "is_$at$i" "main;parse (a/src/lib.rs:10) $((1500 + i))" "main;render ($at/src/lib.rs:20) $((1100 - i))" "main;rest $((9000 + i))"
    done
done
run 0 fxtdiff was_a? -- is_a?
prints ' moved     parse'
run 1 fxtdiff was_b? -- is_b?
prints ' regressed  parse'
# A program that stopped at once is no saving.
for i in 1 2 3 4; do
    folded "stopped$i" "main;work;hot $((100 + i % 2))" "main;io $((200 + i % 2))"
done
run 5 fxtdiff base? -- stopped?
prints 'note: the new runs cost 1.7 % of the base runs: check that both did the same work'
bad 2 'two columns of counts: it is already a difference' two_columns
bad 3 'damaged: ' damaged base1 base2 base3
bad 3 'the input is damaged' damaged base1 base2 base3
bad 3 'empty: empty, not an FXT trace' empty base1 base2 base3
bad 3 '1 input could not be read' empty base1 base2 base3
bad 3 'no_stacks: the first line of this text file is not a stack followed by a count' no_stacks base1 base2 base3
bad 3 'zeros: damaged' zeros base1 base2 base3

finish
