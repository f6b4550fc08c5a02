#!/bin/sh
# The tutorial: its commands run, one after another, and print what the page says.
#
# Alone: it compares measured runs of two programs.
set -eu

fail() {
    echo "FAIL: $1"
    exit 1
}

cd "$WORK"
# What the page is checked with tells a wrong page from a right one.
page() { printf "# A page\n\n\`\`\`console\n%s\n\`\`\`\n" "$1" >page.md; }
page '$ printf "found 17 of %s\\n" words
found 3 of words'
"$ROOT/scripts/tutorial" --check page.md >out || fail "a right page: $(cat out)"
page '$ printf "found 17 of %s\\n" words
found 17 of them'
! "$ROOT/scripts/tutorial" --check page.md >out || fail "a wrong page passes"
grep -q 'found 17 of them' out || fail "a wrong page: $(cat out)"
page '$ printf "FAIL: two regressed\\n\\npower: total 3 %%; hash\\n    4 %%; find 5 %%\\n"
FAIL: the total regressed; one is

power: total 2 %; hash 3 %;
    hash 12 %'
"$ROOT/scripts/tutorial" --check page.md >out || fail "what hangs on noise: $(cat out)"
page '$ printf "PASS: nothing regressed\\n"
FAIL: the total regressed'
! "$ROOT/scripts/tutorial" --check page.md >out || fail "another verdict passes"
page '$ false'
! "$ROOT/scripts/tutorial" --check page.md >out || fail "a command that fails passes"

. "$ROOT/tests/cli/perf.sh"
"$ROOT/scripts/tutorial" --check >out || fail "$(cat out)"
# Links of the page lead somewhere.
grep -o '](\([^)]*\))' "$ROOT/docs/tutorial.md" | tr -d '()]' | while read -r link; do
    [ -e "$ROOT/docs/$link" ] || fail "no $link"
done
grep -q 'docs/tutorial.md' "$ROOT/README.md" || fail "the README does not link it"
