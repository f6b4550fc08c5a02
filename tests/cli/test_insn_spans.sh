#!/bin/sh
# Instruction traces as profiles and timelines: the calls of a program, exactly.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"

# Every call is a slice, by a list of instructions that another program makes calls of.
compile calls signals threads coroutines changing processes
for name in calls signals threads coroutines changing processes; do
    sampler-capture insn --simulate -q --steps $name.steps -o $name.fxt -- ./$name >$name.out || :
    run 0 python3 "$ROOT/tests/tools/insn_spans.py" $name $name.steps $name.fxt
    prints "differences=0"
    stepped=$(($(wc -c <$name.steps) / 16))
    for type in instructions cpu; do # the clock counts instructions
        run 0 fxt2pprof --profile insn --sample-type $type --format folded -q $name.fxt
        sum=$(awk '{ sum += $NF } END { print sum }' out)
        least=$stepped
        [ $type = instructions ] || least=$((stepped - stepped / 1000)) # a signal's moment has no time of its own
        { [ "$sum" -ge "$least" ] && [ "$sum" -le "$stepped" ]; } || fail "$name: $stepped instructions, but $sum $type"
    done
done

# Exact counts of calls, and what is shown without being asked.
run 0 fxt2pprof --sample-type calls --format folded -q --root none calls.fxt
[ "$(awk '/;jump_out [0-9]+$/ { sum += $NF } END { print sum }' out)" = 21 ] || fail "jump_out(20) is called 21 times: $(grep jump_out out)"
run 0 fxt2pprof calls.fxt -o calls.pb.gz
says "insn: "
says "the input also has a span profile; use --profile span"
run 0 fxtq calls.fxt "select count(*) from slice where name = 'jump_out'"
prints 21

# Comparisons have them, too; so has a program that calls everything twice.
run 5 fxtdiff --profile insn --sample-type calls calls.fxt -- calls.fxt
prints "calls per run: "
"$CC" -O2 -static -no-pie -pthread -Dmain=main_once -c -o once.o "$PROGRAMS/calls.c"
printf 'int main_once(void);\nint main(void)\n{\n    main_once();\n    return main_once();\n}\n' >twice.c
"$CC" -O2 -static -no-pie -o twice twice.c once.o
sampler-capture insn --simulate -q -o twice.fxt -- ./twice >twice.out || :
run 0 fxt2pprof --sample-type calls --format folded -q --root none twice.fxt
[ "$(awk '/;jump_out [0-9]+$/ { sum += $NF } END { print sum }' out)" = 42 ] || fail "twice 21 calls: $(grep jump_out out)"

# What was lost is said, in the summary and at its place; the rest is there.
run 0 sampler-capture insn --simulate -q --overflow-every 300 --seed 1 --steps lossy.steps -o lossy.fxt -- ./threads
run 0 fxt2pprof lossy.fxt -o lossy.pb.gz
says "places in instruction traces where the processor lost packets"
run 0 fxtq lossy.fxt "select count(*) > 50 from slice where name = 'overflow'"
prints 1

# Without the code of the program there are gaps, and a word.
mv signals elsewhere
run 0 fxt2pprof signals.fxt -o signals.pb.gz
says "because the code that ran was not found"
mkdir -p symbols
mv elsewhere symbols/
run 0 fxt2pprof --symbols symbols signals.fxt --format folded
prints "__libc_start_main"
stop_if_wrong
