#!/bin/sh
# fxtq import when things go wrong: killed at any step, a full disk at any step, no right to write, a locked store, a broken one. What
# was there before is there afterwards, what is new is whole or absent, and one sentence says why.
set -eu

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/dump.sh"
. "$ROOT/tests/cli/wait.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
"$O/bench/fxtgen" --count 10000 --stacks 1000 >one.fxt
"$O/bench/fxtgen" --count 10000 --stacks 1000 --seed 2 >two.fxt
"$fxtq" import -q one.fxt -o base.fxtq
"$fxtq" import -q one.fxt two.fxt -o both.fxtq
dump base.fxtq >base.sql
dump both.fxtq >both.sql

# ---- No space ----

. "$ROOT/tests/cli/faults.sh"
"$O/bench/fxtgen" --count 300 --stacks 30 --processes 1 >small.fxt
"$O/bench/fxtgen" --count 300 --stacks 30 --processes 1 --seed 2 >small2.fxt
"$fxtq" import -q small.fxt -o small.fxtq
"$fxtq" import -q small.fxt small2.fxt -o grown.fxtq
# All that a store holds, and that SQLite finds it sound, in one go: this is done after each of hundreds of steps.
contents() { dump "$1" 'PRAGMA integrity_check'; }
contents small.fxtq >small.sql
contents grown.fxtq >grown.sql
tail -n 1 grown.sql | grep -qx ok || fail "a sound store is not sound"

# ---- Killed ----

