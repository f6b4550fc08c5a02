#!/bin/sh
# perf.data files of `perf record --call-graph lbr`: the calls that the processor remembers are the callers of user code, as perf has them
# (resolve_lbr_callchain_sample() of its util/machine.c): the kernel's part of the callchain, then, if it has a part of user code, the latest
# call's target and the places of all calls.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

cat >program.c <<'END'
static volatile int sum;
__attribute__((noinline, noclone)) void first(void) { for (int i = 0; i < 50; i++) sum += i; }
__attribute__((noinline, noclone)) void second(void) { first(); sum++; }
__attribute__((noinline, noclone)) void third(void) { second(); sum++; }
int main(void) { third(); return sum == 1; }
END
${CC:-gcc} -O1 -g0 -fno-omit-frame-pointer -Wl,--build-id -o program program.c
python3 "$ROOT/tests/tools/perf_lbr.py" "$PWD/program" >lbr.data

cat >expected <<'END'
first second
first second third main
first second third main
second third main
END
fxt2pprof -q --root none --format folded -o folded lbr.data 2>err || fail "$(cat err)"
# Leaf first, of the program alone; a line a sample.
awk '{
    count = $NF / 1000000
    sub(/ [0-9]+$/, "")
    depth = split($0, names, ";")
    line = ""
    for (i = depth; i > 0; i--) if (names[i] ~ /^(first|second|third|main)$/) line = line (line == "" ? "" : " ") names[i]
    for (i = 0; i < count && line != ""; i++) print line
}' folded | LC_ALL=C sort >ours
cmp -s ours expected || fail "callers: $(diff expected ours)"
[ "$(awk '{ sum += $NF } END { print sum }' folded)" = 5000000 ] || fail "a sample is missing: $(cat folded)"
# In the kernel's thread, and in the system call, two frames are the kernel's.
[ "$(grep -c '\[unknown\];\[unknown\]' folded)" = 2 ] || fail "kernel frames: $(cat folded)"

grep -q ': not used: 1 branch stack$' err || fail "that of the kernel's thread: $(cat err)"

# Other branches are no callers; they are counted.
python3 "$ROOT/tests/tools/perf_lbr.py" "$PWD/program" any >any.data
fxt2pprof -q --root none --format folded -o any.folded any.data 2>err || fail "$(cat err)"
grep -q ': not used: 5 branch stacks$' err || fail "branches: $(cat err)"
! grep -q third any.folded || fail "branches are callers: $(cat any.folded)"

# And what perf says of the same file.
if perf script -i lbr.data -F ip,sym --no-inline >shown 2>perf.err && [ -s shown ]; then
    awk 'BEGIN { RS = ""; FS = "\n" }
        {
            line = ""
            for (i = 1; i <= NF; i++) {
                split($i, words, " ")
                if (words[2] ~ /^(first|second|third|main)$/) line = line (line == "" ? "" : " ") words[2]
            }
            if (line != "") print line
        }' shown | LC_ALL=C sort >theirs
    cmp -s theirs expected || fail "perf has other callers: $(diff expected theirs; cat shown)"
else
    echo "perf does not show the file: $(head -n 1 perf.err)"
fi
