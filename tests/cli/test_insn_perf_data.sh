#!/bin/sh
# Packets of Intel PT in perf.data files: what is decoded is what was stepped, and what perf decodes of the same file.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
compile threads
# perf takes time 0 for none, so the clock is the real one.
for mode in thread cpu; do
    run 0 sampler-capture insn --simulate --mode $mode --clock real -q --steps $mode.steps -o $mode.fxt -- ./threads
    [ "$mode" = thread ] || words=cpu
    cpus=$(cpus $mode.fxt)
    for form in "" pieces pipe "pipe pieces"; do
        # shellcheck disable=SC2086 # words
        insn_perf_data ${words:-} $form $mode.fxt >perf.data
        [ -n "$form" ] || cp perf.data $mode.data
        [ "$form" != pipe ] || cp perf.data pipe.data
        run 0 fxtcat convert perf.data -o converted.fxt
        [ ! -s err ] || fail "$mode $form: a message: $(cat err)"
        [ "$(cpus converted.fxt)" = "$cpus" ] || fail "$mode $form: CPUs $(cpus converted.fxt)"
        run 0 insn_check converted.fxt $mode.steps
        equal=$(sed -n 's/^equal=//p' out)
        [ "$equal" = "$(sed -n 's/^stepped=//p' out)" ] || fail "$mode $form: not all was decoded: $(cat out)"
        grep -q '^gaps=0$' out || fail "$mode $form: gaps: $(cat out)"
        grep -q '^streams=5$' out || fail "$mode $form: threads: $(cat out)"
    done
done

# Pieces that are missing, and snapshots: what is there is found again, and nothing is taken for what it is not.
for form in lossy snapshot "lossy pipe" "snapshot pipe"; do
    # shellcheck disable=SC2086 # words
    insn_perf_data $form thread.fxt >perf.data
    run 0 fxtcat convert perf.data -o converted.fxt
    case $form in
    lossy*) says "packets were lost" ;;
    *) [ ! -s err ] || fail "$form: a message: $(cat err)" ;;
    esac
    run 0 insn_check converted.fxt thread.steps
    [ $(($(number lost) + $(number equal))) = "$(number stepped)" ] || fail "$form: it does not add up: $(cat out)"
    [ "$(number lost)" -gt 1000 ] || fail "$form: nothing is missing: $(cat out)"
    [ "$(number equal)" -gt 10000 ] || fail "$form: almost nothing is left: $(cat out)"
    # shellcheck disable=SC2086 # words
    insn_perf_data cpu $form cpu.fxt >perf.data
    run 0 fxtcat convert perf.data -o converted.fxt
    run 0 fxtdump --verify converted.fxt
    fxt2pprof --profile insn --sample-type instructions --format folded -q converted.fxt >sums
    sum=$(awk '{ sum += $NF } END { print sum }' sums)
    { [ "$sum" -gt 10000 ] && [ "$sum" -lt $(($(wc -c <cpu.steps) / 16)) ]; } || fail "cpu $form: $sum instructions"
done

# Packets of a CPU that nobody has are counted.
insn_perf_data cpu cpu.fxt >perf.data
cat >change.py <<'END'
"""change.py KIND AT FORMAT VALUE: perf.data with another value at that byte of its first record of that kind, on stdout."""
import struct, sys
wanted, offset, form, value = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
data = bytearray(open("perf.data", "rb").read())
at, end = struct.unpack_from("<QQ", data, 40)  # the section of records
end += at
while at < end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == wanted:
        struct.pack_into(form, data, at + offset, value)
        break
    at += size
else:
    sys.exit("no such record")
sys.stdout.buffer.write(data)
END
python3 change.py 71 40 '<I' 70000 >far.data || exit 1 # AUXTRACE's CPU
run 0 fxtcat convert far.data -o converted.fxt
says "of packets left out: their CPUs have numbers above 65,535"

