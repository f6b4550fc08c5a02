#!/bin/sh
# A temporary file that cannot be made or written ends a program with status 4 and one sentence: its folder, the reason, and that TMPDIR
# names another one.  Nothing is said of the input, which was not read to its end.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

fxtgen=$O/bench/fxtgen
"$fxtgen" --kind=heap --count=2000 >heap.fxt
"$fxtgen" --count=100 >cpu.fxt
"$fxtgen" --kind=spans --count=2000000 >spans.fxt

refused() { # refused WORDS...: one line on stderr, and no output
    run 4 "$@"
    says "temporary file in $TMPDIR (TMPDIR names another folder): $reason"
    [ "$(wc -l <err)" -eq 1 ] || fail "$*: $(cat err)"
    [ ! -e output ] || fail "$*: an output was written"
}

export TMPDIR
TMPDIR=/nonexistent
reason='No such file or directory'
refused fxt2pprof -q --every 10us heap.fxt -o output
refused fxt2pprof -q --format speedscope cpu.fxt -o output
refused fxt2pprof -q --format firefox cpu.fxt -o output
refused fxt2pprof -q --profile span spans.fxt -o output
refused fxtq import -q spans.fxt -o output
TMPDIR=$WORK/heap.fxt
reason='Not a directory'
refused fxt2pprof -q --format speedscope cpu.fxt -o output
# A full folder: the first write fails, which is one of the temporary file, and all after it.
. "$ROOT/tests/cli/faults.sh"
mkdir full
TMPDIR=$WORK/full
for command in 'fxt2pprof --format speedscope cpu.fxt' 'fxt2pprof --format firefox cpu.fxt' 'fxt2pprof --profile span spans.fxt'; do
    # shellcheck disable=SC2086 # words
    FULL_AT=1 LD_PRELOAD=$PWD/faults.so run 4 $command -q -o output
    says "temporary file in $WORK/full (TMPDIR names another folder): No space left on device"
    [ -z "$(ls -A full)" ] || fail "$command left $(ls -A full)"
    [ ! -e output ] || fail "$command: an output was written"
done
finish
