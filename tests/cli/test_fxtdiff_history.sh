#!/bin/sh
# fxtdiff history: which runs are of which commit, their order, and what is written of the changes.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
unset GIT_DIR GIT_WORK_TREE

# write FILE HOT: a run in which one function of ten has so many samples; the others vary a little, in a fixed way.
write() {
    awk -v hot="$2" -v seed="$3" 'BEGIN { srand(seed); print "main;hot " hot + int(30 * rand())
        for (i = 0; i < 9; i++) print "main;f" i " " 1000 + 200 * i + int(40 * rand()) }' >"$1"
}

# A repository of 24 commits, whose hashes are in no order; "hot" costs more from the fifteenth on.
git init -q repo
list=
for i in $(seq 1 24); do
    git -C repo -c user.name=A -c user.email=a@b commit -q --allow-empty -m "Change <b>number</b> $i" --date "2026-01-01T00:00:$i"
    hash=$(git -C repo rev-parse HEAD)
    list="$list $hash"
    hot=1000
    [ "$i" -lt 15 ] || hot=1200
    mkdir -p "runs/$hash"
    write "runs/$hash/1.folded" $hot "$i"
    write "runs/$hash/2.folded" $hot "$((100 + i))"
    short=$(printf %.10s "$hash")
    mkdir -p short named store
    cp "runs/$hash/1.folded" "short/$short-1.folded"
    cp "runs/$hash/2.folded" "short/$short-2.txt"
    cp "runs/$hash/1.folded" "named/build-$i.folded"
    cp "runs/$hash/2.folded" "store/$i.folded"
done
# shellcheck disable=SC2086 # a list of hashes
good=$(echo $list | cut -d' ' -f14) bad=$(echo $list | cut -d' ' -f15) last=$(echo $list | cut -d' ' -f24)

