#!/bin/sh
# Formats are those of the sqlite3 shell where it has the same, and what the manual says where they differ.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
fxtq schema >schema.sql
python3 - <<'EOF'
import sqlite3
sqlite3.connect("empty.fxtq").executescript(open("schema.sql").read())
EOF

# ---- As sqlite3 ----

texts="SELECT 'one' AS a, 'two words' AS \"name, of column\" UNION ALL SELECT 'quo\"te', 'it''s' UNION ALL SELECT 'longer than the others', NULL UNION ALL SELECT 'é€', ''"
numbers="SELECT 1 AS i, 2.5 AS r, 'x' AS t UNION ALL SELECT -9223372036854775807, 1e300, NULL UNION ALL SELECT NULL, 0.1, 'y' UNION ALL SELECT 42, 3.0, 'z'"
controls="SELECT 'a' || char(10) || 'b' AS a, 'tab' || char(9) AS b"
for format in csv table box markdown; do
    sqlite3 -header -$format empty.fxtq "$texts" >want
    fxtq --format $format empty.fxtq "$texts" >got
    cmp -s got want || fail "texts as $format: $(diff got want)"
    # Numbers stand on the right here.
    sqlite3 -header -$format empty.fxtq "$numbers" | tr -s ' -─' | tr -d ' :' >want
    fxtq --format $format empty.fxtq "$numbers" | tr -s ' -─' | tr -d ' :' >got
    [ $format = markdown ] || cmp -s got want || fail "numbers as $format: $(diff got want)"
done
for query in "$texts" "$numbers" "$controls"; do
    # Integers beyond 2^53 are strings here.
    sqlite3 -json empty.fxtq "$query" | sed 's/:\(-\{0,1\}[0-9]\{17,\}\)/:"\1"/g' >want
    fxtq --format json empty.fxtq "$query" >got
    python3 -c 'import json; assert json.load(open("got")) == json.load(open("want"))' || fail "json of $query: $(cat got)"
    fxtq --format jsonl empty.fxtq "$query" >got
    python3 -c 'import json; assert [json.loads(l) for l in open("got")] == json.load(open("want"))' || fail "jsonl of $query: $(cat got)"
    sqlite3 -header -html empty.fxtq "$query" >want
    fxtq --format html empty.fxtq "$query" >got
    python3 - <<'EOF' || fail "html of $query: $(cat got)"
from html.parser import HTMLParser
class Cells(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.cells = []
        self.open = False
        self.feed(open(path).read())
    def handle_starttag(self, tag, attrs):
        self.open = tag in ("td", "th")
        if self.open:
            self.cells.append([tag, ""])
    def handle_endtag(self, tag):
        self.open = False
    def handle_data(self, data):
        if self.open:
            self.cells[-1][1] += data
assert Cells("got").cells == Cells("want").cells
EOF
    sqlite3 -header -csv empty.fxtq "$query" >want
    fxtq --format csv empty.fxtq "$query" >got
    cmp -s got want || fail "csv of $query: $(diff got want)"
done
sqlite3 -header -tabs empty.fxtq "$numbers" >want
fxtq --format tsv empty.fxtq "$numbers" >got
cmp -s got want || fail "tsv: $(diff got want)"

# ---- Where they differ ----

expect() { # expect FORMAT SQL TEXT
    got=$(fxtq --format "$1" empty.fxtq "$2")
    [ "$got" = "$3" ] || fail "$2 as $1:
$got
not
$3"
}
expect table "SELECT 7 AS n, 'x' AS t UNION ALL SELECT 1000, 'longer'" "\
+------+--------+
|  n   |   t    |
+------+--------+
|    7 | x      |
| 1000 | longer |
+------+--------+"
expect markdown "SELECT 7 AS n, 'a|b<i>' AS t" "\
| n |     t      |
|--:|------------|
| 7 | a\\|b&lt;i> |"
expect box "SELECT '日本' AS a, 'é' AS b UNION ALL SELECT 'abc', 'd'" "\
┌──────┬───┐
│  a   │ b │
├──────┼───┤
│ 日本 │ é │
│ abc  │ d │
└──────┴───┘"
expect table "SELECT 'a' || char(10) || char(27) || '[31m' AS c, x'00ff' AS b" "\
+-------------+---------+
|      c      |    b    |
+-------------+---------+
| a\\n\\x1b[31m | X'00ff' |
+-------------+---------+"
expect tsv "SELECT 'a' || char(9) || 'b\\c' || char(10) AS c" "c
a\\tb\\\\c\\n"
expect json "SELECT x'00ff' AS b, 9e999 AS i, 2.0 AS r, CAST(x'ff41' AS TEXT) AS t, 9007199254740993 AS n" \
    '[{"b":"00ff","i":"Infinity","r":2.0,"t":"�A","n":"9007199254740993"}]'
expect json "SELECT 1 AS a WHERE 0" "[]"
expect jsonl "SELECT 1 AS \"a\"\"b\" UNION ALL SELECT 2" '{"a\"b":1}
{"a\"b":2}'
expect csv "SELECT 1 AS a WHERE 0" "a"
[ "$(fxtq --format csv --no-header --null - empty.fxtq 'SELECT NULL, 1')" = "-,1" ] || fail "--no-header --null"
# Several results, one after the other.
[ "$(fxtq --format csv empty.fxtq 'SELECT 1 AS a; SELECT 2 AS b;' 'SELECT 3 AS c')" = "a
1
b
2
c
3" ] || fail "several results"

# ---- Streams ----

# Rows come while they are made: the first of an endless query reach a reader that takes no more.
endless="WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
for format in csv tsv json jsonl html table; do
    timeout 400 fxtq --format $format empty.fxtq "$endless" 2>err | head -n 100000 | tail -n 1 >out || :
    [ -s out ] || fail "an endless $format: $(cat err)"
done
# Wider values after the widths are settled stick out, whole.
fxtq --format table empty.fxtq "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 20000)
    SELECT CASE WHEN n = 20000 THEN 'much wider than before' ELSE 'x' END AS t FROM r" | tail -n 2 | grep -q '| much wider than before |' ||
    fail "a wide value at the end"

# ---- Narrow terminals ----

PYTHONPATH=$ROOT/tests/tools python3 - <<'EOF' || fail "a narrow terminal"
from terminal import run, width
long = "SELECT 123456789 AS number, 'begin-' || replace(hex(zeroblob(50)), '0', 'm') || '-end' AS name, '日本日本日本日本日本日本日本日本日本日本' AS wide"
for columns in (200, 80, 60, 45):
    lines = run(columns, "fxtq", "empty.fxtq", long).splitlines()
    assert lines[0].startswith("┌"), lines
    assert all(width(l) == width(lines[0]) <= columns for l in lines), (columns, lines)
    assert "123456789" in lines[3], lines
    if columns < 100:
        assert "…" in lines[3] and "begin" in lines[3] and "-end" in lines[3], lines
plain = run(80, "fxtq", "--format", "csv", "empty.fxtq", "SELECT char(27) || '[31m' || char(155) || 'x' AS a")
assert "\x1b" not in plain and "\x9b" not in plain, repr(plain)
EOF
