#!/bin/sh
# The page of flame graphs in Chromium: loads, zooms, searches, compares; the console stays empty and the network is left alone.
set -eu

tool=$O/tests/tools/flame_page
cd "$WORK"

# Selenium is Debian's; another python3 may come first in PATH.
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import selenium' 2>/dev/null && python=$candidate && break
done
if [ -z "$python" ] || ! command -v chromedriver >/dev/null; then
    echo 'SKIP: chromium is not here'
    exit 0
fi

row() { # row COLUMN LEVEL FUNCTION MODULE SELF
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" "${6-}"
}

{
    echo 0
    row 0 1 main prog 100000
    row 0 2 alpha libwork.so 100000 src/alpha.c:12
    row 0 3 leaf libwork.so 300000
    row 0 4 leaf libwork.so 200000
    row 0 2 beta libwork.so 100000
    row 0 3 leaf libwork.so 200000
    echo 1
    row 1 1 main prog 0
    row 1 2 beta libwork.so 3072
} | "$tool" 'a <b> & c' cpu/nanoseconds alloc_space/bytes >page.html
{
    echo 0
    row 0 1 main prog 0
    row 0 2 alpha libwork.so 600000
    row 0 2 beta libwork.so 350000
    row 0 2 gone libwork.so 50000
    echo 1
    row 1 1 main prog 0
    row 1 2 alpha libwork.so 800000
    row 1 2 beta libwork.so 400000
} | "$tool" --diff 'before and after' cpu/nanoseconds >diff.html

# The same functions in a build elsewhere and under another name; parse is in two modules, which keeps them apart.
{
    echo 0
    row 0 1 main ../base/prog 0
    row 0 2 work ../base/prog 500000
    row 0 2 parse ../base/prog 300000
    row 0 2 parse /usr/lib/libparse.so 200000
    echo 1
    row 1 1 main ./prog-2 0
    row 1 2 work ./prog-2 500000
    row 1 2 parse /opt/libparse.so 400000
    row 1 2 'std::vector<int, std::allocator<int> >::push_back(int const&)' ./prog-2 100000
} | "$tool" --diff 'moved' cpu/nanoseconds >moved.html

"$python" "$ROOT/tests/page_flamegraph.py" page.html diff.html moved.html
