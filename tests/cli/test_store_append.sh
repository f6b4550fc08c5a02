#!/bin/sh
# fxtq import into a store that is there: on disks of any room, and beside programs that read. A store that is copied alone is whole, or a
# message says that it is not; readers and appends keep out of each other's way where the store is in WAL mode.
set -eu

. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/dump.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --count 3000 --stacks 300 >one.fxt
"$O/bench/fxtgen" --count 30000 --stacks 2000 --seed 2 >two.fxt
"$fxtq" import -q one.fxt -o one.fxtq
"$fxtq" import -q one.fxt two.fxt -o both.fxtq
dump one.fxtq >one.sql
dump both.fxtq >both.sql

is() { # is STORE DUMP: what sqlite3 finds in a copy of that one file
    cp "$1" alone.fxtq
    dump alone.fxtq >alone.sql 2>&1 || :
    cmp -s alone.sql "$2"
}

# ---- Disks from far too small to large enough ----

mkdir disk
if mount -t tmpfs -o size=64m tmpfs disk 2>/dev/null; then
    trap 'umount disk' EXIT
    one=$(($(stat -c %s one.fxtq) / 1024)) both=$(($(stat -c %s both.fxtq) / 1024))
    fitted=0 refused=0
    for percent in 2 10 30 50 70 90 95 98 99 100 101 102 105 110 120 150; do
        # What is there, and room for that share of the WAL and of what the store grows by.
        rm -f disk/*
        cp one.fxtq disk/s.fxtq
        mount -o remount,size=$((one + (2 * both - one + 400) * percent / 100))k disk
        status=0
        TMPDIR=$PWD "$fxtq" import -q two.fxt -o disk/s.fxtq 2>err || status=$?
        case $status in
        0)
            fitted=$((fitted + 1))
            is disk/s.fxtq both.sql || fail "$percent %: status 0, and the store alone is not whole"
            [ "$(echo disk/*)" = disk/s.fxtq ] || fail "$percent %: left beside the store: $(echo disk/*)"
            ;;
        4)
            refused=$((refused + 1))
            says "No space left on device"
            [ "$(wc -l <err)" = 1 ] || fail "$percent %: more than a sentence: $(cat err)"
            is disk/s.fxtq one.sql || fail "$percent %: refused, and the store changed: $(cat err)"
            used=$(($(stat -c %b disk/s.fxtq) / 2))
            [ "$used" -le $((one + 64)) ] || fail "$percent %: $used KiB are kept for a store of $one"
            ;;
        *) fail "$percent %: status $status: $(cat err)" ;;
        esac
    done
    [ "$fitted" -ge 2 ] || fail "no disk was large enough"
    [ "$refused" -ge 4 ] || fail "only $refused disks were too small"
    umount disk
    trap - EXIT
fi

# ---- Readers ----

mkfifo go
hold() { # hold STORE: a program that has read from it, in a transaction that goes on until let_go
    { printf 'BEGIN; SELECT count(*) FROM cpu_sample;\n.shell echo >held\n'; cat go; } | sqlite3 "$1" >/dev/null &
    holder=$!
    exec 9>go
    while [ ! -e held ]; do sleep 0.02; done
    rm held
}
let_go() {
    exec 9>&-
    wait "$holder"
}

# In WAL mode, set once by whoever wants it, neither is in the other's way, and it stays in WAL mode.
cp one.fxtq wal.fxtq
[ "$(sqlite3 wal.fxtq 'PRAGMA journal_mode = WAL')" = wal ] || fail "no WAL mode"
hold wal.fxtq
run 0 "$fxtq" import -q two.fxt -o wal.fxtq
[ ! -s err ] || fail "an append beside a reader, in WAL mode, says: $(cat err)"
[ "$(sqlite3 wal.fxtq 'SELECT count(*) FROM cpu_sample')" = 33000 ] || fail "the append is not to be seen beside a reader"
let_go
[ "$(sqlite3 wal.fxtq 'PRAGMA journal_mode')" = wal ] || fail "an append took the store out of WAL mode"
dump wal.fxtq | cmp -s - both.sql || fail "in WAL mode: not what both captures give"

# Else a transaction that reads all along keeps the append out; it changes nothing and says why.
cp one.fxtq plain.fxtq
hold plain.fxtq
run 4 "$fxtq" import -q two.fxt -o plain.fxtq
says 'another program is using the store'
let_go
is plain.fxtq one.sql || fail "an append that was kept out changed the store"

# One that begins to read while a capture is added keeps the WAL in use: it is said, and the capture is there.
cp one.fxtq late.fxtq
mkdir slow # the capture's name is that of the file
mkfifo slow/two.fxt rest
"$fxtq" import -q slow/two.fxt -o late.fxtq 2>err &
import=$!
{
    head -c 20000 two.fxt
    cat rest
    tail -c +20001 two.fxt
} >slow/two.fxt &
while [ ! -e late.fxtq-wal ]; do sleep 0.02; done
hold late.fxtq
: >rest
status=0
wait "$import" || status=$?
[ "$status" = 0 ] || fail "a reader that came during an append: status $status, $(cat err)"
says 'a copy needs the -wal file, too'
[ "$(sqlite3 late.fxtq 'SELECT count(*) FROM cpu_sample')" = 33000 ] || fail "the append is not to be seen beside a late reader"
let_go
"$fxtq" import -q two.fxt -o late.fxtq 2>/dev/null
dump late.fxtq | cmp -s - both.sql || fail "after a late reader: not what both captures give"

# Readers that wait for a lock, as most clients do, see the store before an append or after it.
reader() { # reader STORE
    while [ ! -e over ]; do
        count=$(sqlite3 -cmd '.timeout 60000' "$1" 'SELECT count(*) FROM capture') || return 1
        case $count in [1-9]) ;; *) return 1 ;; esac
    done
}
for mode in delete wal; do
    rm -f over
    cp one.fxtq shared.fxtq
    sqlite3 shared.fxtq "PRAGMA journal_mode = $mode" >/dev/null
    reader shared.fxtq 2>errors &
    reading=$!
    for seed in 3 4 5 6 7 8; do
        "$O/bench/fxtgen" --count 1000 --stacks 100 --seed "$seed" >next.fxt
        "$fxtq" import -q next.fxt -o shared.fxtq 2>err || fail "$mode: an append beside readers: status $?, $(cat err)"
    done
    : >over
    wait "$reading" || fail "$mode: a reader beside appends: $(cat errors)"
    [ "$(sqlite3 shared.fxtq 'SELECT count(*) FROM capture')" = 7 ] || fail "$mode: captures are missing"
    rm -f shared.fxtq*
done
finish
