#!/bin/sh
# What a heap capture costs the program: the CPU time of the same work alone (A) and captured (B).  The two of a pair run at the same
# time and share one CPU, in turns of a few milliseconds, while the capture has the other: what the rest of the machine does to one of
# them - a virtual machine's CPU is at times half as fast as a second before - it does to the other too.  One after another, the same
# work differed by tens of percent.  A block is two pairs, started A B and B A; differences are taken within blocks, and bounds hold for
# the upper end of their 95 % interval.  heaptrack, which records every allocation, does the same work beside it.
#
# BLOCKS (default 24) blocks, and on until the upper end lies within a fifth of the bound above the mean, five times as many at most:
# how long depends on the machine's noise alone, not on what comes out.
set -eu

BLOCKS=${BLOCKS:-24}
cd "$WORK"
# shellcheck source=bench/lib.sh
. "$ROOT/bench/lib.sh"
missed=

if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
    target="taskset -c 0" server="taskset -c 1"
else
    target="" server=""
fi

# Each of these runs the work once and prints its cost.
alone() { $target "$@"; }
# shellcheck disable=SC2086 # two words or none
captured() { $server sampler-capture heap --interval "$interval" -o heap.fxt -- $target "$@" 2>messages; }
# heaptrack records no process but the first.
tracked() {
    measure=$1
    shift
    # shellcheck disable=SC2016 # what is expanded is the inner shell's
    $target "$measure" sh -c 'preload=$1; shift; LD_PRELOAD=$preload DUMP_HEAPTRACK_OUTPUT=track.raw exec "$@"' sh "$heaptrack" "$@"
}

# pair ONE OTHER COMMAND...: both at the same time; the cost of each to the file of its name.
pair() {
    one=$1
    other=$2
    shift 2
    "$one" "$@" >"$one.cost" &
    first=$!
    "$other" "$@" >"$other.cost"
    wait $first
}

# block OTHER COMMAND...: one block, a line of four.
block() {
    changed=$1
    shift
    pair alone "$changed" "$@"
    echo "$(cat alone.cost) $(cat "$changed.cost")" >pairs
    pair "$changed" alone "$@"
    echo "$(cat pairs) $(cat "$changed.cost") $(cat alone.cost)"
}

# Of a block: nanoseconds a pair, percent.
# shellcheck disable=SC2016 # the fields are awk's
more='($2 + $3 - $1 - $4) / 2' slower='100 * (($2 + $3) / ($1 + $4) - 1)'

# blocks DIFFERENCE BOUND COMMAND...: sets $mean and $upper of DIFFERENCE, an expression of awk over the four of a block A B B A.
blocks() {
    difference=$1
    bound=$2
    shift 2
    alone "$@" >/dev/null # warm
    i=0
    : >blocks
    while [ $i -lt $((5 * BLOCKS)) ]; do
        block captured "$@" >>blocks
        i=$((i + 1))
        [ $((i % BLOCKS)) = 0 ] || continue
        read -r mean upper <<EOF2
$(awk "{ print $difference }" blocks | trimmed)
EOF2
        if [ "$(calc "($upper - $mean <= $bound / 5)")" = 1.00 ]; then break; fi
    done
}

# ---- What is not sampled ----

# 10,000 blocks stay in use that are sampled; of what is measured, one allocation in ten thousand or less is.
interval=4m
for threads in 1 2; do
    if [ $threads = 2 ]; then target="" server=""; fi
    blocks "$more" 3 heappair pairs $threads 10000 60000000
    line "malloc and free, $threads threads, 10,000 live" "+$mean ns" "upper $upper ns" - "3 ns" "$upper <= 3"
    if [ $threads = 1 ]; then
        blocks "$slower" 10 heappair batch 1 10000 20000000
        line "batches freed in random order" "+$mean %" "upper $upper %" - "10 %" "$upper <= 10"
    fi
done
if [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
    target="taskset -c 0" server="taskset -c 1"
fi

# ---- Programs, with all that a capture does to them ----

interval=128k
cat >parse.py <<'EOF2'
import json
text = json.dumps([{"n": i, "s": str(i), "values": [i, i / 7, None]} for i in range(60000)])
print(sum(sum(len(x["s"]) for x in json.loads(text)) for _ in range(5)))
EOF2
cat >index.sql <<'EOF2'
CREATE TABLE t(a, b, c);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000) INSERT INTO t SELECT i, i * 7919 % 100003, 'row ' || i FROM c;
CREATE INDEX x ON t(b);
CREATE INDEX y ON t(c);
SELECT count(*), sum(a), max(b) FROM t WHERE b > 500;
EOF2

# cpu COMMAND...: its CPU time in seconds.
cat >cpu <<'EOF2'
#!/bin/sh
meter taken.$$ "$@" >/dev/null 2>cpu.err
tr ' ' '\n' <taken.$$ | sed -n 's/^cpu_seconds=//p'
rm taken.$$
EOF2
chmod +x cpu

heaptrack=$(find /usr/lib /usr/local/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)

program() { # program NAME COMMAND...
    label=$1
    shift
    blocks "$slower" 2 ./cpu "$@"
    peer=-
    if [ -n "$heaptrack" ]; then
        # Its recording alone; who reads what it wrote is another process.
        i=0
        : >tracks
        while [ $i -lt 3 ]; do
            block tracked ./cpu "$@" >>tracks
            i=$((i + 1))
        done
        peer="heaptrack +$(awk "{ print $slower }" tracks | sort -g | sed -n 2p | xargs printf '%.0f') %"
    fi
    line "$label" "+$mean %, upper $upper" "$peer" - "2 %" "$upper <= 2"
}

if command -v sqlite3 >/dev/null; then
    program "sqlite3, indexes in memory" sqlite3 :memory: ".read index.sql"
fi
program "python3, parsing JSON" "$(python3 -c 'import sys; print(sys.executable)')" parse.py
[ -z "$missed" ]