kill_each() { # kill_each COMMAND...: run it, killed at one step after the other, with prepare before and check after each
    step=1
    while :; do
        prepare
        status=0
        KILL_AT=$step LD_PRELOAD=$PWD/faults.so "$@" >out 2>message || status=$?
        [ "$status" != 0 ] || break
        [ "$status" = 137 ] || fail "killed at step $step: status $status, $(cat message)"
        check
        step=$((step + 1))
    done
    [ "$step" -gt 20 ] || fail "$*: only $step steps changed a file"
}
prepare() { rm -f new.fxtq; }
check() {
    [ ! -e new.fxtq ] || [ "$(sqlite3 new.fxtq 'PRAGMA integrity_check; SELECT count(*) FROM cpu_sample')" = "ok
300" ] || fail "killed at step $step: a new store that is not whole"
}
kill_each "$fxtq" import -q small2.fxt -o new.fxtq
# What a killed import leaves is not in the way, nor does it stay.
[ "$(echo new.fxtq*)" = new.fxtq ] || fail "left beside the store: $(echo new.fxtq*)"

prepare() { rm -f grown.fxtq*; cp small.fxtq grown.fxtq; }
whole_appends=0
check() {
    contents grown.fxtq >now.sql || fail "killed at step $step: the store does not open"
    cmp -s now.sql small.sql && return
    cmp -s now.sql grown.sql || fail "killed at step $step: half an append, or a store that is not sound"
    whole_appends=$((whole_appends + 1))
}
kill_each "$fxtq" import -q small2.fxt -o grown.fxtq
[ "$whole_appends" -ge 3 ] || fail "only $whole_appends kills came after the append was committed"

# A new cache, and one that replaces another.
prepare() { rm -f small2.fxt.fxtq; }
check() {
    [ ! -e small2.fxt.fxtq ] || [ "$(sqlite3 small2.fxt.fxtq 'PRAGMA integrity_check; SELECT count(*) FROM cpu_sample')" = "ok
300" ] || fail "killed at step $step: a cache that is not whole"
}
kill_each "$fxtq" --cache small2.fxt "SELECT count(*) FROM cpu_sample"
prepare() { touch small2.fxt; }
kill_each "$fxtq" --cache small2.fxt "SELECT count(*) FROM cpu_sample"
[ "$(cat out)" = "count(*)
300" ] || fail "the cache that a killed query left is in the way: $(cat out)"
rm -f small2.fxt.fxtq*

# ---- No space ----

fill() { # fill COMMAND...: run it with less and less room, with prepare before and check after each
    step=1
    while :; do
        prepare
        status=0
        FULL_AT=$step LD_PRELOAD=$PWD/faults.so "$@" >out 2>message || status=$?
        [ "$status" != 0 ] || break
        [ "$status" = 4 ] || fail "no space at step $step: status $status, $(cat message)"
        # SQLite does not always say which error it was.
        said=$(cat message)
        case $said in
        *"
"*) fail "no space at step $step: more than a sentence: $said" ;;
        *'No space left on device'* | *'disk full or broken'*) ;;
        *) fail "no space at step $step: $said" ;;
        esac
        check
        step=$((step + 1))
    done
    [ "$step" -gt "$least" ] || fail "$*: only $step steps took space"
}
least=20
prepare() { rm -f new.fxtq; }
# The last step makes the name durable: the store is there by then, and whole.
whole() { [ ! -e "$1" ] || [ "$(sqlite3 "$1" 'PRAGMA integrity_check; SELECT count(*) FROM cpu_sample' 2>&1)" = "ok
300" ] || fail "no space at step $step: half a store"; }
check() { whole new.fxtq; }
fill "$fxtq" import -q small2.fxt -o new.fxtq
prepare() { rm -f grown.fxtq*; cp small.fxtq grown.fxtq; }
# The store is as it was; or, where the capture was committed and only the WAL could not be merged, it is whole with its WAL, and one file
# again once there is room.
unmerged=0
check() {
    if [ "${said#*the -wal file}" = "$said" ]; then
        contents grown.fxtq | cmp -s - small.sql || fail "no space at step $step: the store changed"
        return
    fi
    unmerged=$((unmerged + 1))
    mkdir -p copy
    cp grown.fxtq grown.fxtq-wal copy 2>/dev/null || :
    contents copy/grown.fxtq | cmp -s - grown.sql || fail "no space at step $step: the store and its WAL are not the store"
    rm -r copy
    "$fxtq" import -q small2.fxt -o grown.fxtq 2>/dev/null || fail "no space at step $step: not merged when there is room"
    cp grown.fxtq alone.fxtq
    contents alone.fxtq | cmp -s - grown.sql || fail "no space at step $step: merged, and not whole"
    rm alone.fxtq
}
fill "$fxtq" import -q small2.fxt -o grown.fxtq
[ "$unmerged" -ge 3 ] || fail "merging the WAL failed $unmerged times: it was not tried"
cp grown.fxtq alone.fxtq
contents alone.fxtq | cmp -s - grown.sql || fail "with space enough the store alone is not whole"
rm -f grown.fxtq*
cp small.fxtq grown.fxtq
"$fxtq" import -q small2.fxt -o grown.fxtq
[ "$(echo grown.fxtq*)" = grown.fxtq ] || fail "left beside the store: $(echo grown.fxtq*)"

# Better names: all of them or those that were there.
cat >program.c <<'SOURCE'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
SOURCE
${CC:-cc} -O1 -g -Wl,--build-id=sha1 -o program program.c
outer=$(nm program | awk '$3 == "outer" { print $1 }')
python3 "$ROOT/tests/tools/one_sample.py" /nowhere/program "$(readelf -n program | sed -n 's/.*Build ID: //p')" "$outer" >named.fxt
"$fxtq" import -q named.fxt -o plain.fxtq
dump plain.fxtq >plain.sql
prepare() { rm -f grown.fxtq*; cp plain.fxtq grown.fxtq; }
check() { dump grown.fxtq | cmp -s - plain.sql || fail "no space at step $step: the store changed"; }
least=5
fill "$fxtq" symbolize -q --no-cache --symbols program grown.fxtq
[ "$(sqlite3 grown.fxtq "SELECT count(*) FROM frame_name WHERE name = 'inner'")" = 1 ] || fail "with space enough the names are missing"

# What a query keeps of a trace, and a page.
prepare() { rm -f small2.fxt.fxtq; }
check() { whole small2.fxt.fxtq; }
fill "$fxtq" --cache small2.fxt "SELECT count(*) FROM cpu_sample"
[ "$(cat out)" = "count(*)
300" ] || fail "with space enough there is no answer: $(cat out)"

# Damage is not forgotten when the rest fails: no cache of a damaged trace passes for one of a sound trace.
head -c 3000 small.fxt >half.fxt
prepare() { rm -f half.fxt.fxtq; }
check() {
    status=0
    "$fxtq" --cache half.fxt "SELECT count(*) FROM cpu_sample" >out 2>message || status=$?
    [ "$status" = 3 ] || fail "no space at step $step, then: status $status for a damaged trace, $(cat message)"
}
step=1
while [ "$step" -le 60 ]; do
    prepare
    FULL_AT=$step LD_PRELOAD=$PWD/faults.so "$fxtq" --cache half.fxt "SELECT count(*) FROM cpu_sample" >out 2>message || status=$?
    [ "$status" != 3 ] || break
    check
    step=$((step + 1))
done
[ "$step" -ge 10 ] || fail "a damaged trace: only $step steps took space"
rm -f half.fxt*
prepare() { rm -f page.html; }
check() { [ ! -e page.html ] || fail "no space at step $step: half a page"; }
least=1
fill "$fxtq" flamegraph small.fxtq -o page.html
rm -f small2.fxt.fxtq page.html

# ---- No right, no chance ----

sentence() { # sentence STATUS PATTERN COMMAND...
    expected=$1 pattern=$2
    shift 2
    status=0
    "$@" >/dev/null 2>message || status=$?
    [ "$status" = "$expected" ] || fail "$*: status $status, $(cat message)"
    if ! grep -q "$pattern" message || [ "$(wc -l <message)" != 1 ]; then fail "$*: $(cat message)"; fi
}
sentence 4 'No such file or directory' "$fxtq" import -q one.fxt -o nowhere/new.fxtq
if [ "$(id -u)" = 0 ]; then
    as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
else
    as_nobody() { "$@"; }
fi
mkdir closed
cp base.fxtq closed/base.fxtq
chmod a-w closed closed/base.fxtq
# Nobody must get there at all.
if as_nobody test -r closed/base.fxtq -a -x "$fxtq"; then
    sentence 4 'Permission denied' as_nobody "$fxtq" import -q one.fxt -o closed/new.fxtq
    sentence 4 'attempt to write a readonly database\|Permission denied\|read-only' as_nobody "$fxtq" import -q two.fxt -o closed/base.fxtq
    dump closed/base.fxtq | cmp -s - base.sql || fail "a store that may not be written was"
fi
chmod u+w closed

# Somebody else writes, and does not end; readers go on.
cp base.fxtq locked.fxtq
mkfifo go
is_locked() { ! sqlite3 "$1" 'BEGIN EXCLUSIVE; ROLLBACK' 2>/dev/null; }
{ echo 'BEGIN EXCLUSIVE;'; cat go; } | sqlite3 -cmd '.timeout 60000' locked.fxtq &
holder=$!
exec 9>go
wait_for is_locked locked.fxtq
sentence 4 'another program is using the store' "$fxtq" import -q two.fxt -o locked.fxtq
exec 9>&-
wait "$holder"
"$fxtq" import -q two.fxt -o locked.fxtq
dump locked.fxtq | cmp -s - both.sql || fail "after the lock: not what both captures give"

# Somebody reads all along: the same, and a read beside it goes on.
cp base.fxtq read.fxtq
{ echo 'BEGIN; SELECT count(*) FROM cpu_sample;'; cat go; } | sqlite3 -cmd '.timeout 60000' read.fxtq >/dev/null &
holder=$!
exec 9>go
wait_for is_locked read.fxtq
sentence 4 'another program is using the store' "$fxtq" import -q two.fxt -o read.fxtq
[ "$("$fxtq" --no-header read.fxtq 'SELECT count(*) FROM cpu_sample')" = 10000 ] || fail "a reader beside a reader"
exec 9>&-
wait "$holder"
dump read.fxtq | cmp -s - base.sql || fail "a reader, and the store changed"
"$fxtq" import -q two.fxt -o read.fxtq
dump read.fxtq | cmp -s - both.sql || fail "after the reader: not what both captures give"

# Two readers while a writer appends: they see the store before or after.
cp base.fxtq shared.fxtq
reader() {
    for _ in $(seq 40); do
        count=$(sqlite3 -cmd '.timeout 5000' shared.fxtq 'SELECT count(*) FROM cpu_sample') || return 1
        case $count in 10000 | 20000) ;; *) return 1 ;; esac
    done
}
reader &
first=$!
reader &
second=$!
"$fxtq" import -q two.fxt -o shared.fxtq || fail "a writer beside readers: status $?"
wait "$first" || fail "a reader beside a writer saw something else"
wait "$second" || fail "a reader beside a writer saw something else"

# ---- Broken stores: a sentence, or the rest of the store; never a crash ----

size=$(wc -c <base.fxtq)
for i in $(seq 60); do
    cp base.fxtq broken.fxtq
    rm -f broken.fxtq-wal broken.fxtq-shm
    offset=$((i * 7919 * 31 % size))
    [ "$i" -gt 20 ] || offset=$((i * 5)) # the header
    printf '\377\000\377\125\252\001\376' | dd of=broken.fxtq bs=1 seek="$offset" conv=notrunc 2>/dev/null
    status=0
    "$fxtq" import -q two.fxt -o broken.fxtq 2>message || status=$?
    case $status in 0 | 3 | 4) ;; *) fail "bytes at $offset: status $status, $(cat message)" ;; esac
    [ "$(wc -l <message)" -le 1 ] || fail "bytes at $offset: $(cat message)"
done
for length in 1 99 100 4096 5000 100000; do
    head -c "$length" base.fxtq >broken.fxtq
    status=0
    "$fxtq" import -q two.fxt -o broken.fxtq 2>message || status=$?
    case $status in 3 | 4) ;; *) fail "cut at $length: status $status, $(cat message)" ;; esac
done
