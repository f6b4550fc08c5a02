#!/bin/sh
# fxtdump --follow: records as they are written, and an end that is no damage.
set -eu

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"
cd "$WORK"
"$O/bench/fxtgen" --kind spans --count 200 >whole.fxt
fxtdump --json whole.fxt >whole.json
half=$(($(sed -n '100s/{"offset":\([0-9]*\),.*/\1/p' whole.json) + 12)) # inside a record

# shellcheck disable=SC2317 # wait_for calls it
has_lines() { [ "$(wc -l <out)" -ge "$1" ]; } # has_lines COUNT
awaited() { # awaited FILE: out has as many lines as the file
    wait_for has_lines "$(wc -l <"$1")"
}
start() { # start FILE ARGUMENT...: follow the file; its output to out and err, its process in pid
    file=$1
    shift
    : >out # of the one before
    fxtdump --follow "$@" "$file" >out 2>err &
    pid=$!
}
ends() { # ends STATUS: it does, with that
    status=0
    wait $pid || status=$?
    [ $status -eq "$1" ] || fail "status $status, not $1: $(cat err)"
}

# What is whole is shown at once, the rest when it comes; Ctrl-C is an end like any other.
head -c "$half" whole.fxt >growing.fxt
fxtdump --json growing.fxt >half.json 2>/dev/null || [ $? -eq 3 ]
start growing.fxt --json
awaited half.json
cmp out half.json || fail 'the first half'
tail -c +$((half + 1)) whole.fxt >>growing.fxt
awaited whole.json
kill -TERM $pid
ends 0
cmp out whole.json || fail 'the second half'
[ ! -s err ] || fail "an end without damage: $(cat err)"

# Half a record is left where it is after a signal; it is damage where the file is over.
head -c "$half" whole.fxt >growing.fxt
start growing.fxt --json
awaited half.json
kill -TERM $pid
ends 0
cmp out half.json || fail 'half a record'
head -c "$half" whole.fxt >growing.fxt
start growing.fxt --json
awaited half.json
mv growing.fxt moved.fxt
ends 3
grep -q 'growing.fxt: is no longer at its path while it was followed: reading ends here' err || fail "a renamed file: $(cat err)"
grep -q 'damaged: cut off in its last record' err || fail "half a record at the end: $(cat err)"

# Sums come at the end, also those of what is chosen; bytes too.
cp whole.fxt growing.fxt
start growing.fxt --stats --json --type event
wait_for has_read $pid growing.fxt
kill -TERM $pid
ends 0
fxtdump --stats --json --type event whole.fxt | cmp - out || fail 'sums'
start growing.fxt --verify --json
wait_for has_read $pid growing.fxt
kill -TERM $pid
ends 0
fxtdump --verify --json whole.fxt | cmp - out || fail '--verify'
fxtdump --hex whole.fxt >whole.hex
start growing.fxt --hex
awaited whole.hex
kill -TERM $pid
ends 0
cmp out whole.hex || fail '--hex'

# A pipe is followed to its end.
: >out
{
    head -c "$half" whole.fxt
    awaited half.json
    tail -c +$((half + 1)) whole.fxt
} | fxtdump --follow --json - >out || fail 'a pipe: its status'
cmp out whole.json || fail 'a pipe'

status=0
fxtdump --follow whole.fxt growing.fxt 2>err || status=$?
[ $status -eq 2 ] || fail "status $status for two traces"
grep -q '^fxtdump: --follow takes one trace$' err || fail "two traces: $(cat err)"
exit 0
