#!/bin/sh
# Standard descriptors that are closed, full or nobody's: a sentence and status 4, and what belongs there ends nowhere else.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/common.sh"
"$O/bench/fxtgen" --kind profiler --count 200 --stacks 50 >whole.fxt
head -c 5001 whole.fxt >cut.fxt
fxtq import -q whole.fxt -o run.fxtq

# What every program answers.
for program in fxtdump fxtcat fxt2pprof fxtsym fxtq fxtdiff sampler-capture; do
    for option in --help --version --completion=bash --completion=zsh --completion=fish; do
        run 4 sh -c "exec $program $option >/dev/full"
        says "$program: standard output: No space left on device"
        run 4 sh -c "exec $program $option >&-"
        says "$program: standard output: Bad file descriptor"
    done
done
for command in 'fxtq schema' 'fxtq schema capture' 'fxtq help' 'fxtq help sql' 'fxtq coverage run.fxtq' 'fxtq report top run.fxtq' \
    'fxtq export folded -q run.fxtq' 'fxtq run.fxtq "SELECT 1"' 'sampler-capture status' 'fxtcat recover cut.fxt' \
    'fxt2pprof -q --format top whole.fxt' 'fxtdump whole.fxt'; do
    run 4 sh -c "exec $command >/dev/full"
    says 'No space left on device'
    run 4 sh -c "exec $command >&-"
    says 'Bad file descriptor'
done

# A program without standard error must not open its output there: messages would end in it.
for command in 'fxtcat recover -o OUT cut.fxt' 'fxtcat merge -o OUT cut.fxt whole.fxt' 'fxtcat cut --time ,+1s -o OUT cut.fxt' \
    'fxt2pprof --no-symbolize -o OUT cut.fxt' 'fxt2pprof --no-symbolize --format folded -o OUT cut.fxt' \
    'fxtq export fxt -o OUT cut.fxt' 'fxtq flamegraph --title x -o OUT cut.fxt'; do
    rm -f with without
    run 3 sh -c "exec $(echo "$command" | sed 's/OUT/with/')"
    run 3 sh -c "exec $(echo "$command" | sed 's/OUT/without/') 2>&-"
    cmp with without || fail "$command: another output without standard error"
    rm -f without
    run 3 sh -c "exec $(echo "$command" | sed 's/OUT/without/') <&- >&- 2>&-"
    cmp with without || fail "$command: another output without standard descriptors"
done

# What a capture starts has the descriptors that the capture was given, and none in place of those that it was not.
. "$ROOT/tests/cli/perf.sh"
# shellcheck disable=SC2016 # for the shell that is captured
run 0 sh -c 'exec sampler-capture cpu -o trace.fxt -- sh -c "for fd in 0 1 2; do [ ! -e /proc/\$\$/fd/\$fd ] || exit 9; done" <&- >&- 2>&-'
finish
