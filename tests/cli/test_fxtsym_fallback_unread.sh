#!/bin/sh
# Damaged units that neither the decoder nor libdwarf can read: each program that shows the quality of names reports them, until a sound file
# is found.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
. "$ROOT/tests/cli/inlined.sh"
. "$ROOT/tests/cli/damage.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')

section() { # section NAME: where it is in the file
    echo $((0x$(readelf -SW full | sed -n "s/.* \\$1  *PROGBITS  *[0-9a-f]* \\([0-9a-f]*\\) .*/\\1/p")))
}

copy() { # copy FILE OFFSET: a copy of full whose byte there is 127
    cp full "$1"
    printf '\177' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Byte 4 of a line table is its version.  127 is no version, and no number of an abbreviation.
copy no_lines $(($(section .debug_line) + 4))
entry=$(readelf --debug-dump=info full | sed -n 's/^ <1><\([0-9a-f]*\)>.*/\1/p' | sed -n 1p)
copy no_functions $(($(section .debug_info) + 0x$entry))
start='1 unit of the debug information was not read completely: '
lines="${start}damaged line table at 0x0 of .debug_line; libdwarf cannot read its lines either"
functions="${start}damaged unit at 0x0 of .debug_info; libdwarf cannot read its functions either"

run 0 fxtsym -f -i -e no_lines "$outer"
says "no_lines: $lines"
[ "$(sed -n '1p;3p' out | paste -sd ' ')" = 'inner outer' ] || fail "only lines are missing: $(cat out)"
run 0 fxtsym -f -i -e no_functions "$outer"
says "no_functions: $functions"
[ "$(sed -n 1p out)" = outer ] || fail "not the symbol: $(cat out)"
! grep -qx inner out || fail "an inlined call that was not read: $(cat out)"
explains() { # explains FILE SENTENCE
    run 0 fxtsym --explain "$1"
    prints "  unread      $2"
    ! grep -q '^  fallback' out || fail "libdwarf read nothing of $1: $(cat out)"
    run 0 fxtsym --json --explain "$1"
    prints "\"fallback_units\":0,\"fallback\":\"\",\"unread_units\":1,\"unread\":\"$2\""
}

explains no_lines "$lines"
explains no_functions "$functions"
run 0 fxtsym --explain full
! grep -q '^  unread' out || fail "a sound object: $(cat out)"
run 0 fxtsym --json --explain full
prints '"unread_units":0,"unread":""'

# What is inlined into a function is read when that is looked up: here a call whose list of ranges is nowhere.
cat >ranges.c <<'CODE'
extern int puts(const char *);
static inline __attribute__((always_inline)) int inner(int x)
{
    if (__builtin_expect(x == 77, 0))
        puts("x");
    return x * x;
}
__attribute__((noinline)) int outer(int x)
{
    int a = inner(x);
    puts("y");
    return a + 1;
}
int main(int argc, char **argv) { (void)argv; return outer(argc); }
CODE
mv full sound
gcc -O2 -g -fno-reorder-blocks-and-partition -Wl,--build-id=sha1 -o full ranges.c
readelf --debug-dump=info full >dies
ranges=$(sed -n '/DW_TAG_inlined_subroutine/,$s/^ *<\([0-9a-f]*\)> *DW_AT_ranges .*/\1/p' dies | sed -n 1p)
from=$(sed -n '/DW_AT_name .*: outer$/,$s/^ <2><\([0-9a-f]*\)>.*/\1/p' dies | sed -n 1p)
copy no_calls $(($(section .debug_info) + 0x$ranges + 3))
calls="${start}damaged inlined calls at 0x$from of .debug_info"
outer=$(nm full | awk '$3 == "outer" { print $1 }')
where=$(for i in $(seq 0 40); do printf '0x%x\n' $((0x$outer + i)); done |
    while read -r address; do fxtsym -f -i -e full "$address" | grep -qx inner && echo "$address"; done | sed -n 1p)
[ -n "$where" ] || fail "nothing is inlined"
run 0 fxtsym -f -i -e no_calls "$where"
says "no_calls: $calls"
[ "$(sed -n 1p out)" = outer ] || fail "not the function: $(cat out)"
explains no_calls "$calls"
run 0 fxtsym --jobs 1 --explain no_calls
prints "  unread      $calls"
mv sound full

# Profiles and stores.  No call is inlined into main(), so that no line of a call is known there.
main=$(nm full | awk '$3 == "main" { print $1 }')
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/program" "$id" "$main" >trace.fxt
cp no_lines program
run 0 fxt2pprof -o trace.pb.gz trace.fxt
says '  symbols: 100.0 % of samples are in named functions, 0.0 % in known lines'
says "  program: $lines"
keeps_note unread "not read" program "$lines"
# The note stays without the file, and goes with a sound one.
rm program
run 0 fxtq symbolize run.fxtq
run 0 fxtq coverage run.fxtq
prints "program: $lines"
cp full program
run 0 fxtq symbolize run.fxtq
! grep -q 'not read' err || fail "a sound object: $(cat err)"
run 0 fxtq coverage --json run.fxtq
prints '"lined":1'
! grep -q '"unread"' out || fail "all was read: $(cat out)"
finish
