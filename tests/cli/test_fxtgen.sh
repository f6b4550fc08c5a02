#!/bin/sh
# fxtgen against its own promises, with od and awk in place of our reader.
set -eu
fxtgen=$O/bench/fxtgen
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

# Step through the records by their size fields.  Prints what was met as "TYPE WORDS" lines, type 15 with
# its 32-bit size and runs of zero words as "zero N"; fails if the last record does not end with the file.
records() {
    od -An -v -tx8 -w8 "$1" | awk '
        function digit(c) { return index("0123456789abcdef", c) - 1 }
        function number(hex,   n, i) {
            n = 0
            for (i = 1; i <= length(hex); i++) n = n * 16 + digit(substr(hex, i, 1))
            return n
        }
        { word = $1 }
        left > 0 { left--; next }
        word ~ /^0+$/ { zeros++; next }
        {
            if (zeros) print "zero", zeros
            zeros = 0
            type = digit(substr(word, 16, 1))
            left = type == 15 ? number(substr(word, 8, 8)) : number(substr(word, 13, 3))
            print type, left
            left--
        }
        END {
            if (zeros) print "zero", zeros
            if (left) exit 1
        }'
}

total() { # of the truth's last column
    awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

for kind in sampler profiler region spans events sched heap; do
    "$fxtgen" --kind $kind --count 500 --seed 7 --truth a.truth >a.fxt
    "$fxtgen" --kind $kind --count 500 --seed 7 --truth b.truth >b.fxt
    cmp a.fxt b.fxt || fail "$kind: the same seed gave other bytes"
    cmp a.truth b.truth || fail "$kind: the same seed gave another truth"
    "$fxtgen" --kind $kind --count 500 --seed 8 >b.fxt
    cmp -s a.fxt b.fxt && fail "$kind: another seed gave the same"
    LC_ALL=C sort -c a.truth || fail "$kind: the truth is not sorted"
    [ -z "$(sed 's/ [0-9]*$//' a.truth | uniq -d)" ] || fail "$kind: a stack stands twice in the truth"
    records a.fxt >$kind.records || fail "$kind: the last record is cut"
    case $kind in spans | sched | heap) continue ;; esac
    [ "$(total a.truth)" -eq 500 ] || fail "$kind: the truth does not hold 500"
done

# Scheduling: as many records; every thread's states last from the first to the last record.
[ "$(grep -c '^8 ' sched.records)" -eq 500 ] || fail "sched: not 500 scheduling records"
# Heap: a message a step, and one for each process; blocks are allocated before they are released.
[ "$(grep -c '^15 ' heap.records)" -eq 503 ] || fail "heap: not 500 messages and 3 more"

# Sampler: the samples are large blobs under the providers of the CPUs.
[ "$(grep -c '^15 ' sampler.records)" -eq 500 ] || fail "sampler: not 500 large blobs"
[ "$(head -n 1 sampler.records)" = "0 1" ] || fail "sampler: no magic record first"
# Profiler: no large record; backtraces (type 10), then 6 modules and mappings for each of 3 processes.
grep -q '^15 ' profiler.records && fail "profiler: large records"
[ "$(grep -c '^10 ' profiler.records)" -eq $((500 + 3 * 12)) ] || fail "profiler: not 500 backtraces"
[ "$(tail -n 36 profiler.records | uniq -c | awk '{ print $1 }' | uniq)" = 1 ] ||
    fail "profiler: it does not end with modules and mappings in turn"
# Region: nothing but large blobs and zero words, four times whole pages.
grep -qv '^15 \|^zero ' region.records && fail "region: other records"
[ "$(grep -c '^15 ' region.records)" -eq 500 ] || fail "region: not 500 large blobs"
"$fxtgen" --kind region --size 64k --cpus 4 >region.fxt
[ "$(wc -c <region.fxt)" -eq 65536 ] || fail "region: not of the size that was asked for"
records region.fxt | grep -c '^zero ' | grep -qx 4 || fail "region: not four tails of zeros"
# Events: 72 bytes each.
[ "$(grep -c '^4 9$' events.records)" -eq 500 ] || fail "events: not 500 records of 9 words"
grep '^4 ' events.records | grep -qv '^4 9$' && fail "events: another size"

# A size is reached, and passed only by what the last records need.
for kind in sampler profiler spans events sched heap; do
    "$fxtgen" --kind $kind --size 200k >a.fxt
    size=$(wc -c <a.fxt)
    if [ "$size" -lt 204800 ] || [ "$size" -gt 280000 ]; then
        fail "$kind: $size bytes where 200k were asked for"
    fi
done

# Depths at the limit of each layout.
"$fxtgen" --kind profiler --count 1000 --depth 250 --truth a.truth >/dev/null
awk -F';' 'NF > deepest { deepest = NF } END { exit deepest != 251 }' a.truth ||
    fail "profiler: no stack of 250 frames"
"$fxtgen" --kind region --depth 65 >/dev/null 2>a.err && fail "region: 65 frames were taken"
grep -q 'at most 64 frames' a.err || fail "region: the limit is not named"
"$fxtgen" --kind nonsense >/dev/null 2>&1 && fail "an unknown kind was taken"
"$fxtgen" --mix events=1,stack=2 >/dev/null 2>a.err && fail "a mix of something unknown was taken"
grep -q "'stack' is not one of" a.err || fail "what cannot be mixed is not named"
"$fxtgen" --mix events=0 >/dev/null 2>&1 && fail "a mix of nothing was taken"
# Counters of a mix: the store has as many values of each as the truth says, half of the counters with real ones.
"$fxtgen" --mix counters=3,events=1,sched=1 --count 4000 --truth a.truth >counters.fxt
"$O/bin/fxtq" --no-header counters.fxt "SELECT 'counters;' || p.name || ';counter-' || substr(t.name, 9, 1) || ' ' || count(*) FROM counter AS c
    JOIN track AS t ON t.id = c.track_id JOIN process AS p USING (upid) GROUP BY p.id, t.name" | LC_ALL=C sort >got
sed -n '/^counters;/p' a.truth | LC_ALL=C sort >want
[ "$(wc -l <want)" = 24 ] || fail "counters: $(cat want)"
cmp -s got want || fail "counters: $(diff got want)"
[ "$("$O/bin/fxtq" --no-header counters.fxt "SELECT group_concat(DISTINCT typeof(value)) FROM counter WHERE id % 2 < 2 ORDER BY 1" | tr , '\n' | sort | tr '\n' ' ')" = "integer real " ] ||
    fail "counters have no values of both types"
"$fxtgen" --help | grep -q -- '--truth' || fail "the help does not name --truth"
exit 0