# Without the relation of the two clocks, switches do not tell whose packets are whose.
python3 change.py 70 48 '<Q' 0 >timeless.data || exit 1 # AUXTRACE_INFO's cap_user_time_zero
run 0 fxtcat convert timeless.data -o converted.fxt
says "of packets left out: the file does not relate their clock to that of its records"

# Packets of an input that is read once wait in a temporary file.
status=0
# shellcheck disable=SC2002 # a pipe is what is tested
cat pipe.data | TMPDIR=$WORK/nowhere fxtcat convert - -o once.fxt 2>err || status=$?
[ $status -eq 4 ] || fail "status $status, not 4: $(cat err)"
sentence="standard input: packets are kept in a temporary file in $WORK/nowhere (TMPDIR names another folder): No such file or directory"
[ "$(cat err)" = "fxtcat convert: $sentence" ] || fail "$(cat err)"

# Programs read the file as they read the trace.
calls() { # calls FILE: by stack
    fxt2pprof --profile insn --sample-type calls --format folded -q "$1" | sed 's/^[^;]*;//' | sort
}
calls thread.fxt >expected
calls thread.data >found
cmp -s expected found || fail "calls: $(diff expected found | head -5)"
slices() { # slices FILE: of calls, by function
    rm -f store.fxtq
    run 0 fxtq import "$1" -o store.fxtq
    fxtq store.fxtq "select name, count(*) from slice where name <> '[untraced]' group by name order by name"
}
slices cpu.fxt >expected
slices cpu.data >found
[ "$(wc -l <expected)" -gt 20 ] || fail "few functions: $(cat expected)"
cmp -s expected found || fail "slices: $(diff expected found | head -5)"
run 0 fxt2pprof cpu.data -o cpu.pb.gz
says "insn: "

# Without context switches, nobody knows whose the packets of a CPU are; that is said.
insn_perf_data cpu noswitch cpu.fxt >unknown.data
run 0 fxtcat convert unknown.data -o unknown.fxt
says "no record shows which thread they belong to"

# Without a clock that can be used, a tick is taken for a nanosecond.
python3 - <<'END'
import struct

data = bytearray(open("thread.data", "rb").read())
info = data.index(struct.pack("<IHH", 70, 0, 16 + 17 * 8)) + 16
struct.pack_into("<Q", data, info + 8, 3715273754505831)  # the shift
struct.pack_into("<Q", data, info + 4 * 8, 0)
open("clockless.data", "wb").write(data)
END
run 0 fxtcat convert clockless.data -o clockless.fxt
run 0 fxtdump clockless.fxt
prints "time_shift: 0, time_mult: 1, time_zero: 0"
run 0 insn_check clockless.fxt thread.steps

# A cut file: what is there is decoded.
head -c $(($(wc -c <thread.data) / 2)) thread.data >cut.data
run 3 fxtcat convert cut.data -o cut.fxt
says "the file is cut"
run 0 fxtdump --verify cut.fxt

# perf itself.
if ! command -v perf >/dev/null || ! perf script -i cpu.data --itrace=i0nse -F tid,ip >peer 2>peer.log || [ ! -s peer ]; then
    stop_if_wrong
    echo "SKIP: no perf that decodes the file"
    exit 0
fi
python3 - cpu.steps peer <<'END' || fail "perf decodes something else"
import collections, struct, sys

stepped, peer = collections.defaultdict(list), collections.defaultdict(list)
with open(sys.argv[1], "rb") as file:
    for tid, ip in struct.iter_unpack("<QQ", file.read()):
        stepped[tid].append(ip)
with open(sys.argv[2]) as file:
    for line in file:
        tid, ip = line.split()
        peer[int(tid)].append(int(ip, 16))
for tid, ips in stepped.items():
    if peer[tid] != ips:
        print(f"thread {tid}: {len(ips)} instructions, perf has {len(peer[tid])}")
sys.exit(stepped != peer)
END
finish
