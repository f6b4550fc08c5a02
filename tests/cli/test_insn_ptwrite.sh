#!/bin/sh
# What a program writes with ptwrite instructions becomes instants with their values, from a file with its own code.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
insn_ptwrite >values.fxt
run 0 fxtq --no-header values.fxt "select name, int_value from slice join args using (arg_set_id) where name = 'ptwrite' order by slice.id"
printf 'ptwrite\t%s\n' 1 8589934592 3 17179869184 5 25769803776 >expected
diff expected out || fail "other values"
run 0 fxtq import -q values.fxt -o values.fxtq
run 0 fxtq --no-header values.fxtq "select name, int_value from slice join args using (arg_set_id) where name = 'ptwrite' order by slice.id"
diff expected out || fail "other values in a store"
# Two instructions a round, and the jump.
run 0 fxt2pprof --profile insn --sample-type instructions --format folded -q values.fxt
[ "$(awk '{ sum += $NF } END { print sum }' out)" = 9 ] || fail "not 9 instructions: $(cat out)"
# The argument "cpu" is there where it is known, which it is not here.
[ "$(cpus values.fxt)" = none ] || fail "CPUs $(cpus values.fxt)"
