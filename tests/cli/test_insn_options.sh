#!/bin/sh
# The buffers of an instruction trace, on the simulated processor: per CPU and per thread, circular, read by signal, filtered.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"

traces() { # traces STATUS PROGRAM OPTION...: decoded whole, but for what a circular buffer lost
    expected=$1
    name=$2
    shift 2
    run "$expected" sampler-capture insn --simulate -q "$@" --steps steps -o trace.fxt -- "./$name"
    run 0 insn_check trace.fxt steps
    [ "$(number gaps)" = 0 ] || fail "$name $*: gaps: $(cat out)"
    [ $(($(number lost) + $(number equal))) = "$(number stepped)" ] || fail "$name $*: it does not add up: $(cat out)"
}
whole() { # whole STATUS PROGRAM OPTION...
    traces "$@"
    [ "$(number lost)" = 0 ] || fail "$*: packets are missing: $(cat out)"
}

compile threads processes changing snapshots calls

# The packets of one CPU are divided among threads and processes, whatever tells the time.
whole 0 threads --mode cpu
[ "$(number streams)" = 5 ] || fail "threads: $(cat out)"
whole 0 threads --mode cpu --timing tsc --no-return-compression --buffer-size 4k
whole 0 threads --mode cpu --timing mtc --clock real
whole 5 processes --mode cpu
[ "$(number streams)" = 5 ] || fail "processes: $(cat out)"
whole 0 changing --mode cpu --buffer-size 4k
traces 0 threads --mode cpu --overflow-every 500
[ "$(number overflows)" -ge 20 ] || fail "few overflows: $(cat out)"

# A circular buffer has the newest packets, of each thread or of the CPU.
for mode in cpu thread; do
    traces 0 threads --mode $mode --circular --buffer-size 4k
    [ "$(number lost)" -gt 0 ] || fail "$mode: nothing was replaced: $(cat out)"
    [ "$(number equal)" -gt 1000 ] || fail "$mode: almost nothing is left: $(cat out)"
    traces 0 changing --mode $mode --circular
    [ "$(number equal)" -gt 500 ] || fail "$mode: changed code: $(cat out)"
    # Each signal writes what there is, once; what was replaced in between is said.
    traces 0 snapshots --mode $mode --snapshot-on SIGUSR2 --buffer-size 4k
    [ "$(number equal)" -gt 40000 ] || fail "$mode: $(number equal) instructions; each buffer has at most 20,000"
done
run 0 fxt2pprof --profile insn --sample-type calls --format folded -q trace.fxt
prints ";work "

# Only some code: its instructions, all of them, and as many calls of it as there are.
calls_of() { # calls_of FUNCTION: in trace.fxt
    fxt2pprof --profile insn --sample-type calls --format folded -q --root none trace.fxt |
        awk -v name="$1" '$0 ~ "(^|;)" name " [0-9]+$" { sum += $NF } END { print sum + 0 }'
}
traces 7 calls
for function in leaf fibonacci jump_out; do
    calls_of $function >$function.calls
done
[ "$(cat jump_out.calls)" = 21 ] || fail "jump_out(20) is called 21 times, not $(cat jump_out.calls)"
for function in leaf fibonacci jump_out; do
    whole 7 calls --filter $function
    calls_of $function >filtered.calls
    cmp -s $function.calls filtered.calls || fail "$function is called $(cat $function.calls) times, not $(cat filtered.calls)"
    others=$(fxtq trace.fxt "select count(*) from slice where name not in ('$function', '[untraced]')" | tail -n 1)
    [ "$others" = 0 ] || fail "$function: $others slices of other functions"
done
function=$(nm calls | awk '$3 == "jump_out" { print $1 }')
size=$(nm -S calls | awk '$4 == "jump_out" { print $2 }')
cp steps function.steps
whole 7 calls --mode cpu --filter "$(printf '0x%x-0x%x@./calls' "0x$function" $((0x$function + 0x$size)))"
# The thread's number is not the same.
od -An -v -t x8 -w16 steps | awk '{ print $2 }' >range
od -An -v -t x8 -w16 function.steps | awk '{ print $2 }' >function
cmp -s range function || fail "a range is not as its function"

# What is refused, before anything is written.
refuses() { # refuses STATUS WORDS OPTION...
    status=$1
    words=$2
    shift 2
    run "$status" sampler-capture insn "$@" -o refused.fxt -- ./calls
    says "$words"
    [ ! -e refused.fxt ] || fail "$*: a file was written"
}
refuses 2 "nosuch: no such function" --simulate --filter nosuch
refuses 2 "the file has no code there" --simulate --filter 0x10-0x20
refuses 2 "the range is empty" --simulate --filter 0x20-0x10
refuses 2 "not a range" --simulate --filter 0x20
refuses 2 "No such file" --simulate --filter main@./nosuch
ln -s loop loop
refuses 2 "loop: Too many levels of symbolic links" --simulate --filter main@./loop
cat >sizeless.s <<'END'
.globl sizeless
.type sizeless, @function
sizeless: ret
.section .note.GNU-stack, "", @progbits
END
cc -shared -nostdlib -o sizeless.so sizeless.s
refuses 2 "sizeless: the symbol table has no size of this function; give 0xSTART-0xEND" --simulate --filter sizeless@./sizeless.so
refuses 2 "nosuch: no such function in the symbol tables of the file; of a stripped file, give 0xSTART-0xEND" --simulate --filter nosuch@./sizeless.so
refuses 2 "not an ELF file" --simulate --filter main@./steps
refuses 2 "not a power of two" --simulate --buffer-size 5k
refuses 2 "--snapshot-on" --simulate --snapshot-on SIGHUP
if [ ! -e /sys/bus/event_source/devices/intel_pt ]; then
    refuses 4 "this machine has no Intel PT"
    for option in --clock=real --steps=s --seed=1 --overflow-every=100; do
        refuses 2 "needs --simulate" $option
    done
fi
finish
