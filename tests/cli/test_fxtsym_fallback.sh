#!/bin/sh
# A unit that only libdwarf can read: the same answers as before the damage, and each program that shows the quality of names says so.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
HOME=$WORK
export HOME
. "$ROOT/tests/cli/inlined.sh"
. "$ROOT/tests/cli/damage.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')
# The header of the first line table becomes longer than the section: its length is at byte 6 before DWARF 5, at byte 8 since.
table=$((0x$(readelf -SW full | sed -n 's/.* \.debug_line  *PROGBITS  *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')))
version=$(od -An -tu1 -j $((table + 4)) -N 1 full | tr -d ' ')
cp full damaged
printf '\377\377' | dd of=damaged bs=1 seek=$((table + (version < 5 ? 6 : 8))) conv=notrunc status=none
sentence='1 unit read by libdwarf, because ours could not: damaged line table at 0x0 of .debug_line'

# libdwarf 20210528 reads such a table; another release may refuse it, and then there is no message.
fxtsym --verify damaged >verified 2>&1 || true
grep -q 'with libdwarf 20210528' verified || { echo "SKIP: no libdwarf 20210528" && finish; }

run 0 fxtsym -f -i -e full "$outer"
mv out sound
run 0 fxtsym -f -i -e damaged "$outer"
cmp -s out sound || fail "not the answer of the sound object: $(cat out)"
[ ! -s err ] || fail "nothing is missing, but there is a warning: $(cat err)"
run 0 fxtsym --explain damaged
prints "  fallback    $sentence"
run 0 fxtsym --json --explain damaged
prints "\"fallback_units\":1,\"fallback\":\"$sentence\""
run 0 fxtsym --explain full
! grep -q '^  fallback' out || fail "a sound object: $(cat out)"
run 0 fxtsym --json --explain full
prints '"fallback_units":0,"fallback":""'

# Such an object has no file in the symbol cache.
for _ in 1 2 3; do
    fxtsym -e damaged "$outer" >out && fxtsym --explain damaged >explained
done
! grep -q '^  cache  ' explained || fail "a cache file of a damaged object: $(cat explained)"

# Profiles and stores.
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/damaged" "$id" "$outer" >trace.fxt
run 0 fxt2pprof -o trace.pb.gz trace.fxt
says '  symbols: 100.0 % of samples are in named functions, 100.0 % in known lines'
says "  damaged: $sentence"
keeps_note fallback libdwarf damaged "$sentence"
finish
