#!/bin/sh
# fxtcat convert --perfetto: the trace itself, and after it its CPU samples as packets that add up to what pprof adds up.
set -eu

. "$ROOT/tests/cli/fail.sh"

totals() { python3 "$ROOT/tests/tools/viewer_totals.py" "$@"; }
cd "$WORK"
"$O/bench/fxtgen" --count 4000 --processes 2 --threads 3 --stacks 300 >cpu.fxt
"$O/bench/fxtgen" --mix events=60,sched=20,stacks=15,heap=5 --count 5000 >mixed.fxt

# ---- The trace stays as it is, and all programs read it as before ----

for trace in cpu mixed; do
    fxtcat convert --perfetto --no-symbolize -o $trace.both.fxt $trace.fxt 2>err || fail "$trace: status $?: $(cat err)"
    grep -q "^$trace.fxt: [0-9,]* samples for Perfetto in [0-9,]* bytes after the trace$" err || fail "$(cat err)"
    cmp -n "$(stat -c %s $trace.fxt)" $trace.fxt $trace.both.fxt || fail "$trace: other bytes"
    fxtdump --verify --strict $trace.both.fxt >out || fail "$trace: $(cat out)"
    for format in folded pprof; do
        fxt2pprof -q --no-symbolize --profile cpu -f $format -o $trace.$format $trace.fxt
        fxt2pprof -q --no-symbolize --profile cpu -f $format -o both.$format $trace.both.fxt
        cmp $trace.$format both.$format || fail "$trace: another profile as $format"
    done
    totals pprof $trace.pprof >want
    [ -s want ] || fail "$trace: no functions"
    totals perfetto $trace.both.fxt >got || fail "$trace: the packets cannot be read"
    cmp -s want got || fail "$trace: other sums: $(diff want got | head -5)"
    fxt2pprof -q --no-symbolize --profile cpu -f perfetto -o alone.pftrace $trace.fxt
    totals --times perfetto alone.pftrace >want
    totals --times perfetto $trace.both.fxt >got
    cmp -s want got || fail "$trace: other times: $(diff want got | head -5)"
done

# ---- Times are ticks from 0 on, as Perfetto has those of all other records ----

PYTHONPATH=$ROOT/tests python3 - <<'PY'
import struct
def word(*values):
    return b"".join(struct.pack("<Q", value) for value in values)
def trace(rate, base):
    init = word(1 | 2 << 4, rate) if base is None else word(1 | 4 << 4, rate, base, 1700000000 * 10**9)
    name = b"cpu-0\0\0\0"
    provider = word(2 << 4 | 1 << 16 | 1 << 20 | 5 << 52) + name
    records = word(0x0016547846040010) + provider + init
    for tick in (5000, 7001):  # section 2.13: a backtrace of two frames, its thread inline
        records += word(10 | 6 << 4 | 2 << 16 | 2 << 28, tick, 10, 20, 0x1000, 0x2000)
    return records
open("plain.fxt", "wb").write(trace(1000000, None))
open("based.fxt", "wb").write(trace(1000000, 4000))
PY
printf '20\t5000000\n20\t7001000\n' >want
for trace in plain based; do
    fxtdump --verify --strict $trace.fxt >out || fail "$trace: $(cat out)"
    fxtcat convert --perfetto -o $trace.both.fxt $trace.fxt 2>err || fail "$trace: $(cat err)"
    totals --clock perfetto $trace.both.fxt >got
    cmp -s want got || fail "$trace: $(cat got)"
done

# ---- Names, and where they come from ----

. "$ROOT/tests/cli/inlined.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/full" "$id" "$outer" >one.fxt
fxt2pprof -q -o one.pprof one.fxt
fxtcat convert --perfetto -o one.both.fxt one.fxt 2>err
totals --places pprof one.pprof >want
totals --places perfetto one.both.fxt >got
grep -q '^inner' want || fail "$(cat want)"
cmp -s want got || fail "places: $(diff want got)"
fxtcat convert --perfetto --no-inlines -o one.both.fxt one.fxt 2>err
totals --places perfetto one.both.fxt >got
[ "$(cut -f1 got)" = outer ] || fail "without inlined functions: $(cat got)"

# ---- Pipes, compressed input, damage ----

gzip -c cpu.fxt | fxtcat convert --perfetto --no-symbolize - 2>err >piped.fxt || fail "a pipe: $(cat err)"
cmp piped.fxt cpu.both.fxt || fail 'another output for a pipe'
head -c 400003 cpu.fxt >cut.fxt
status=0
fxtcat convert --perfetto --no-symbolize -o cut.both.fxt cut.fxt 2>err || status=$?
[ $status -eq 3 ] || fail "a cut trace: status $status"
fxtdump --verify --strict cut.both.fxt >out || fail "what was cut is in the output: $(cat out)"
fxt2pprof -q --no-symbolize -o cut.pprof cut.fxt 2>err || true
totals pprof cut.pprof >want
totals perfetto cut.both.fxt >got
cmp -s want got || fail "a cut trace: $(diff want got | head -5)"

# ---- What it refuses ----

refuse() { # refuse STATUS SENTENCE OPTION...: and leaves no file
    wanted=$1 sentence=$2
    shift 2
    status=0
    fxtcat convert "$@" -o no.fxt 2>err || status=$?
    [ $status -eq "$wanted" ] || fail "$*: status $status: $(cat err)"
    grep -q "$sentence" err || fail "$*: $(cat err)"
    [ ! -e no.fxt ] || fail "$*: a file is left"
}
refuse 2 'cpu.both.fxt: has 4,000 samples for Perfetto already' --perfetto cpu.both.fxt
refuse 2 'cannot be combined' --perfetto --layout profiler cpu.fxt
refuse 2 'options for symbols need --perfetto' --layout profiler --no-inlines cpu.fxt
refuse 2 'no output format given' cpu.fxt
refuse 4 'nowhere' --perfetto --symbols "$WORK/nowhere" cpu.fxt
"$O/bench/fxtgen" --kind spans --count 100 >spans.fxt
fxtcat convert --perfetto -o none.fxt spans.fxt 2>err || fail "no samples: status $?"
grep -q 'spans.fxt: no CPU samples: nothing was added for Perfetto' err || fail "$(cat err)"
cmp spans.fxt none.fxt || fail 'a trace without samples is not the same'
