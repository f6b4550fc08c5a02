#!/bin/sh
# Every numbered case of docs/formats/fxt.md section 6 has a test that bears its number, and every row of its section 3.2 a test in
# docs/testing.md that is there.  And case 30: what is no text goes through to JSON.
fail() {
    echo "$1"
    failed=1
}
failed=

cases=$(sed -n '/^## 6\./,/^## 7\./s/^\([0-9][0-9]*\)\. .*/\1/p' "$ROOT/docs/formats/fxt.md")
[ "$(echo "$cases" | tail -n 1)" = 67 ] || fail "the cases of section 6 do not end with 67"
for number in $cases; do
    grep -qE "\"case $number: |START_TEST\(cases?_([0-9]+_(and_)?)*${number}_" "$ROOT"/tests/test_fxt_*.c "$ROOT"/tests/test_profile_*.c ||
        fail "case $number has no test"
done

# The conditions of the one table stand in the same order in the other, each with a file and words of a test in it.
sed -n '/^### 3\.2/,/^Jane Street/s/^| \([^|]*\) |.*/\1/p' "$ROOT/docs/formats/fxt.md" | grep -vE '^(condition|---)$' >"$WORK/rows"
# shellcheck disable=SC2016 # the backquotes are those of Markdown
sed -n '/^### Behaviour of the reader/,/^## /s/^| \([^|]*\) | `\([a-z_]*\)` | \(.*\) |$/\1|\2|\3/p' "$ROOT/docs/testing.md" >"$WORK/tests"
cut -d'|' -f1 "$WORK/tests" | diff "$WORK/rows" - || fail "docs/testing.md does not list the rows of section 3.2"
while IFS='|' read -r row file words; do
    grep -qF -- "$words" "$ROOT/tests/$file.c" || fail "$row: tests/$file.c has no test '$words'"
done <"$WORK/tests"

# Every string of the trace is the same bytes.  One U+FFFD stands for each byte that is not UTF-8.
fxt_every_string >"$WORK/strings.fxt" || fail "fxt_every_string"
fxtdump --json "$WORK/strings.fxt" >"$WORK/strings.json" || fail "fxtdump: status $?"
python3 - "$WORK/strings.json" <<'PYTHON' || fail "case 30: JSON"
import json, sys
bad = "\ufffd"
text = "a\0\"'\\\b\n\r\t\x01\x1f\x7f" + bad * 11 + "\u20ac" + bad * 2
seen = 0
for line in open(sys.argv[1], encoding="utf-8", newline="\n"):
    record = json.loads(line)
    strings = [record[key] for key in ("category", "name", "text", "message") if record.get(key)]
    for arg in record.get("args", []):
        strings += [arg["name"], arg["value"]]
    for string in strings:
        assert string == text, (record, string)
        seen += 1
assert seen == 4 + 11 + 24 + 1, seen
PYTHON
[ -z "$failed" ]
