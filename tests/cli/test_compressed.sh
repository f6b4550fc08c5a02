#!/bin/sh
# Traces as gzip(1), zstd(1) and pzstd(1) pack them: the same records, damage where there is damage, and little memory.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
fxtgen=$O/bench/fxtgen

"$fxtgen" --count 20000 --stacks 500 --threads 4 --processes 2 >trace.fxt
fxtdump --json trace.fxt >wanted
same() { # same FILE: read as a file and from a pipe
    fxtdump --json "$1" 2>stderr | cmp - wanted || fail "$1: other records"
    [ ! -s stderr ] || fail "$1: $(cat stderr)"
    # shellcheck disable=SC2002 # a pipe is what is tested
    cat "$1" | fxtdump --json - 2>stderr | cmp - wanted || fail "$1 from a pipe: other records"
    [ ! -s stderr ] || fail "$1 from a pipe: $(cat stderr)"
}

# ---- One frame, and many ----

for level in 1 6 9; do
    gzip -$level -c trace.fxt >packed
    same packed
done
for options in -1 -3 -19 '-3 --long=27' '-3 --no-check' '-3 --no-content-size' '--fast=5' '--ultra -22'; do
    # shellcheck disable=SC2086 # a list of options
    zstd -q $options -c trace.fxt >packed
    same packed
done
zstd -q -c <trace.fxt >packed # from a pipe: without content size
same packed
pzstd -q -p 2 -c trace.fxt >packed
[ "$(od -An -tx1 -N4 packed | tr -d ' ')" = 502a4d18 ] || fail "pzstd writes no skippable frame first"
same packed
split -b 100001 trace.fxt piece.
for tool in 'zstd -q -c' 'gzip -c'; do
    for piece in piece.*; do
        $tool "$piece"
    done >packed
    same packed
done
rm -f piece.*

# ---- Cut, and followed by something else ----

damaged() { # damaged FILE TEXT: exit status 3, TEXT on stderr, and records as wanted begins
    status=0
    fxtdump --json "$1" >stdout 2>stderr || status=$?
    [ $status -eq 3 ] || fail "$1: status $status: $(cat stderr)"
    grep -qF "$2" stderr || fail "$1: no '$2' in $(cat stderr)"
    head -c "$(wc -c <stdout)" wanted | cmp - stdout || fail "$1: other records"
}
zstd -q -c trace.fxt >whole.zst
size=$(wc -c <whole.zst)
head -c $((size - 100)) whole.zst >packed
damaged packed 'cut off in its last record'
[ -s stdout ] || fail "nothing of a cut frame"
head -c 3 whole.zst >packed
damaged packed 'cut off'
{ cat whole.zst && echo garbage; } >packed
damaged packed 'damaged: bytes after the end of the zstd data are not zstd (at offset'
cmp stdout wanted || fail "garbage behind a frame costs records"
{ head -c $((size / 2)) whole.zst && head -c 50 /dev/zero && tail -c +$((size / 2 + 51)) whole.zst; } >packed
damaged packed 'corrupt zstd data (at offset'
gzip -c trace.fxt | zstd -q -c >packed
damaged packed 'gzip data inside compressed data'
zstd -q -c trace.fxt | zstd -q -c >packed
damaged packed 'zstd data inside compressed data'

# A window of 2 GiB: refused before it is allocated.
head -c 200000 /dev/zero | zstd -q --ultra -22 --long=31 -c >packed
status=0
fxtdump packed >stdout 2>stderr || status=$?
[ $status -eq 3 ] || fail "status $status for a window of 2 GiB"
grep -q 'zstd -d --long=31' stderr || fail "$(cat stderr)"

# ---- Memory ----

cat >peak.py <<'PY'
import os, resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit("%d KiB: %s" % (peak, sys.argv[2:]) if peak > int(sys.argv[1]) else 0)
PY
# Sanitizers keep shadows of all memory.
if ! nm "$(command -v fxtdump)" | grep -q __asan_init; then
    "$fxtgen" --kind events --size 50M >large.fxt
    zstd -q -1 -c large.fxt >large.1.zst
    zstd -q -3 -T2 -c large.fxt >large.3.zst
    pzstd -q -p 2 -c large.fxt >large.p.zst
    zstd -q --fast=1 --zstd=wlog=23 -c large.fxt >large.8m.zst # the window of level 19
    gzip -1 -c large.fxt >large.gz
    for packed in large.*.zst; do
        python3 peak.py 32768 fxtdump --stats "$packed" || fail "more than 32 MiB for $packed"
    done
    python3 peak.py 16384 fxtdump --stats large.gz || fail "more than 16 MiB for gzip"
    python3 peak.py 16384 fxtdump --stats large.fxt || fail "more than 16 MiB for 50 MB"
fi
