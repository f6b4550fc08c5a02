#!/bin/sh
# fxtq --cache: whatever happens to a trace, the answer is that of the trace; whatever lies where the cache would, nothing that --cache
# did not make is replaced or believed.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
fxtq=$O/bin/fxtq
mkdir kept
"$O/bench/fxtgen" --count 1000 --seed 1 >kept/old.fxt
"$O/bench/fxtgen" --count 1500 --seed 2 >kept/new.fxt
python3 - <<'PY'
# Same size, one sample less: the last record of the kind that most are of becomes one of a kind that nothing is of.
import collections, struct
data = bytearray(open("kept/old.fxt", "rb").read())
offset, kinds, last = 0, collections.Counter(), {}
while offset < len(data):
    word, = struct.unpack_from("<Q", data, offset)
    kind = word & 15
    kinds[kind] += 1
    last[kind] = offset
    offset += (word >> 4 & (0xffffffff if kind == 15 else 0xfff)) * 8
kind = kinds.most_common(1)[0][0]
data[last[kind]] = data[last[kind]] & 0xf0 | 14
open("kept/same.fxt", "wb").write(data)
PY

query="SELECT count(*) FROM cpu_sample"
ask() { # ask TRACE: the number of samples that the cache answers with
    "$fxtq" --format csv --no-header --cache "$1" "$query" 2>err
}
truth() { # the same without any cache
    "$fxtq" --format csv --no-header "$1" "$query" 2>/dev/null || :
}
inode() { stat -c %i "$1"; }
[ "$(truth kept/same.fxt)" != 1000 ] || fail "same.fxt has as many samples as old.fxt: it shows nothing"

# ---- How a trace changes ----

# Each of them makes t.fxt something else; new.fxt is older than the cache where its time is kept.
touch -d '2020-01-01' kept/old.fxt kept/new.fxt kept/same.fxt
while IFS='|' read -r name change; do
    rm -rf t.fxt* side
    cp -p kept/old.fxt t.fxt
    [ "$(ask t.fxt)" = 1000 ] || fail "$name: the first answer: $(cat err)"
    [ -e t.fxt.fxtq ] || fail "$name: no cache"
    made=$(inode t.fxt.fxtq)
    [ "$(ask t.fxt)" = 1000 ] || fail "$name: the second answer"
    [ "$(inode t.fxt.fxtq)" = "$made" ] || fail "$name: the cache was made again for an unchanged trace"
    eval "$change"
    [ "$(truth t.fxt)" != 1000 ] || fail "$name: the trace did not change"
    answer=$(ask t.fxt) || [ $? = 3 ] || fail "$name: $(cat err)"
    [ "$answer" = "$(truth t.fxt)" ] || fail "$name: answered $answer, not $(truth t.fxt)"
    answer=$(ask t.fxt) || [ $? = 3 ] || fail "$name, again: $(cat err)"
    [ "$answer" = "$(truth t.fxt)" ] || fail "$name: answered $answer the second time, not $(truth t.fxt)"
done <<'TABLE'
cp|cp kept/new.fxt t.fxt
cp -p|cp -p kept/new.fxt t.fxt
cp -p, same size|cp -p kept/same.fxt t.fxt
mv|cp -p kept/new.fxt side; mv side t.fxt
mv, same size and time|cp -p kept/same.fxt side; mv side t.fxt
tar|mkdir side; cp -p kept/new.fxt side/t.fxt; tar -C side -cf side/a.tar t.fxt; tar -xf side/a.tar
tar, same size and time|mkdir side; cp -p kept/same.fxt side/t.fxt; tar -C side -cf side/a.tar t.fxt; tar -xf side/a.tar
cp -p in place of rsync -t|cp -p kept/new.fxt .t.fxt.x; mv -f .t.fxt.x t.fxt
rsync --inplace|cat kept/same.fxt >t.fxt; touch -r kept/old.fxt t.fxt
touched back|cat kept/new.fxt >t.fxt; touch -d '2019-01-01' t.fxt
touched forward|cat kept/new.fxt >t.fxt; touch -d '2030-01-01' t.fxt
same size and time|dd if=kept/same.fxt of=t.fxt conv=notrunc 2>/dev/null; touch -r kept/old.fxt t.fxt
truncated, time put back|truncate -s -40000 t.fxt; touch -r kept/old.fxt t.fxt
a link swapped|mv t.fxt side; ln -sf kept/new.fxt t.fxt
a link swapped, same size and time|mv t.fxt side; ln -sf kept/same.fxt t.fxt
hard link swapped|ln -f kept/same.fxt t.fxt
cut while it was written|head -c 30000 kept/old.fxt >t.fxt
TABLE

