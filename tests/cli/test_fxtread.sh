#!/bin/sh
# The stopwatches of make bench: they read all there is, and say what a command took.
set -eu
PATH=$O/bin:$O/bench:$PATH
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

field() {
    tr ' ' '\n' <"$1" | awk -F= -v key="$2" '$1 == key { print $2 }'
}

fxtgen --mix events=70,sched=20,stacks=5,heap=5 --count 5000 >mix.fxt
records=$(fxtdump --stats --json mix.fxt | sed 's/.*"records":{\([^}]*\)}.*/\1/' | tr ',' '\n' | awk -F: '{ sum += $2 } END { print sum }')
fxtread mix.fxt >all.figures
fxtread --mode tally mix.fxt >tally.figures
fxtread --mode sum mix.fxt >sum.figures
fxtread - <mix.fxt >/dev/null
for mode in all tally sum; do
    [ "$(field $mode.figures bytes)" -eq "$(wc -c <mix.fxt)" ] || fail "$mode: not all bytes were read: $(cat $mode.figures)"
done
[ "$(field all.figures records)" -eq "$records" ] || fail "$records records, visited: $(cat all.figures)"
[ "$(field tally.figures records)" -eq "$records" ] || fail "$records records, counted: $(cat tally.figures)"

# The checksum is of what is read, not of how.
gzip -k mix.fxt
fxtread mix.fxt.gz >packed
[ "$(field all.figures checksum)" = "$(field packed checksum)" ] || fail "packed, the trace reads as something else"
fxtgen --mix events=70,sched=20,stacks=5,heap=5 --count 5000 --seed 2 >other.fxt
fxtread other.fxt >other
[ "$(field all.figures checksum)" != "$(field other checksum)" ] || fail "two traces with one checksum"

meter figures sh -c 'exit 3' && fail "the status was not passed on" || [ $? -eq 3 ] || fail "another status than 3"
[ "$(field figures status)" -eq 3 ] || fail "meter says: $(cat figures)"
meter --runs 2 figures fxtread mix.fxt >/dev/null
[ "$(field figures max_rss_kib)" -gt 500 ] || fail "meter says: $(cat figures)"
meter figures /nonexistent/program 2>/dev/null && fail "a program that is not there has run"
exit 0
