#!/bin/sh
# fxtdump --follow on packed files, and on files that are deleted, cut or replaced while they are followed.
set -eu

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"
cd "$WORK"
"$O/bench/fxtgen" --kind spans --count 200 >whole.fxt
fxtdump --json whole.fxt >whole.json
lines=$(wc -l <whole.json)

# shellcheck disable=SC2317 # wait_for calls it
has_lines() { [ "$(wc -l <out)" -ge "$1" ]; } # has_lines COUNT
awaited() { # awaited LINES: out has as many
    wait_for has_lines "$1"
}
start() { # start FILE: follow it; its output to out and err, its process in pid
    : >out
    fxtdump --follow --json "$1" >out 2>err &
    pid=$!
}
ends() { # ends STATUS [TEXT]: it does, with that, and says that or nothing
    status=0
    wait $pid || status=$?
    [ $status -eq "$1" ] || fail "status $status, not $1: $(cat err)"
    if [ $# -eq 1 ]; then
        [ ! -s err ] || fail "an end without damage: $(cat err)"
    else
        grep -qF -- "$2" err || fail "no '$2' in: $(cat err)"
    fi
}

# ---- Packed ----

# A frame at a time, as a capture writes: all of each is shown before the next is there, also when the last is cut in the
# middle for a while.
split -n 3 -d whole.fxt part.
for part in part.*; do
    zstd -q -c "$part" >"$part.zst"
    gzip -c "$part" >"$part.gz"
done
for kind in zst gz; do
    : >growing
    start growing
    shown=0
    for part in part.00 part.01 part.02; do
        size=$(wc -c <"$part.$kind")
        head -c $((size / 2)) "$part.$kind" >>growing
        wait_for has_read $pid growing
        tail -c +$((size / 2 + 1)) "$part.$kind" >>growing
        cat "$part" >>"unpacked.$kind"
        fxtdump --json "unpacked.$kind" >so_far 2>/dev/null || [ $? -eq 3 ]
        awaited "$(wc -l <so_far)"
        cmp out so_far || fail "$kind: behind $part"
        [ "$(wc -l <out)" -gt "$shown" ] || fail "$kind: nothing new behind $part"
        shown=$(wc -l <out)
    done
    [ "$shown" -eq "$lines" ] || fail "$kind: $shown lines"
    kill -TERM $pid
    ends 0
    # Half a frame when the signal comes is not damage; when the file is gone it is.
    cat part.00.$kind >growing
    head -c 100 part.01.$kind >>growing
    start growing
    awaited 10
    kill -TERM $pid
    ends 0
    start growing
    awaited 10
    rm growing
    ends 3 'damaged: cut off'
    grep -q 'growing: was deleted while it was followed: reading ends here' err || fail "$kind: $(cat err)"
done

# ---- The file's end ----

cp whole.fxt growing
start growing
awaited "$lines"
rm growing
ends 0 'growing: was deleted while it was followed: reading ends here'
cmp out whole.json || fail 'a deleted file'

cp whole.fxt growing
start growing
awaited "$lines"
truncate -s 100 growing
ends 0 'growing: was truncated while it was followed: reading ends here'

# Replaced by a file of the same name; what was written to the old one before is still read.
cp whole.fxt growing
start growing
awaited "$lines"
cp whole.fxt new
mv new growing
ends 0 'growing: was replaced while it was followed: reading ends here'

# By descriptor there is no name that could move.
cp whole.fxt growing
: >out
fxtdump --follow --json - <growing >out 2>err &
pid=$!
awaited "$lines"
mv growing moved
looks_again $pid
cat whole.fxt >>moved
awaited $((2 * lines))
kill -TERM $pid
ends 0

# ---- Not files ----

mkfifo pipe
head -c 1001 whole.fxt >first
fxtdump --json first >first.json 2>/dev/null || [ $? -eq 3 ]
start pipe
{
    cat first
    awaited "$(wc -l <first.json)"
    ! has_ended $pid || fail 'a pipe without data is no end'
    tail -c +1002 whole.fxt
} >pipe
ends 0
cmp out whole.json || fail 'a pipe'
start pipe
exec 3>pipe
cat whole.fxt >&3
awaited "$lines"
kill -TERM $pid
ends 0
exec 3>&-

mkdir folder
status=0
fxtdump --follow folder 2>err || status=$?
[ $status -eq 4 ] || fail "status $status for a directory"
grep -q 'folder: is a directory, not a trace' err || fail "$(cat err)"

# A region is shown as it grows, as a stream.
"$O/bench/fxtgen" --kind region --size 64k >samples
start samples
awaited 20
kill -TERM $pid
ends 0 'no magic record first'
