#!/bin/sh
# perf.data files as inputs of every program: functions have the samples that perf counts (testdata/perf/*.txt), from a file,
# a pipe, and a trace that was made of it.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

data=$ROOT/testdata/perf

# Per function of perfwork: what it has by itself and in all, of folded stacks.
count() { # count EVENT <FOLDED
    awk -v event="$1" '
        {
            count = $NF
            sub(/ [0-9]+$/, "")
            depth = split($0, names, ";")
            delete seen
            for (i = 2; i <= depth; i++) seen[names[i]] = 1
            for (name in seen) total[name] += count
            self[names[depth]] += count
        }
        END { for (name in total) printf "%s %s %.0f %.0f\n", event, name, self[name], total[name] }' | LC_ALL=C sort
}
# What perf counts of an event: of functions of perfwork alone.
expected() { # expected NAME EVENT
    awk -v event="$2" '$1 == event { print $1, $2, $4, $6 }' "$data/$1.txt" | LC_ALL=C sort
}
functions='_start|deep|in_child|inner|left|main|on_thread|right|touch|__do_global_dtors_aux|_init'
compare() { # compare NAME EVENT INPUT OPTION...
    name=$1 event=$2 input=$3
    shift 3
    fxt2pprof --symbols "$data" --format folded "$@" -o folded "$input" 2>err || fail "$name: $(cat err)"
    count "$event" <folded | grep -E "^$event ($functions) " >counts || fail "$name: no functions: $(cat folded)"
    expected "$name" "$event" >wanted
    cmp -s wanted counts || fail "$name, $event, from $input: $(diff wanted counts)"
}

for name in fp zstd; do
    compare "$name" cpu-clock "$data/$name.data"
done
compare pipe task-clock "$data/pipe.data"
compare pipe task-clock - <"$data/pipe.data"

