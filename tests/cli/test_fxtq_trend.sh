#!/bin/sh
# fxtq trend: the answer of fxtdiff history, asked of stores; captures without a label, too few of them, and damaged stores.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
unset GIT_DIR GIT_WORK_TREE

# Captures of 20 commits; "hot" costs a fifth more from the twelfth on.  They are imported in another order.
for i in $(seq 20 -1 1); do
    hot=1000
    [ "$i" -lt 12 ] || hot=1200
    awk -v hot="$hot" -v seed="$i" 'BEGIN { srand(seed); print "main;hot " hot + int(30 * rand())
        for (i = 0; i < 9; i++) print "main;f" i " " 1000 + 200 * i + int(40 * rand()) }' >"$i.folded"
    fxtq import -q "$i.folded" --label "commit=v$i" -o all.fxtq || fail "import $i"
    part=$((i % 2))
    fxtq import -q "$i.folded" --label "commit=v$i" -o "part$part.fxtq" || fail "import $i"
done

# ---- One answer ----

for options in "--json" "--json --metric both --rows 0" "--json --order given" "--rows 3" "--level 1% --floor 5% --min-rel 5% --min-share 1pp" "--html - --title T"; do
    # shellcheck disable=SC2086 # several options
    run 0 fxtdiff history $options all.fxtq
    mv out history
    # shellcheck disable=SC2086
    run 0 fxtq trend $options all.fxtq
    cmp out history || fail "fxtq trend $options and fxtdiff history differ"
done
changes() {
    python3 -c 'import json
report = json.load(open("out"))
print(report["order"], [(series["name"], report["commits"][change["last_good"]]["label"], report["commits"][change["first_bad"]]["label"])
                        for series in report["series"] for change in series["changes"]])'
}
wanted="in the order of their names [('hot', 'v11', 'v12')]"
run 0 fxtq trend --json all.fxtq
[ "$(changes)" = "$wanted" ] || fail "the change: $(changes)"
run 0 fxtq trend --json part0.fxtq part1.fxtq
[ "$(changes)" = "$wanted" ] || fail "the change in two stores: $(changes)"
run 0 fxtq trend --recent 8 all.fxtq
run 1 fxtq trend --recent 9 all.fxtq
run 0 fxtq trend --html page.html all.fxtq
grep -q 'all.fxtq' page.html || fail "the page has the store's name as its title"
grep -q '^hot$' out || fail "the text is printed beside the page: $(cat out)"

python3 -W ignore - "$ROOT/schemas/fxthistory.schema.json" <<'END' || fail "not as the schema has it"
import json, subprocess, sys
import jsonschema
report = json.loads(subprocess.run(["fxtq", "trend", "--json", "--metric", "both", "all.fxtq"], check=True, capture_output=True).stdout)
jsonschema.validate(report, json.load(open(sys.argv[1])))
assert len(report["commits"]) == 20 and report["enough"], report
END

# ---- Labels ----

for i in 1 2 3; do
    sed "s/hot/cold$i/" "$i.folded" >"other$i.folded"
done
fxtq import -q other1.folded other2.folded -o all.fxtq
run 0 fxtq trend --json all.fxtq
[ "$(changes)" = "$wanted" ] || fail "captures without a label are left out: $(changes)"
grep -q "all.fxtq: left out 2 captures without a label 'commit'; label captures with 'fxtq import --label commit=NAME'" err || fail "says so: $(cat err)"
run 0 fxtdiff history --json all.fxtq
[ "$(changes)" = "$wanted" ] || fail "fxtdiff history leaves them out, too: $(changes)"
says "all.fxtq: left out 2 captures without a label 'commit'; label captures with 'fxtq import --label commit=NAME'"
fxtq import -q other1.folded --label version=1 -o plain.fxtq
run 2 fxtq trend plain.fxtq
[ ! -s out ] || fail "nothing is printed of captures without labels"
[ "$(cat err)" = "fxtq trend: plain.fxtq: no capture has a label 'commit'; label captures with 'fxtq import --label commit=NAME'" ] ||
    fail "one sentence: $(cat err)"
for i in $(seq 1 7); do
    fxtq import -q "$i.folded" --label "commit=v$i" -o few.fxtq
done
run 5 fxtq trend --json few.fxtq
grep -q "too few commits to find a change, 7 of 8; label captures with 'fxtq import --label commit=NAME'" err || fail "too few: $(cat err)"
fxtq import -q 8.folded --label commit=v8 -o few.fxtq
run 0 fxtq trend few.fxtq
[ ! -s err ] || fail "8 commits are enough: $(cat err)"

# ---- One capture of a store ----

# shellcheck disable=SC2046 # a list
run 0 fxtq trend --json $(seq -f 'all.fxtq#%g' 1 20)
[ "$(changes)" = "$wanted" ] || fail "the change in captures one by one: $(changes)"
# shellcheck disable=SC2046
run 0 fxtdiff history --json $(seq -f 'all.fxtq#%g' 1 20)
[ "$(changes)" = "$wanted" ] || fail "the same of fxtdiff history: $(changes)"
run 5 fxtq trend --json 'all.fxtq#3' part0.fxtq#1
[ "$(python3 -c 'import json; print(len(json.load(open("out"))["commits"]))')" = 2 ] || fail "two captures are not two commits: $(cat out)"
for program in 'fxtq trend' 'fxtdiff history'; do
    # shellcheck disable=SC2086 # two words
    run 2 $program 'all.fxtq#21'
    says "$program: all.fxtq: the capture has no label 'commit'; label captures with 'fxtq import --label commit=NAME'"
    # shellcheck disable=SC2086
    run 2 $program 'all.fxtq#99'
    says "$program: all.fxtq: the store has no such capture"
done

# ---- Addresses without names ----

for i in $(seq 1 8); do
    "$O/bench/fxtgen" --count 200 --stacks 20 --seed "$i" >"bare$i.fxt"
    fxtq import -q "bare$i.fxt" --label "commit=v$i" -o bare.fxtq
done
run 0 fxtq trend bare.fxtq
says 'bare.fxtq: no address has a symbol; to look them up: fxtq symbolize bare.fxtq'

# ---- What is wrong ----

run 2 fxtq trend
run 2 fxtq trend --sample-type nonsense all.fxtq
run 2 fxtq trend --html all.fxtq all.fxtq
run 2 fxtq trend --order git --repository "$WORK" all.fxtq
run 4 fxtq trend nothing-there.fxtq
run 3 fxtq trend 1.folded
head -c 30000 all.fxtq >cut.fxtq
run 3 fxtq trend cut.fxtq
grep -q '^fxtq trend: cut.fxtq: ' err || fail "names the damaged store: $(cat err)"
run 3 fxtq trend --json few.fxtq cut.fxtq
[ "$(python3 -c 'import json; print(len(json.load(open("out"))["commits"]))')" = 8 ] || fail "what is readable is delivered"
finish
