#!/bin/sh
# fxtdiff --html: the page has what the JSON has, needs nothing else, and is safe with names of others.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
page() { # page STATUS ARGUMENT...: compare, as a page and as JSON; what the page has goes to ./has
    expected=$1
    shift
    run "$expected" fxtdiff "$@" --html=report.html -q
    run "$expected" fxtdiff "$@" --json
    python3 "$ROOT/tests/tools/html_report.py" report.html out >has 2>wrong || fail "the page of $*: $(tail -n 1 wrong)"
}
has() { # has LINE: the page does
    grep -qxF -e "$1" has || fail "not in the page: $1, but $(cat has)"
}

# ---- Two builds in different folders, a function that was renamed, one that is gone ----

encode() { # encode FILE FOLDER OLD HOT: a profile of the program in that folder
    protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >"$1" <<END
sample_type { type: 1 unit: 2 }
sample { location_id: 2 location_id: 1 value: $4 } sample { location_id: 3 location_id: 1 value: 3000 } sample { location_id: 1 value: 4000 }
mapping { id: 1 memory_start: 4096 memory_limit: 8192 filename: 10 has_functions: true }
location { id: 1 mapping_id: 1 address: 4100 line { function_id: 1 line: 12 } } location { id: 2 mapping_id: 1 address: 4200 line { function_id: 2 line: 34 } }
location { id: 3 mapping_id: 1 address: 4300 line { function_id: 3 line: 56 } }
function { id: 1 name: 3 filename: 4 start_line: 10 } function { id: 2 name: 5 filename: 6 start_line: 30 }
function { id: 3 name: 7 filename: 8 start_line: 50 }
string_table: "" string_table: "samples" string_table: "count" string_table: "main" string_table: "src/main.c"
string_table: "hot<int>(char const*)" string_table: "src/hot.c" string_table: "$3"
string_table: "src/other.c" string_table: "unused" string_table: "$2/prog"
END
}
for i in 1 2 3 4 5; do
    encode base$i ../base parse_old $((3000 + 10 * i))
    encode dear$i . parse_new $((4000 + 10 * i))
    encode same$i . parse_old $((3060 - 10 * i))
done
printf 'function main self < 90%%\ncpu < 3s\n' >budgets
page 1 base? -- dear? --budget budgets
has 'chart: main|prog|src/main.c:10|4000|4000'
has 'chart: hot<int>(char const*)|prog|src/hot.c:30|3030|4030'
has 'chart: parse_new|prog|src/other.c:50, was parse_old|3000|3000'
has 'budget: kept|function main self < 90%|main: 36.26%, median of 5 runs'
[ "$(grep -c '^chart:' has)" -eq 3 ] || fail "functions are not matched: $(cat has)"
page 0 base? -- same?
# The same from stores, which have the folders of the programs.
fxtq import -q base? -o base.fxtq
fxtq import -q dear? -o dear.fxtq
page 1 base.fxtq -- dear.fxtq
has 'chart: hot<int>(char const*)|prog|src/hot.c:30|3030|4030'
has 'chart: parse_new|prog|src/other.c:50, was parse_old|3000|3000'
# One run a side has no intervals; runs that cannot be compared have no table.
page 5 base1 -- same1
page 5 base? --budget budgets
# With a limit on rows: all findings and 1,000 functions, or as many as --rows asks for.
awk 'BEGIN { for (i = 0; i < 1500; i++) print "main;f" i, 100 + i % 7 }' >many1
sed 's/f7 .*/f7 900000/' many1 >many2
page 5 many1 -- many2
grep -q '<p class="soft">... and 501 functions with smaller changes' report.html || fail "functions that are left out are not counted"
run 5 fxtdiff many1 -- many2 --rows 0 --html=report.html -q
[ "$(grep -c '^<tr><td data-value' report.html)" -eq 1501 ] || fail "--rows 0 does not show all"

# ---- Baselines have no stacks ----

run 0 fxtdiff baseline create baseline.txt base?
page 1 baseline.txt -- dear?
has 'chart: No flame graph: baseline.txt run 1 has no stacks.'

# ---- Names that want to be something else ----

python3 - <<'END'
names = [b"</script><script>alert(1)</script>", b"<!--", b"-->", b"]]>", b"<b>&amp\"'", b"\x1b[31mred", b"bad\xff\xfeutf", b"\xe2\x80\xaebidi", b"\xc2\x85next", b"@TITLE@",
         b"%s%n", b"\\u003c", b"<style>*{display:none}", b"\xf0\x9f\x99\x82 smile"]
for run in range(4):
    for side, cost in (("hbase", 1000), ("hdear", 1600)):
        with open(f"{side}<i>{run}", "wb") as out:
            out.write(b"main;plain 500\n" * 300)
            for k, name in enumerate(names):
                out.write(b"main;%s %d\n" % (name, (cost if k % 3 == 0 else 1000) + (run * 7 + k) % 10))
END
page 1 hbase* -- hdear*
[ "$(grep -c '^chart:' has)" -eq 16 ] || fail "names are lost: $(cat has)"
[ "$(grep -c '<script' report.html)" -eq 2 ] || fail "a name is a script"

# ---- As other outputs ----

run 2 fxtdiff base? -- dear? --html=report.html --junit=report.html
says '--junit and --html both write to report.html'
run 1 fxtdiff base? -- dear? --html -
head -n 1 out | grep -q '^<!DOCTYPE html>$' || fail "- is not standard output: $(head -n 1 out)"
run 4 fxtdiff base? -- dear? --html=/dev/full -q
says 'fxtdiff: /dev/full: No space left on device'
mkdir -p one two && cp base? one && cp dear? two
mkdir suite1 suite2 && mv one suite1/p && mv two suite2/p
run 2 fxtdiff --suite suite1 -- suite2 --html=report.html
says '--html is for one benchmark'

# ---- In a browser ----

page 1 base? -- dear?
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import selenium' 2>/dev/null && python=$candidate && break
done
if [ -z "$python" ] || ! command -v chromedriver >/dev/null; then
    stop_if_wrong
    echo 'SKIP: chromium is not here'
    exit 0
fi
"$python" "$ROOT/tests/page_report.py" report.html || fail "the page in a browser"
finish