ask() { # ask 'PYTHON EXPRESSION ON report' EXPECTED
    actual=$(python3 -c 'import json, sys
report = json.load(open("out"))
changes = [(series["name"], change) for series in report["series"] for change in series["changes"]]
print(eval(sys.argv[1]))' "$1")
    [ "$actual" = "$2" ] || fail "$1 is '$actual', and not '$2'"
}

# ---- Commits and their order ----

found="[(name, report['commits'][change['last_good']]['label'][:10], report['commits'][change['first_bad']]['label'][:10]) for name, change in changes]"
changed="[('hot', '$(printf %.10s "$good")', '$(printf %.10s "$bad")')]"
run 0 fxtdiff history --json --repository repo runs
ask "len(report['commits']), report['commits'][0]['runs'], report['order']" "(24, 2, 'in the order of git rev-list')"
ask "$found" "$changed"
ask "report['commits'][14]['subject'], report['commits'][23]['hash']" "('Change <b>number</b> 15', '$last')"
run 0 fxtdiff history --json --repository repo short
ask "$found" "$changed"
ask "{commit['runs'] for commit in report['commits']}" "{2}"

# Names are ordered with their numbers; folders outside a repository have no other order.
run 0 fxtdiff history --json --order name named
ask "[commit['label'] for commit in report['commits']][8:11]" "['build-9', 'build-10', 'build-11']"
ask "[(name, change['last_good'], change['first_bad'], change['shape']) for name, change in changes]" "[('hot', 13, 14, 'step')]"
ask "report['note']" None
run 0 fxtdiff history --json --repository repo named
ask "report['order'], report['note']" "('in the order of their names', None)"
run 0 fxtdiff history --json --repository repo named short
ask "report['order'], report['note']" "('in the order of their names', 'not every commit is in the git repository')"
run 2 fxtdiff history --order git --repository repo named
grep -q '^fxtdiff history: repo: no run is named after a commit of the git repository$' err || fail "says why git cannot order: $(cat err)"
run 2 fxtdiff history --order git --repository "$WORK/named" runs
run 0 fxtdiff history --json --order given named/build-20.folded named/build-3.folded named/build-1?.folded
ask "[commit['label'] for commit in report['commits']][:2]" "['build-20', 'build-3']"

# A baseline has several runs, and a label that looks like an option is none.
mkdir baselines -- "baselines/--all"
for i in 1 2 3 4 5 6 7 8 9; do
    run 0 fxtdiff baseline create "baselines/v1.$i.txt" "named/build-$i.folded" "store/$i.folded"
done
cp named/build-10.folded baselines/--all/
run 0 fxtdiff history --json --repository repo baselines
ask "[(commit['label'], commit['runs']) for commit in report['commits']][::9]" "[('--all', 1), ('v1.9', 2)]"

# ---- Stores: labels of captures ----

for i in $(seq 24 -1 1); do
    fxtq import -q "store/$i.folded" --label "commit=v$i" --label who=me -o captures.fxtq || fail "import $i"
done
run 0 fxtdiff history --json captures.fxtq
ask "[(name, report['commits'][change['first_bad']]['label']) for name, change in changes]" "[('hot', 'v15')]"
[ "$(fxtq captures.fxtq "SELECT count(*), count(DISTINCT str_value) FROM metadata WHERE name = 'label.commit'" | tail -n 1 | tr '\t' ' ')" = "24 24" ] ||
    fail "labels are in metadata"
run 0 fxtq import store/3.folded --label commit=v77 --label who= -o captures.fxtq
[ "$(fxtq captures.fxtq "SELECT group_concat(key || '=' || value) FROM meta WHERE value = 'v77' OR (key = 'label.who' AND capture_id = 22)" | tail -n 1)" = "label.commit=v77" ] ||
    fail "a capture that is there gets the label, and loses the other one"
for label in commit =x 'a b=c' "a=$(printf 'x\ny')" "$(printf '%065d' 0)=x"; do
    run 2 fxtq import store/1.folded --label "$label" -o other.fxtq
    [ ! -e other.fxtq ] || fail "nothing is imported with the label '$label'"
done
run 0 fxtq import -q store/1.folded -o plain.fxtq
run 2 fxtdiff history plain.fxtq
grep -q "^fxtdiff history: plain.fxtq: no capture has a label 'commit'; label captures with 'fxtq import --label commit=NAME'$" err ||
    fail "names the store without a label: $(cat err)"

# ---- What is said ----

LC_ALL=C run 0 fxtdiff history --repository repo runs
short_good=$(printf %.12s "$good") short_bad=$(printf %.12s "$bad")
grep -qx '24 commits, 48 runs of samples in count, in the order of git rev-list' out || fail "the first line: $(head -n 1 out)"
grep -q '^1 change in 1 of 11 series; without a change, 5 of 100 histories would show any$' out || fail "what was found: $(cat out)"
grep -qE "^ +\+1[0-9]\.[0-9]% +\[\+1[0-9.]+%, \+[0-9.]+%\]  $short_good\.\.$short_bad  Change <b>number</b> 15  \(" out || fail "the change: $(cat out)"
grep -qE '^  [_.]{10,14}[_.*%#=+-]{10}$' out || fail "a line of characters: $(cat out)"
! grep -q '[^ -~]' out || fail "only ASCII where the locale has no more"
LC_ALL=C.UTF-8 run 0 fxtdiff history --repository repo runs
grep -q '▁' out || fail "blocks where the locale has them"

# --recent: the change is 10 commits from the end.
run 0 fxtdiff history --recent 9 --repository repo runs
run 1 fxtdiff history --recent 10 --repository repo runs

# Too few commits decide nothing.
run 5 fxtdiff history --json named/build-[1-7].folded
ask "report['enough'], changes" "(False, [])"
run 5 fxtdiff history named/build-1.folded
grep -qx 'too few commits to find a change: at least 8 are needed' out || fail "too few: $(cat out)"

# What is damaged is left out, said, and the status.
cp -r named damaged
printf 'x' >damaged/build-30.folded
: >damaged/build-31.folded
: >nothing
printf PERFILE2 >cut.data
mkdir unread
for row in 'nothing|empty, not an FXT trace|3' 'cut.data|the header is cut|3' 'nosuch|No such file|4' 'unread|there are no runs in it|2'; do
    file=${row%%|*} sentence=${row#*|}
    run "${row##*|}" fxtdiff history "$file"
    says "$file: ${sentence%|*}"
done
run 3 fxtdiff cut.data -- cut.data
says 'cut.data: the header is cut'
run 3 fxtdiff history --json --order name damaged
ask "len(report['commits']), len(changes)" "(24, 1)"
mkdir empty
run 2 fxtdiff history empty
run 2 fxtdiff history
run 4 fxtdiff history nothing-there
run 2 fxtdiff history --level 0 named
run 2 fxtdiff history --html named/build-1.folded named/build-1.folded

# ---- JSON and the page ----

run 0 fxtdiff history --json --metric both --repository repo runs
python3 -W ignore - "$ROOT/schemas/fxthistory.schema.json" out <<'END' || fail "not as the schema has it"
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
jsonschema.validate(json.load(open(sys.argv[2])), closed(json.load(open(sys.argv[1]))))
END
ask "sorted({series['kind'] for series in report['series']})" "['run', 'self', 'total']"

# Names are hostile: no tag, no end of the script, and nothing that turns the text around.
mkdir hostile
for i in $(seq 1 12); do
    { cat "named/build-$i.folded"; printf 'main;</script><img src=x onerror=alert(1)>\342\200\256&"\\ 4000\n'; } >"hostile/$i<!--<script>.folded"
done
run 0 fxtdiff history --title '</title><script>alert(1)</script>@DATA@' --html page.html hostile
python3 - <<'END' || fail "the page is not what was written"
import html.parser, json, re
page = open("page.html", encoding="utf-8").read()
class Parser(html.parser.HTMLParser):
    tags, data, now = [], {}, None
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.now = dict(attributes).get("id") if tag == "script" else tag
        for name, value in attributes:
            assert not name.startswith("on") and "//" not in (value or ""), (name, value)
    def handle_data(self, data):
        self.data[self.now] = self.data.get(self.now, "") + data
parser = Parser()
parser.feed(page)
assert parser.tags.count("script") == 2 and "img" not in parser.tags, parser.tags
assert parser.data["title"].startswith("</title><script>alert(1)</script>@DATA@"), parser.data["title"]
report = json.loads(parser.data["data"])
names = [series["name"] for series in report["series"]]
assert any("</script><img src=x onerror=alert(1)>" in name for name in names), names
assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08]", page)
assert "http:" not in re.sub("http://www.w3.org/2000/svg", "", page) and "https:" not in page
END
finish