# Links that keep the name, and a time that lies ahead.
rm -rf t.fxt* side
cp kept/old.fxt one
cp kept/new.fxt two
ln -s one t.fxt
[ "$(ask t.fxt)" = 1000 ] || fail "a link"
ln -sfn two t.fxt
[ "$(ask t.fxt)" = 1500 ] || fail "a link that leads elsewhere"

# ---- What lies where the cache would ----

# What is not the cache's stays as it is, to the byte, and the message says what to do.
"$fxtq" import -q kept/new.fxt -o new.fxtq
"$fxtq" import -q kept/old.fxt kept/new.fxt -o both.fxtq
while IFS='|' read -r name reason make; do
    rm -rf t.fxt* side
    cp kept/old.fxt t.fxt
    eval "$make"
    tar -cf before.tar --sort=name t.fxt.fxtq*
    touch t.fxt
    run 4 "$fxtq" --cache t.fxt "$query"
    says "t.fxt.fxtq cannot be used as the cache: $reason"
    says "rename it, or omit --cache"
    [ ! -s out ] || fail "$name: answered $(cat out)"
    tar -cf after.tar --sort=name t.fxt.fxtq*
    cmp -s before.tar after.tar || fail "$name: it was changed"
    run 0 "$fxtq" t.fxt "$query"
    prints 1000
done <<'TABLE'
a store of another trace|--cache did not make it|cp new.fxtq t.fxt.fxtq
the same with a time ahead|--cache did not make it|cp new.fxtq t.fxt.fxtq; touch -d 2035-01-01 t.fxt.fxtq
a store of the trace|--cache did not make it|"$fxtq" import -q t.fxt -o t.fxt.fxtq
a store with a table of the user|--cache did not make it|cp both.fxtq t.fxt.fxtq; sqlite3 t.fxt.fxtq 'CREATE TABLE mine (a); INSERT INTO mine VALUES (1)'
a cache with a table of the user|it was changed since --cache made it|ask t.fxt >/dev/null; sqlite3 t.fxt.fxtq 'CREATE TABLE mine (a); INSERT INTO mine VALUES (1)'
a cache with a view of the user|it was changed since --cache made it|ask t.fxt >/dev/null; sqlite3 t.fxt.fxtq 'CREATE VIEW mine AS SELECT 1'
a cache with a note of the user|it was changed since --cache made it|ask t.fxt >/dev/null; sqlite3 t.fxt.fxtq "INSERT INTO meta VALUES (0, 'mine', 7)"
a cache with another capture|it was changed since --cache made it|ask t.fxt >/dev/null; "$fxtq" import -q kept/new.fxt -o t.fxt.fxtq
a cache whose capture is another's|it was changed since --cache made it|ask t.fxt >/dev/null; sqlite3 t.fxt.fxtq "UPDATE capture SET hash = x'00'"
a cache without its capture|it was changed since --cache made it|ask t.fxt >/dev/null; sqlite3 t.fxt.fxtq "DELETE FROM capture"
a cache with a journal that was not rolled back|attempt to write|ask t.fxt >/dev/null; head -c 5000 t.fxt.fxtq >t.fxt.fxtq-journal
another database|an SQLite database, but not a store of fxtq|sqlite3 t.fxt.fxtq 'CREATE TABLE mine (a)'
a text|it is not a store|echo text >t.fxt.fxtq
an empty file|it is not a store|: >t.fxt.fxtq
a folder|it is not a regular file|mkdir t.fxt.fxtq
a pipe|it is not a regular file|mkfifo t.fxt.fxtq
a link to a store|it is not a regular file|cp new.fxtq side; ln -s side t.fxt.fxtq
a link to a cache|it is not a regular file|ask t.fxt >/dev/null; mv t.fxt.fxtq side; ln -s side t.fxt.fxtq
a link to nothing|it is not a regular file|ln -s nothing t.fxt.fxtq
TABLE

# ---- Caches that are not believed ----

