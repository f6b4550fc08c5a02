#!/bin/sh
# flamegraph.pl draws folded text, all of it, and takes every line.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)

draw() { # draw FOLDED: to ./svg, and "NAME VALUE" of every box, drawn or too narrow to, to ./boxes
    perl "$flamegraph" --hash --minwidth 0 --nametype Function: --countname units "$1" >svg 2>errors ||
        fail "flamegraph.pl: $(cat errors)"
    [ ! -s errors ] || fail "flamegraph.pl complains: $(head -n 3 errors)"
    python3 - svg >boxes <<'PY' || fail "the SVG is not XML"
import re, sys
from xml.etree import ElementTree
for title in ElementTree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}title"):
    found = re.fullmatch(r"(.*) \(([\d,]+) units, [\d.]+%\)", title.text, re.S)
    if not found:
        sys.exit("a box without a value: %r" % title.text)
    print("%s\t%s" % (found[1], found[2].replace(",", "")))
PY
}
same_total() { # same_total FOLDED
    total=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$1")
    drawn=$(awk -F '\t' '$1 == "all" { print $2 }' boxes)
    [ "$drawn" = "$total" ] || fail "$1: $drawn drawn, not $total"
}

# A generated trace: every stack's box holds what the stacks through it sum up to.
"$O/bench/fxtgen" --stacks 100 --depth 30 --count 2000 >generated.fxt
fxt2pprof -q --format folded generated.fxt >generated.folded
"$O/bench/fxtgen" --kind spans --stacks 100 --depth 8 --count 2000 >spans.fxt
fxt2pprof -q --format folded spans.fxt >spans.folded
for trace in generated spans; do
    draw $trace.folded
    same_total $trace.folded
    awk '{
            value = $NF
            sub(/ [0-9]+$/, "")
            n = split($0, frame, ";")
            path = ""
            for (i = 1; i <= n; i++) {
                path = path ";" frame[i]
                name[path] = frame[i]
                sum[path] += value
            }
            all += value
        }
        END {
            for (path in sum) printf "%s\t%.0f\n", name[path], sum[path]
            printf "all\t%.0f\n", all
        }' $trace.folded | LC_ALL=C sort >expected
    LC_ALL=C sort boxes | diff expected - >difference || fail "$trace: $(head -n 6 difference)"
done

. "$ROOT/tests/cli/perf.sh"
${CXX:-g++} -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o busy "$ROOT/testdata/demo/busy.cpp"
sampler-capture cpu -F 4000 -o busy.fxt -- ./busy 200 >/dev/null 2>err || fail "status $?: $(cat err)"
for from in process thread none; do
    fxt2pprof -q --format folded --root $from busy.fxt >busy.folded
    draw busy.folded
    same_total busy.folded
    for name in decode_blocks index_rows flush_log worker::serve scramble; do
        grep -q "$name" boxes || fail "no $name in the picture"
        grep -q "<title>.*$name" svg || fail "no $name in the SVG"
    done
done
