#!/bin/sh
# A capture never hurts what it captures, and whatever kills it or its target, the file can be read.
#
# FXT_KILLS: how many times each is killed (default 100 and 100).
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/killed.sh"

. "$ROOT/tests/cli/perf.sh"

"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o workload "$ROOT/testdata/capture/workload.c"

# ---- kill -9 at random moments ----

kills=${FXT_KILLS:-100}
seed=1
i=0
while [ $i -lt "$kills" ]; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    delay=$(awk -v r=$seed 'BEGIN { printf "%.3f", 0.002 + r / 2147483648 * 0.12 }')
    # A program with threads and children, at a rate that keeps the writer busy.
    set -- -F 20000
    [ $((i % 3)) -eq 1 ] && set -- -F 20000 --compress
    [ $((i % 3)) -eq 2 ] && set -- -F 20000 --layout profiler
    sampler-capture cpu "$@" -o killed.fxt -- ./workload forks 4 20 >/dev/null 2>&1 &
    capturing=$!
    sleep "$delay"
    kill -9 $capturing 2>/dev/null || true
    wait $capturing 2>/dev/null || true
    # Not even an empty file is left: that is no trace.
    if [ -e killed.fxt ]; then
        readable killed.fxt || fail "killed after $delay s: $(cat stats err)"
    fi
    # The target: the trace is whole, and the status is the target's.
    status=0
    sampler-capture cpu "$@" -o target.fxt -- sh -c "(sleep $delay; kill -9 \$\$) & exec ./workload 400" \
        >/dev/null 2>err || status=$?
    [ $status -eq 137 ] || fail "status $status of a target that was killed: $(cat err)"
    fxtdump --verify target.fxt >damage || fail "target killed after $delay s: $(cat damage)"
    rm -f killed.fxt target.fxt
    i=$((i + 1))
done

# ---- Real programs at work ----

# same NAME COMMAND...: the same output and status under a capture, and enough samples.
same() {
    name=$1
    shift
    plain=0
    "$@" >plain.out 2>plain.err </dev/null || plain=$?
    captured=0
    sampler-capture cpu -F 10000 -o "$name.fxt" --stats-json "$name.json" -- "$@" \
        >captured.out 2>captured.err </dev/null || captured=$?
    [ $plain -eq $captured ] || fail "$name: status $captured, not $plain: $(cat captured.err)"
    cmp -s plain.out captured.out || fail "$name: other output"
    fxtdump --verify "$name.fxt" >damage || fail "$name: $(cat damage)"
    python3 - "$name" <<'EOF'
import json, sys
stats = json.load(open(sys.argv[1] + ".json"))
assert int(stats["samples_collected"]) > 1000, stats
assert stats["missing_process_mappings"] == [], stats
# Threads that are just ending have no ids any more; the kernel may hold sampling back, and drops samples where other work keeps the
# capture from reading its rings.
lost = {k: int(v) for k, v in stats["lost"].items()}
assert lost["region_full"] == 0, stats
assert lost["unreadable"] + lost["exited"] <= int(stats["samples_collected"]) / 50, stats
EOF
}

# shellcheck disable=SC2016 # what is expanded is bash's
same bash bash -c 's=0; for ((i = 0; i < 250000; i++)); do ((s += i * i % 7)); done; echo $s; exit 3'
same python3 python3 -c '
import json
text = json.dumps([{"n": i, "s": str(i)} for i in range(300000)])
print(sum(len(x["s"]) for x in json.loads(text)))'
if command -v sqlite3 >/dev/null; then
    same sqlite3 sqlite3 :memory: 'CREATE TABLE t(a, b);
        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200000)
        INSERT INTO t SELECT i, i * 7919 % 100003 FROM c;
        CREATE INDEX x ON t(b); SELECT count(*), sum(a), max(b) FROM t WHERE b > 500;'
fi
{
    i=0
    while [ $i -lt 400 ]; do
        echo "int f$i(int x) { for (int i = 0; i < x; i++) x ^= i * $i + (x >> 3); return x; }"
        i=$((i + 1))
    done
} >many.c
same gcc gcc -O2 -S -o - many.c
# The status of git diff says that the files differ.
awk 'BEGIN { for (i = 0; i < 14000; i++) print (i * 7919) % 1000, i % 3 }' >old.txt
awk 'BEGIN { for (i = 0; i < 14000; i++) print (i * 7919 + i % 11) % 1000, i % 3 }' >new.txt
same git git --no-pager diff --no-index --minimal --stat old.txt new.txt
