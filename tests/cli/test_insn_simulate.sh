#!/bin/sh
# sampler-capture insn --simulate: what libinsn decodes is what was stepped, all of it.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"

for command in "" insn; do
    # shellcheck disable=SC2086 # a word, or none
    run 0 sampler-capture $command --version
    prints "libipt 2."
done

# Whole and in small pieces, by one thread and by several.
decodes() { # decodes NAME
    for how in "" "1 64" "2 2048"; do
        # shellcheck disable=SC2086 # words
        run 0 insn_check "$1.fxt" "$1.steps" $how
        [ "$(number equal)" = "$(number stepped)" ] || fail "$1: not all was decoded: $(cat out)"
        [ "$(number gaps)" = 0 ] || fail "$1: gaps: $(cat out)"
        [ "$(number stepped)" -ge 10000 ] || fail "$1: too few steps: $(cat out)"
    done
}
traces() { # traces STATUS NAME OPTION... -- COMMAND...
    expected=$1
    name=$2
    shift 2
    run "$expected" sampler-capture insn --simulate -q --steps "$name.steps" -o "$name.fxt" "$@"
    cp out "$name.out"
    decodes "$name"
}

for name in signals threads processes coroutines changing; do
    "$CC" -O2 -static -pthread -o $name "$PROGRAMS/$name.c" 2>link.log || {
        cat link.log
        fail "$name does not compile"
    }
done
"$CC" -O2 -o calls "$PROGRAMS/calls.c" # linked dynamically: ld.so, PLT
"$CC" -O2 -Wl,-z,lazy -o loading "$PROGRAMS/loading.c"
# Not static: such programs sort all their unwind tables before they throw.
c++ -O2 -static-libstdc++ -static-libgcc -o exceptions "$PROGRAMS/exceptions.cc"
stop_if_wrong

traces 7 calls -- ./calls
./calls >expected || :
cmp -s expected calls.out || fail "the program printed something else: $(cat calls.out)"
for name in signals threads coroutines changing exceptions loading; do
    traces 0 $name -- ./$name
done
traces 5 processes -- ./processes
run 0 insn_check processes.fxt processes.steps
[ "$(number streams)" = 5 ] || fail "processes: fork, spawn and two execs are 5 streams: $(cat out)"
run 0 insn_check threads.fxt threads.steps
[ "$(number streams)" = 5 ] || fail "threads: $(cat out)"

# Each kind of timing; returns that are not compressed; compressed output.
traces 0 tsc --timing tsc --compress -- ./threads
traces 0 mtc --timing mtc --no-return-compression -- ./coroutines
traces 0 real --clock real -- ./changing

# Half a million instructions each.
if [ -n "${FXT_TEST_FULL:-}" ] && command -v go >/dev/null; then
    GOCACHE=$PWD/gocache GOFLAGS=-mod=mod go build -o goroutines "$PROGRAMS/goroutines.go"
    traces 0 goroutines -- ./goroutines
fi
if [ -n "${FXT_TEST_FULL:-}" ] && command -v rustc >/dev/null; then
    rustc -O -o panics "$PROGRAMS/panics.rs"
    traces 0 panics -- ./panics
fi

# Lost packets: what is decoded is right, and decoding goes on.
for seed in 1 2; do
    run 0 sampler-capture insn --simulate --overflow-every 300 --seed $seed --steps lossy.steps -o lossy.fxt -- ./threads
    says "packets were dropped"
    for how in "" "1 64"; do
        # shellcheck disable=SC2086 # words
        run 0 insn_check lossy.fxt lossy.steps $how
        [ "$(number overflows)" -ge 50 ] || fail "few overflows: $(cat out)"
        [ "$(number lost)" -gt 0 ] || fail "nothing was lost: $(cat out)"
        [ $(($(number lost) + $(number equal))) = "$(number stepped)" ] || fail "it does not add up: $(cat out)"
        [ $(($(number lost) * 4)) -lt "$(number stepped)" ] || fail "too much was lost: $(cat out)"
    done
done

# Packets that are lost just before the thread ends are said to be lost.
"$CC" -nostdlib -static -o short "$PROGRAMS/short.S"
for seed in 112 167 413; do
    run 0 sampler-capture insn --simulate --overflow-every 115 --seed $seed --steps short.steps -o short.fxt -- ./short
    run 0 insn_check short.fxt short.steps
    [ "$(number overflows)" -ge 1 ] || fail "seed $seed: a loss that nothing tells of: $(cat out)"
    [ $(($(number lost) + $(number equal))) = "$(number stepped)" ] || fail "seed $seed: it does not add up: $(cat out)"
done

# Compressing and merging loses nothing.
run 0 fxtcat compress threads.fxt -o compressed.fxt
run 0 fxtcat merge compressed.fxt signals.fxt -o merged.fxt
cat threads.steps signals.steps >merged.steps
run 0 insn_check merged.fxt merged.steps
[ "$(number equal)" = "$(number stepped)" ] || fail "merged: $(cat out)"
[ "$(number streams)" = 7 ] || fail "merged: $(cat out)"

# The command's status, and the command line.
run 127 sampler-capture insn --simulate -o x.fxt -- ./no-such-program
[ ! -e x.fxt ] || fail "a file for a command that was not found"
run 143 sampler-capture insn --simulate -q -o x.fxt -- sh -c 'kill -TERM $$'
run 2 sampler-capture insn --simulate -- true
says "no output file"
run 2 sampler-capture insn --simulate -o x.fxt
says "no command given"
run 2 sampler-capture insn --simulate --timing fine -o x.fxt -- true
says "--timing"

# An end that is asked for: the command is told, and the trace is whole.
sampler-capture insn --simulate -q -o ended.fxt -- sh -c 'echo started >started; while :; do :; done' &
capture=$!
while [ ! -s started ]; do
    kill -0 $capture 2>/dev/null || break
done
kill -TERM $capture
status=0
wait $capture || status=$?
[ $status = 143 ] || fail "ended by SIGTERM: status $status"
run 0 fxtdump --verify ended.fxt
finish
