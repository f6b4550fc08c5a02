#!/bin/sh
# fxtq symbolize makes names better and never worse; coverage tells what is missing; --require-symbols is a gate.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
. "$ROOT/tests/cli/inlined.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')
strip -g -o named full
python3 "$ROOT/tests/tools/one_sample.py" /nowhere/program "$id" "$outer" >trace.fxt
fxtq import -q trace.fxt -o run.fxtq

names() { # names WANT WHEN: what the store calls the frame: functions with lines, innermost first
    got=$(sqlite3 -separator ' ' run.fxtq "SELECT t.text, coalesce(s.line, 0), s.quality FROM symbol s JOIN string t ON t.id = s.function WHERE quality < 5 ORDER BY inline_depth" | tr '\n' ';')
    [ "$got" = "$1" ] || fail "$2: '$got', not '$1'"
}

# Nothing is known, and what would help is said.
for command in 'report top' 'report tree' 'flamegraph -o page.html'; do
    # shellcheck disable=SC2086 # words
    run 0 fxtq $command run.fxtq
    says 'run.fxtq: no address has a symbol; to look them up: fxtq symbolize run.fxtq'
    # shellcheck disable=SC2086 # words
    run 0 fxtq $command trace.fxt
    ! grep -q 'next:' err || fail "fxtq $command trace.fxt: $(cat err)"
done
run 0 fxtq report top --json run.fxtq
[ ! -s err ] || fail "--json: $(cat err)"
run 0 fxtq symbolize run.fxtq
says "program: no file /nowhere/program, and none with build ID $id"
says 'symbols: 0.0 % of the sampled frames have a function, 0.0 % a line'
names '' 'without a file'
run 6 fxtq coverage --require-symbols 50 run.fxtq
says '0.00 % of the sampled frames have a function, less than the required 50 %'
run 0 fxtq coverage --require-symbols 0 run.fxtq
mv out covered
for option in --require-symbols=0 --cache --cache; do
    run 0 fxtq coverage $option trace.fxt
    cmp -s out covered || fail "a trace has another coverage than its store: $(cat out)"
done
rm trace.fxt.fxtq

# From a symbol table; from debug information; and not back.
run 0 fxtq symbolize --symbols named run.fxtq
says 'program: 1 of 1 frame has better names'
says 'program: named: no debug information'
names 'outer 0 3;' 'with a symbol table'
run 0 fxtq symbolize --symbols full --require-symbols 100 run.fxtq
names 'inner 1 4;outer 2 4;' 'with debug information'
run 0 fxtq report top run.fxtq
[ ! -s err ] || fail "names are there: $(cat err)"
cp run.fxtq before.fxtq
run 0 fxtq symbolize --symbols named run.fxtq
names 'inner 1 4;outer 2 4;' 'with a symbol table again'
run 0 fxtq symbolize run.fxtq
names 'inner 1 4;outer 2 4;' 'without a file again'
cmp -s run.fxtq before.fxtq || [ "$(sqlite3 run.fxtq .dump)" = "$(sqlite3 before.fxtq .dump)" ] || fail 'a run that finds nothing changes the store'

run 0 fxtq coverage run.fxtq
prints " 100.00 %   100.00 %   100.00 %  program  $id"
run 0 fxtq coverage --json run.fxtq
[ "$(cat out)" = '{"module":"/nowhere/program","build_id":"'"$id"'","frames":1,"named":1,"lined":1}' ] || fail "json: $(cat out)"

# The same texts are written once.
[ "$(sqlite3 run.fxtq 'SELECT count(*) - count(DISTINCT text) FROM string')" = 0 ] || fail 'texts are there twice'

# Others may write meanwhile, or nobody.
run 2 fxtq symbolize
says 'no store given'
run 2 fxtq coverage --require-symbols 101 run.fxtq
says "'101' is not a percentage"
run 2 fxtq coverage run.fxtq more
run 4 fxtq symbolize --symbols nowhere run.fxtq
says '--symbols: nowhere: No such file or directory'
run 4 fxtq symbolize absent.fxtq
says 'absent.fxtq: there is no such file'
run 3 fxtq symbolize trace.fxt
says 'trace.fxt: '

# Broken stores: a sentence.
cp run.fxtq broken.fxtq
sqlite3 broken.fxtq 'UPDATE frame SET module_id = 7'
run 3 fxtq symbolize broken.fxtq
says 'the store is corrupt: a frame is in module 7, which is not there'
run 3 fxtq coverage broken.fxtq
says 'the store is corrupt: a row refers to a module that is not there'
cp run.fxtq broken.fxtq
sqlite3 broken.fxtq 'UPDATE callsite SET parent_id = 5'
run 3 fxtq coverage broken.fxtq
says 'the store is corrupt: a row refers to a call site that is not there'
finish
