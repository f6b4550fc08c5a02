#!/bin/sh
# What `make demo` shows: the known hot function first, where it is, what was inlined, and what to do next.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

# The demo writes below its build folder alone: give it one of its own, with our programs.
mkdir build
ln -s "$O/bin" build/bin
before=$(cd "$ROOT" && ls -A . testdata/demo)
status=0
O=$WORK/build NO_COLOR=1 "$ROOT/scripts/demo" >shown 2>&1 || status=$?
[ $status -eq 0 ] || fail "status $status: $(cat shown)"
[ "$(cd "$ROOT" && ls -A . testdata/demo)" = "$before" ] || fail "files outside of the build folder"

# The table: its first row is decode_blocks with its line; the function that is inlined into all three is marked.
awk '/^ *flat /, /^$/' shown >table
first=$(sed -n 2p table)
case $first in
*decode_blocks*busy.cpp:*) ;;
*) fail "the first row is '$first': $(cat shown)" ;;
esac
start=$(sed -n '/noinline.*decode_blocks(/=' "$ROOT/testdata/demo/busy.cpp")
limit=$(sed -n '/noinline.*decode_blocks(/,/^}/=' "$ROOT/testdata/demo/busy.cpp" | tail -n 1)
line=$(echo "$first" | grep -o 'busy\.cpp:[0-9]*' | cut -d: -f2)
if [ "$line" -lt "$start" ] || [ "$line" -gt "$limit" ]; then
    fail "decode_blocks is in lines $start to $limit, not $line"
fi
grep -q 'scramble (inline).*busy\.cpp:[0-9]' table || fail "scramble is not marked as inlined: $(cat table)"
! grep -q 'decode_blocks.*(inline)' table || fail "decode_blocks is marked as inlined"
[ "$(wc -l <table)" -ge 6 ] || fail "a short table: $(cat table)"

# The command lines that it shows are those that one can type, and the file is there.
profile=$(sed -n 's/^The profile is \(.*\)\.  Where Go is installed:$/\1/p' shown)
[ -s "$profile" ] || fail "the profile it names, '$profile', does not exist: $(cat shown)"
grep -qF "go tool pprof -http=: $profile" shown || fail "no pprof command: $(cat shown)"
HOME=$WORK PPROF_TMPDIR=$WORK go tool pprof -top "$profile" >top 2>err || fail "pprof: $(cat err)"
[ ! -s err ] || fail "pprof complains: $(cat err)"
grep -q decode_blocks top || fail "pprof shows no decode_blocks"
# Next comes what this build made, and nothing that has to be installed.
sed -n '/^Next:$/,/^The profile is /s/^  //p' shown >next
[ "$(wc -l <next)" = 2 ] || fail "not two commands next: $(cat shown)"
while read -r line; do
    case $line in "$WORK/build/bin/"*) ;; *) fail "next is no program of ours: $line" ;; esac
    sh -euc "$line" >out 2>err </dev/null || fail "$line: $(cat err)"
done <next
[ -s build/demo/busy.html ] || fail "no flame graph"
grep -q decode_blocks out || fail "no decode_blocks in the tree: $(cat out)"

# The capture says what it did, the conversion how much of it has names.
grep -q 'busy\.fxt: [0-9,]* samples of 1 process' shown || fail "no capture summary: $(cat shown)"
grep -qE 'symbols: (100|99\.[0-9]|9[5-8]\.[0-9])(\.0)? % of samples are in named functions' shown || fail "no coverage: $(cat shown)"
! grep -q "$(printf '\033')" shown || fail "colour although NO_COLOR is set"
! grep -qi 'warning\|error' shown || fail "warnings: $(cat shown)"