# Callers from registers and copies of stacks, as perf unwinds them. _start is above the C library, which may be another one
# here, and perf does not find it in the child.
compare_own() { # compare_own INPUT
    fxt2pprof --symbols "$data" --format folded -o folded "$1" 2>err || fail "dwarf: $(cat err)"
    count cpu-clock <folded | grep -E "^cpu-clock ($functions) " | grep -v ' _start ' >counts || fail "no functions: $(cat folded)"
    expected dwarf cpu-clock | grep -v ' _start ' >wanted
    cmp -s wanted counts || fail "dwarf from $1: $(diff wanted counts)"
}
compare_own "$data/dwarf.data"
grep -q 'user stack' err && fail "$(cat err)"
# The module that cuts stacks is named, and why.
cut='^  cut in [^ ]*perfwork: [1-9][0-9]* stacks; its file was not found, or cannot be read: --symbols PATH adds files$'
fxt2pprof --format folded -o folded "$data/dwarf.data" 2>err || fail "dwarf: $(cat err)"
grep -q "$cut" err || fail "fxt2pprof: $(cat err)"
fxtq import "$data/dwarf.data" -o ends.fxtq 2>err || fail "dwarf: $(cat err)"
grep -q "$cut" err || fail "fxtq: $(cat err)"
rm ends.fxtq
fxtcat convert --symbols "$data" "$data/dwarf.data" -o dwarf.fxt 2>err || fail "$(cat err)"
compare_own dwarf.fxt
# Stacks that end with their copies: larger ones are recommended where perf can make them.
python3 - "$data/dwarf.data" <<'END' || fail "no copies to cut"
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
SAMPLE, STACK_USER = 9, 1 << 13
attrs, attrs_size, at, size = struct.unpack_from("<QQQQ", data, 24)
kind, attr_size, _, _, sample_type = struct.unpack_from("<IIQQQ", data, attrs)
assert sample_type & STACK_USER and sample_type < 1 << 16, hex(sample_type)
tail = 8 * (1 + bin(sample_type // (2 * STACK_USER)).count("1")) # the size of the copy, weight and data source
end, cut = at + size, 0
while at < end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == SAMPLE and struct.unpack_from("<Q", data, at + size - tail)[0] > 64:
        struct.pack_into("<Q", data, at + size - tail, 64)
        cut += 1
    at += size
assert cut > 5, cut
open("cut.data", "wb").write(data)
struct.pack_into("<I", data, attrs + 88, 65528) # sample_stack_user
open("largest.data", "wb").write(data)
END
fxt2pprof --symbols "$data" -q -o cut.pb.gz cut.data 2>err || fail "$(cat err)"
grep -q 'stacks that end early: .*; perf record --call-graph dwarf,65528 copies more of a stack$' err || fail "$(cat err)"
fxt2pprof --symbols "$data" -q -o cut.pb.gz largest.data 2>err || fail "$(cat err)"
grep -q 'stacks that end early: ' err || fail "$(cat err)"
! grep -q 'dwarf,65528' err || fail "$(cat err)"

# Several events: each is a sample type of its own, with the weights that perf gives samples.
compare events cpu-clock "$data/events.data" --sample-type cpu
fxt2pprof --symbols "$data" --format folded --sample-type page-faults "$data/events.data" -o faults 2>err || fail "$(cat err)"
# perf script -F event,period: periods of 1670, 28, and eight of 1.
[ "$(awk '{ sum += $NF } END { print sum }' faults)" = 1706 ] || fail "page faults: $(cat faults)"
grep -q ' 1670$' faults || fail "page faults: $(cat faults)"
fxt2pprof --sample-type cycles --format folded "$data/events.data" -o none 2>err && fail 'cycles from a file without'
grep -q '^  page-faults$' err || fail "$(cat err)"
# A trace of it has them, too.
fxtcat convert "$data/events.data" -o events.fxt 2>err || fail "$(cat err)"
fxt2pprof --symbols "$data" --format folded --sample-type page-faults events.fxt -o converted 2>err || fail "$(cat err)"
cmp faults converted || fail 'page faults of the trace differ'
# Times are kept with the weights of their events.
fxt2pprof --symbols "$data" --format firefox "$data/events.data" -o events.json 2>err || fail "$(cat err)"

# Copies that perf keeps in ~/.debug.
id=$(readelf -n "$data/perfwork" | sed -n 's/.*Build ID: //p')
rest=${id#??}
mkdir -p "cache/.build-id/${id%"$rest"}/$rest"
cp "$data/perfwork" "cache/.build-id/${id%"$rest"}/$rest/elf"
fxt2pprof --symbols cache --format folded "$data/fp.data" -o folded 2>err || fail "$(cat err)"
grep -q ';main;.*inner' folded || fail "nothing was found in perf's cache: $(cat folded)"

# Through a pipe, in either form, and as a trace, the profile is the same.
fxt2pprof --symbols "$data" "$data/fp.data" -o file.pb.gz 2>err || fail "$(cat err)"
# shellcheck disable=SC2002 # a pipe, not a file
cat "$data/fp.data" | fxt2pprof --symbols "$data" - -o piped.pb.gz 2>err || fail "$(cat err)"
cmp file.pb.gz piped.pb.gz || fail 'a profile from a pipe differs'
fxtcat convert "$data/fp.data" -o fp.fxt 2>err || fail "$(cat err)"
fxtdump --verify fp.fxt || fail 'the trace is damaged'
fxt2pprof --symbols "$data" fp.fxt -o trace.pb.gz 2>err || fail "$(cat err)"
cmp file.pb.gz trace.pb.gz || fail 'a profile from the trace differs'

# Stores.
fxtq import "$data/fp.data" -o file.fxtq 2>err || fail "$(cat err)"
# shellcheck disable=SC2002
cat "$data/pipe.data" | fxtq import - -o file.fxtq 2>err || fail "$(cat err)"
[ "$(fxtq -f csv file.fxtq 'SELECT sum(weight) / count(*) FROM cpu_sample' | tail -n 1)" = 2000000 ] ||
    fail "$(fxtq file.fxtq 'SELECT count(*), sum(weight) FROM cpu_sample')"
fxtq import fp.fxt -o file.fxtq 2>err || fail "$(cat err)"
grep -q 'in the store already\|already' err || fail "the trace of a perf.data file is imported twice: $(cat err)"

# Comparisons: one run a side decides nothing, but shows the functions.
fxtdiff --symbols "$data" "$data/fp.data" -- "$data/zstd.data" >out 2>err || true
grep -q 'self .*inner' out || fail "$(cat out err)"

# A cut file: one sentence, and what can be read.
head -c 9000 "$data/pipe.data" >cut.data
status=0
fxt2pprof --symbols "$data" --format folded -o folded cut.data 2>err || status=$?
[ "$status" -eq 3 ] || fail "status $status of a cut file: $(cat err)"
[ "$(grep -c damaged err)" -eq 1 ] || fail "$(cat err)"
grep -q inner folded || fail 'no samples of a cut file'
