#!/bin/sh
# Names of functions are shortened in one way: fxtq report, the page of fxtq flamegraph, fxtdiff and fxt2pprof --format top show the same
# names, and on a narrow terminal keep what a function itself is called.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

cat >names <<'END'
std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::compare(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&) const
std::_Rb_tree<int, std::pair<int const, int>, std::_Select1st<std::pair<int const, int> >, std::less<int> >::_M_lower_bound(int const&)
bool std::operator< <char, std::char_traits<char> >(std::string const&, std::string const&)
server::Table::operator->() const
server::run(int)::{lambda(int)#1}::operator()(int) const
(anonymous namespace)::decode(unsigned long)
server::convert::operator bool() const
<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop
github.com/someone/project/pkg.(*Server).handle
overload::of(int)
overload::of(long)
block in Parser::run
END
cat >short <<'END'
std::__cxx11::basic_string<...>::compare
std::_Rb_tree<...>::_M_lower_bound
std::operator< <...>
server::Table::operator->
server::run::{lambda#1}::operator()
decode
server::convert::operator bool
<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop
github.com/someone/project/pkg.(*Server).handle
overload::of(int)
overload::of(long)
block in Parser::run
END
awk '{ print "main;" $0 " " 100 + NR }' names >base
awk '{ print "main;" $0 " " 300 - NR }' names >new

# ---- fxtq report ----

run 0 fxtq report top --rows 0 base
while IFS= read -r name; do
    grep -qF "  $name" out || fail "fxtq report has no $name: $(cat out)"
done <short
# Trees and other formats: a tree shows the same, data keep whole names.
run 0 fxtq report tree --min 0 base
grep -qF ' std::_Rb_tree<...>::_M_lower_bound' out || fail "tree: $(cat out)"
run 0 fxtq report top --rows 0 --json base
python3 -c 'import json, sys; [print(json.loads(line)["name"]) for line in sys.stdin]' <out | grep -v '^main$' | sort >actual
sort names >wanted
diff wanted actual || fail "JSON has other names than the file"
run 0 fxtq report top --by file base
grep -q '\[unknown\]' out || fail "files: $(cat out)"

# ---- fxtdiff, fxtq flamegraph ----

fxtdiff --rows 0 base -- new >out 2>err
sed 's/{lambda#1}/{lambda}/' short | while IFS= read -r name; do # compilers renumber lambdas
    grep -qF "  $name" out || fail "fxtdiff has no $name: $(cat out)"
done >wrong
[ ! -s wrong ] || fail "$(cat wrong)"
run 0 fxtq flamegraph base -o page.html
python3 - <<'END' || fail "the page has other short names"
import base64, json, re, zlib
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', open("page.html", encoding="utf-8").read(), re.S).group(1))
strings = set(zlib.decompress(base64.b64decode(data["strings"])).decode().split("\n"))
missing = [name for name in open("short").read().splitlines() if not name.startswith("overload") and name not in strings]
assert not missing, missing
END

# ---- Narrow terminals ----

PYTHONPATH=$ROOT/tests/tools python3 - <<'END' || fail "narrow terminals"
import re, sys
from terminal import run, width

own = ["compare", "_M_lower_bound", "operator<", "operator->", "operator()", "decode", "operator bool", "drop", "(*Server).handle"]
for columns in (60, 70, 80, 100):
    for command in (["fxtq", "report", "top", "--rows", "0", "base"], ["fxtdiff", "--rows", "0", "base", "--", "new"]):
        text = re.sub(r"\033\[[0-9;]*m", "", run(columns, *command))
        for line in text.splitlines():
            if width(line) > columns:
                sys.exit(f"{command} is wider than {columns}: {line}")
        for name in own:
            if name not in text:
                sys.exit(f"{command} in {columns} columns has lost {name}:\n{text}")
END
finish
