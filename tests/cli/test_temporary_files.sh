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
    says 'temporary file in /nonexistent (TMPDIR names another folder): No such file or directory'
    [ "$(wc -l <err)" -eq 1 ] || fail "$*: $(cat err)"
    [ ! -e output ] || fail "$*: an output was written"
}

TMPDIR=/nonexistent
export TMPDIR
refused fxt2pprof -q --every 10us heap.fxt -o output
refused fxt2pprof -q --format speedscope cpu.fxt -o output
refused fxt2pprof -q --format firefox cpu.fxt -o output
refused fxt2pprof -q --profile span spans.fxt -o output
refused fxtq import -q spans.fxt -o output
finish
