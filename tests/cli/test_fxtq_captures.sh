#!/bin/sh
# STORE#N, one capture of a store, wherever a command takes a store and samples are chosen; and names that would be formulas.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
PATH=$O/bin:$PATH

# ---- STORE#N ----

for seed in 1 2; do "$O/bench/fxtgen" --count 1000 --stacks 50 --seed $seed >$seed.fxt; done
run 0 fxtq import -q 1.fxt 2.fxt -o both.fxtq
for n in 1 2; do
    run 0 fxtq import -q $n.fxt -o $n.fxtq
    for command in "export folded -q" "export csv -q" "report top --json" "report threads --json"; do
        # shellcheck disable=SC2086 # words
        fxtq $command "both.fxtq#$n" >got 2>err || fail "$command both.fxtq#$n: $(cat err)"
        # shellcheck disable=SC2086
        fxtq $command --capture $n both.fxtq >want 2>err
        [ -s want ] || fail "$command: nothing"
        cmp -s want got || fail "$command both.fxtq#$n is not --capture $n"
    done
done
fxtq export folded -q both.fxtq#1 >want
fxtq export folded -q both.fxtq#2 >got
! cmp -s want got || fail "both captures are the same: nothing is shown"
# Two captures of one store are compared as two stores are.
run 0 fxtq flamegraph --title t --diff 1.fxtq 2.fxtq -o want.html
run 0 fxtq flamegraph --title t --diff both.fxtq#1 both.fxtq#2 -o got.html
cmp -s want.html got.html || fail "a difference of two captures is not that of two stores"
run 0 fxtq flamegraph --title t --diff 1.fxtq both.fxtq#2 -o got.html
cmp -s want.html got.html || fail "a difference of a store and a capture is not that of two stores"
run 0 fxtq flamegraph --title t --diff both.fxtq#2 both.fxtq#2 -o same.html
! cmp -s want.html same.html || fail "a capture differs from itself"
# What is not there, and what contradicts itself.
run 2 fxtq export folded both.fxtq#3
says "there is no capture 3"
run 2 fxtq flamegraph --diff both.fxtq#3 both.fxtq#2 -o got.html
says "there is no capture 3"
run 2 fxtq report top --capture 1 both.fxtq#2
says "both.fxtq#2 and --capture 1 select different captures"
run 0 fxtq report top --capture 2 both.fxtq#2
run 4 fxtq report top nothing.fxtq#2
# SQL chooses its rows itself, by :capture.
for n in 1 2; do
    run 0 fxtq --no-header both.fxtq#$n "SELECT count(*), sum(self) FROM call_top WHERE capture = :capture; SELECT count(*) FROM process WHERE capture_id = :capture"
    cp out got
    run 0 fxtq --no-header $n.fxtq "SELECT count(*), sum(self) FROM call_top; SELECT count(*) FROM process"
    cmp -s out got || fail "both.fxtq#$n: $(cat got), of $n.fxtq: $(cat out)"
done
run 2 fxtq both.fxtq#2 "SELECT count(*) FROM process"
says 'both.fxtq#2: no statement uses :capture'
run 2 fxtq both.fxtq#3 "SELECT :capture"
says 'both.fxtq: there is no capture 3'
run 0 fxtq --no-header both.fxtq#2 "SELECT name FROM process WHERE capture_id = :capture AND pid = :pid" -p pid=1
run 2 fxtq both.fxtq#2 "SELECT :capture" -p pid=1
says 'no statement has :pid'
# A file may be called so.
cp 1.fxtq odd.fxtq#2
run 0 fxtq report threads odd.fxtq#2
cp 1.fxt odd.fxt#7
run 0 fxtq report threads odd.fxt#7

# ---- Formulas ----

# Folded stacks whose names are formulas; a name that only has one in it; numbers.
printf '=1+1;+1;-cmd;@SUM(A1) 3\nmain;a=b;"q=",x 4\n' >names.folded
run 0 fxtq import -q names.folded -o names.fxtq
for format in csv tsv; do
    run 0 fxtq --format $format --no-header --csv-safe names.fxtq "SELECT text, -5, -2.5 FROM string WHERE text IN ('=1+1', '+1', '-cmd', '@SUM(A1)', 'a=b') ORDER BY 1"
    tr '\t' ',' <out | tr -d '\r"' | paste -sd '|' >got
    [ "$(cat got)" = "'+1,-5,-2.5|'-cmd,-5,-2.5|'=1+1,-5,-2.5|'@SUM(A1),-5,-2.5|a=b,-5,-2.5" ] || fail "$format: $(cat got)"
done
run 0 fxtq --format csv --csv-safe names.fxtq "SELECT '=a', char(9) || 'b', char(13) || 'c', char(10) || 'd', 'e' AS \"=x\""
python3 - <<'PY' || fail "csv: $(cat out)"
import csv

rows = list(csv.reader(open("out", newline="")))
assert rows[1] == ["'=a", "'\tb", "'\rc", "'\nd", "e"], rows
assert rows[0][4] == "'=x", rows
PY
run 0 fxtq export csv -q --csv-safe names.fxtq
python3 - <<'PY' || fail "export csv: $(cat out)"
import csv

rows = list(csv.DictReader(open("out", newline="")))
assert [row["function"] for row in rows] == ["'@SUM(A1)", '"q=",x'], rows
assert not any(cell and cell[0] in "=+-@\t\r\n" for row in rows for cell in row.values()), rows
assert [row["samples/count"] for row in rows] == ["3", "4"], rows
PY
# Without the option names are as they are.
run 0 fxtq export csv -q names.fxtq
grep -q '@SUM(A1)' out || fail "names changed: $(cat out)"
! grep -q "'@" out || fail "names changed: $(cat out)"
run 2 fxtq --format json --csv-safe names.fxtq 'SELECT 1'
says "--csv-safe is for --format csv and tsv"
run 2 fxtq export folded --csv-safe names.fxtq
says "--csv-safe is for csv"
finish