# Made elsewhere, from another trace, or by another version: none is answered from, and all make room for the right one.
while IFS='|' read -r name make; do
    rm -rf t.fxt* side
    cp -p kept/old.fxt t.fxt
    ask t.fxt >/dev/null
    sqlite3 t.fxt.fxtq 'DELETE FROM cpu_sample' # what a cache that is believed would answer from
    [ "$(ask t.fxt)" = 0 ] || fail "$name: not answered from the cache at first"
    eval "$make"
    [ "$(ask t.fxt)" = 1000 ] || fail "$name: believed: $(cat err)"
done <<'TABLE'
a copy|cp -p t.fxt.fxtq side; mv side t.fxt.fxtq
a copy of both|mkdir side; cp -p t.fxt t.fxt.fxtq side; rm t.fxt*; mv side/t.fxt* .
both from an archive|tar -cf side t.fxt t.fxt.fxtq; rm t.fxt*; tar -xf side
another version|sqlite3 t.fxt.fxtq "UPDATE meta SET value = '0.0.1' WHERE key = 'cache_program'"
no state of the trace|sqlite3 t.fxt.fxtq "UPDATE meta SET value = '' WHERE key = 'cache_trace'"
no inode|sqlite3 t.fxt.fxtq "DELETE FROM meta WHERE key = 'cache_inode'"
a left journal|: >t.fxt.fxtq-wal; touch t.fxt
TABLE
[ "$(echo t.fxt.fxtq*)" = t.fxt.fxtq ] || fail "the journal of the replaced cache stays: $(echo t.fxt.fxtq*)"

if [ "$(id -u)" = 0 ]; then
    rm -rf t.fxt* side
    cp -p kept/old.fxt t.fxt
    ask t.fxt >/dev/null
    sqlite3 t.fxt.fxtq 'DELETE FROM cpu_sample'
    chown 65534 t.fxt.fxtq
    run 4 "$fxtq" --cache t.fxt "$query"
    says "it belongs to another user"
    chown 0 t.fxt.fxtq
    [ "$(ask t.fxt)" = 0 ] || fail "not answered from the own cache"
    : >t.fxt.fxtq-journal
    chown 65534 t.fxt.fxtq-journal
    run 4 "$fxtq" --cache t.fxt "$query"
    says "it belongs to another user"
fi

# ---- The rest ----

# What cannot be cached is answered all the same.
rm -rf t.fxt* side
cp kept/old.fxt t.fxt
mkfifo side
cat t.fxt >side &
run 0 timeout 600 "$fxtq" --cache side "$query"
prints 1000
says "runs without a cache"
(
    exec 9>t.fxt.fxtq.part
    flock -n 9
    "$fxtq" --cache t.fxt "$query" 9>&- >out 2>err || echo failed >>err
)
prints 1000
says "another program is making the store; this query runs without the cache"
[ ! -e t.fxt.fxtq ] || fail "a cache was made although another program makes it"
run 2 "$fxtq" --cache --write t.fxt "$query"
says "cannot be combined"

# Damage is reported each time, not only when the cache is made.
head -c 30000 kept/old.fxt >half.fxt
run 3 "$fxtq" --cache half.fxt "$query"
cp out first
run 3 "$fxtq" --cache half.fxt "$query"
says "half.fxt: the trace is damaged"
cmp first out || fail "another answer from the cache of a damaged trace"

# Without the names that could not be looked up, an answer is not kept, nor is the damage forgotten.
rm half.fxt.fxtq
FXT_SYMBOL_CACHE_BYTES=nonsense "$fxtq" --cache half.fxt "$query" >out 2>err && fail 'nonsense is a number'
[ ! -e half.fxt.fxtq ] || fail 'a cache without the names'
run 3 "$fxtq" --cache half.fxt "$query"
says "half.fxt: damaged"
# ---- Several at once ----

# A stale cache is replaced in one step: everybody answers, and from the trace as it is.
rm -rf t.fxt* side
for round in 1 2 3 4 5 6; do
    if [ $((round % 2)) = 1 ]; then cat kept/old.fxt >t.fxt; else cat kept/new.fxt >t.fxt; fi
    pids=""
    for i in 1 2 3 4 5 6 7 8; do
        ask t.fxt >answer.$i 2>err.$i &
        pids="$pids $!"
    done
    i=0
    for pid in $pids; do
        i=$((i + 1))
        wait "$pid" || fail "round $round: query $i failed: $(cat err.$i)"
        [ "$(cat answer.$i)" = "$(truth t.fxt)" ] || fail "round $round: query $i answered '$(cat answer.$i)'"
    done
    [ "$(echo t.fxt.fxtq*)" = t.fxt.fxtq ] || fail "round $round: left beside the trace: $(echo t.fxt.fxtq*)"
done

# What another program does at the moment before the cache gets its name: the first call of the function that $AT names runs $DO.
cat >meanwhile.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void meanwhile(const char *name)
{
    const char *at = getenv("AT"), *command = getenv("DO");
    if (!at || !command || strcmp(at, name) != 0)
        return;
    unsetenv("AT");
    unsetenv("LD_PRELOAD");
    if (system(command) != 0)
        _exit(99);
}
int fsync(int fd)
{
    meanwhile("fsync");
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int renameat2(int d, const char *a, int e, const char *b, unsigned flags)
{
    meanwhile("renameat2");
    return ((int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2"))(d, a, e, b, flags);
}
int flock(int fd, int operation)
{
    meanwhile("flock");
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, operation);
}
SOURCE
${CC:-cc} -shared -fPIC -o meanwhile.so meanwhile.c -ldl
cp both.fxtq users.fxtq
while IFS='|' read -r name stale at; do
    rm -rf t.fxt* side
    cp kept/old.fxt t.fxt
    ask t.fxt >/dev/null
    if [ "$stale" = stale ]; then touch t.fxt; else rm t.fxt.fxtq; fi
    cp users.fxtq side
    AT=$at DO="mv side t.fxt.fxtq" LD_PRELOAD=$PWD/meanwhile.so run 0 "$fxtq" --format csv --no-header --cache t.fxt "$query"
    prints 1000
    cmp -s users.fxtq t.fxt.fxtq || fail "$name: the store that came meanwhile is gone"
    [ "$(echo t.fxt.fxtq*)" = t.fxt.fxtq ] || fail "$name: left beside the trace: $(echo t.fxt.fxtq*)"
done <<'TABLE'
a store in place of a stale cache|stale|fsync
a store in place of a stale cache, at the last moment|stale|renameat2
a store where there was no cache|none|fsync
a store where there was no cache, at the last moment|none|renameat2
TABLE

# Another program makes the cache while this one gets ready to.
rm -rf t.fxt* side
cp kept/old.fxt t.fxt
ask t.fxt >/dev/null
touch t.fxt
AT=flock DO="'$fxtq' --cache t.fxt 'SELECT 1' >side 2>&1; rm -f side" LD_PRELOAD=$PWD/meanwhile.so \
    run 0 "$fxtq" --format csv --no-header --cache t.fxt "$query"
prints 1000
[ "$(ask t.fxt)" = 1000 ] || fail "no cache after two programs made it"
[ "$(echo t.fxt.fxtq*)" = t.fxt.fxtq ] || fail "left beside the trace: $(echo t.fxt.fxtq*)"

# A trace that changes while it is read has no cache, and the answer.
AT=fsync DO=true LD_PRELOAD=$PWD/meanwhile.so run 0 "$fxtq" --cache t.fxt "$query"
rm -rf t.fxt*
cp kept/old.fxt t.fxt
AT=flock DO="touch t.fxt" LD_PRELOAD=$PWD/meanwhile.so run 0 "$fxtq" --format csv --no-header --cache t.fxt "$query"
prints 1000
[ ! -e t.fxt.fxtq ] || fail "a cache of a trace that changed while it was imported"

# PATH.part of somebody else is not taken over.
if [ "$(id -u)" = 0 ]; then
    : >new2.fxtq.part
    chown 65534 new2.fxtq.part
    run 4 "$fxtq" import -q kept/old.fxt -o new2.fxtq
    says "its .part belongs to another user: remove it first"
    [ "$(stat -c %u:%s new2.fxtq.part)" = 65534:0 ] || fail "the .part of another user was changed"
    rm new2.fxtq.part
fi
: >side
ln side new2.fxtq.part
run 4 "$fxtq" import -q kept/old.fxt -o new2.fxtq
says "its .part has another name, too: remove it first"
[ ! -s side ] || fail "a file that is linked to .part was written to"
rm new2.fxtq.part

# ---- Reports ----

# Reports use the same cache.
run 0 "$fxtq" report threads --cache t.fxt
made=$(inode t.fxt.fxtq)
run 0 "$fxtq" report threads --cache t.fxt
[ "$(inode t.fxt.fxtq)" = "$made" ] || fail "a report made the cache again"
finish
