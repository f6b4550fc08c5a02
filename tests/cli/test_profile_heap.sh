#!/bin/sh
# Heap profiles of generated traces are what the generator says they are, and fxt2pprof's options for them do what they say.
set -eu
cd "$WORK"
fxtgen=$O/bench/fxtgen

. "$ROOT/tests/cli/fail.sh"

# What sampling makes of known numbers: all blocks of a stack have one size, so n of S bytes count w n and w n S with
# w = 1 / (1 - e^(-S/R)).  Truth: stack, objects and bytes allocated, in use, released.
expect() { # expect TYPE OBJECTS BYTES: out against columns of truth; TYPE 0 objects, 1 bytes
    awk -v type="$1" -v n="$2" -v bytes="$3" '$n > 0 {
            size = $bytes / $n
            w = 1 / (1 - exp(-size / 65536))
            printf "%s %.3f\n", $1, w * (type ? $bytes : $n) }' truth >expected
    # Stacks of which less than half an object is left are not printed.
    awk 'NR == FNR { found[$1] = $2; next }
         { difference = found[$1] - $2; if (difference < 0) difference = -difference
           if (difference > 0.51 + $2 / 1e6) { print $1, found[$1], $2; bad = 1 }
           delete found[$1] }
         END { for (stack in found) { print "not expected:", stack; bad = 1 } exit bad }' out expected >bad ||
        fail "$4: $(head -n 4 bad)"
}

for seed in 1 2; do
    for options in "--depth 20 --stacks 300" "--depth 250 --stacks 50" "--processes 1 --stacks 7"; do
        # shellcheck disable=SC2086 # a list of options
        "$fxtgen" --kind heap --count 8000 --seed $seed $options --truth truth >in.fxt
        for type in 0 1 2 3; do
            folded_addresses in.fxt out heap $type
            columns=$((2 + type / 2 * 2))
            expect $((type % 2)) $columns $((columns + 1)) "type $type, $options, seed $seed"
        done
    done
done

# ---- pprof reads it ----

export HOME="$WORK" PPROF_TMPDIR="$WORK" PPROF_BINARY_PATH="$WORK/none" PPROF_TOOLS=
"$fxtgen" --kind heap --count 20000 --processes 2 >in.fxt
fxt2pprof in.fxt -o heap.pb.gz 2>summary
grep -q '^heap: [0-9,]* sampled allocations, ' summary || fail "$(cat summary)"
grep -q '^the input also has a heap-free profile; use --profile heap-free$' summary || fail "$(cat summary)"
"$O/bench/fxtgen" --mix events=50,sched=30,stacks=20 --count 1000 >mix.fxt
fxt2pprof -o mix.pb mix.fxt 2>mixed
grep -q '^the input also has an offcpu profile; use --profile offcpu$' mixed || fail "$(cat mixed)"
grep -Eq '^  peak: [0-9.]+ MiB in use at [+]0[.][0-9]{9}s$' summary || fail "$(cat summary)"
grep -Eq '^  peak of process [0-9]+: [0-9.]+ MiB in use at [+]0[.][0-9]{9}s$' summary || fail "$(cat summary)"
decode() {
    gzip -dc "$1" | protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/schemas" profile.proto
}
decode heap.pb.gz >decoded
grep -q '^period: 65536$' decoded || fail "period: $(grep '^period' decoded)"
for type in alloc_objects alloc_space inuse_objects inuse_space; do
    go tool pprof -raw -sample_index=$type heap.pb.gz >raw 2>err || fail "$(cat err)"
    grep -qx 'PeriodType: space bytes' raw || fail "$(head raw)"
    # The same total in pprof and in ours.
    go tool pprof -top -unit=B -sample_index=$type heap.pb.gz >top 2>err
    theirs=$(sed -n 's/.*% of \([0-9]*\)B* total$/\1/p' top)
    ours=$(fxt2pprof -q --format folded --sample-type $type in.fxt | awk '{ sum += $NF } END { printf "%.0f", sum }')
    difference=$((theirs - ours))
    [ "${difference#-}" -le 1000 ] || fail "$type: pprof has $theirs, folded text $ours"
done
grep -q 'inuse_space/bytes\[dflt\]' raw || fail "what pprof shows first: $(grep -m1 inuse raw)"
fxt2pprof -q --sample-type alloc_objects in.fxt >other.pb.gz
go tool pprof -raw other.pb.gz 2>err | grep -q 'alloc_objects/count\[dflt\]' || fail "--sample-type"

fxt2pprof -q --profile heap-free in.fxt >free.pb.gz
go tool pprof -raw free.pb.gz 2>err | grep -q '^free_objects/count free_space/bytes\[dflt\]$' || fail "heap-free types"
fxt2pprof -q --heap-types fuchsia in.fxt >fuchsia.pb.gz
go tool pprof -raw fuchsia.pb.gz 2>err | grep -q '^residual_allocated_objects/count residual_allocated_space/bytes\[dflt\] allocated_objects/count allocated_space/bytes deallocated_objects/count deallocated_space/bytes$' ||
    fail "types of fuchsia: $(go tool pprof -raw fuchsia.pb.gz 2>err | grep residual)"

# ---- Filters and times ----

total() { # total OPTION...: bytes in use
    fxt2pprof -q --format folded "$@" | awk '{ sum += $NF } END { printf "%.0f", sum }'
}
both=$(total in.fxt)
pids=$(sed -n 's/^  peak of process \([0-9]*\): .*/\1/p' summary)
sum=0
for pid in $pids; do
    one=$(total --pid "$pid" in.fxt)
    sum=$((sum + one))
done
difference=$((both - sum))
[ "${difference#-}" -le 1000 ] || fail "both processes: $both, one by one: $sum"

peak=$(total --at peak in.fxt)
peaks=$(total --at process-peak in.fxt)
[ "$both" -lt "$peak" ] || fail "in use: $both, at the peak: $peak"
[ "$peak" -le "$peaks" ] || fail "at the peak: $peak, at the processes' peaks: $peaks"
# The summary says when; as it was then is as it was at the peak.
when=$(sed -n 's/^  peak: .* at \(+.*\)$/\1/p' summary)
fxt2pprof -q --format folded --at "$when" in.fxt >just-then
fxt2pprof -q --format folded --at peak in.fxt | cmp - just-then || fail "--at $when is not --at peak"

before=$(total --at -1 in.fxt 2>err)
[ "$before" = 0 ] || fail "before all: $before"
grep -q 'no allocations in the input' err || fail "$(cat err)"
fxt2pprof -q --format folded in.fxt >at-end
fxt2pprof -q --format folded --at end in.fxt | cmp - at-end
fxt2pprof -q --format folded --at 9000s in.fxt | cmp - at-end
[ "$(total --at +10ms in.fxt)" -lt "$both" ] || fail "--at +10ms"

# ---- Parts ----

fxt2pprof --every 20ms -o parts.pb.gz in.fxt 2>summary
grep -q '^  and 4 partial profiles before it: parts.partial-0001.pb.gz, ...$' summary || fail "$(cat summary)"
grep -q 'do not add up' summary || fail "$(cat summary)"
[ "$(echo parts*)" = "parts.partial-0001.pb.gz parts.partial-0002.pb.gz parts.partial-0003.pb.gz parts.partial-0004.pb.gz parts.pb.gz" ] ||
    fail "$(echo parts*)"
fxt2pprof -q --every 20ms -f folded -o parts.folded in.fxt
# What is in use at the end of the last is in use at the end.
cmp parts.folded at-end
# Releases do add up.
fxt2pprof -q --every 20ms --profile heap-free -f folded -o free.folded in.fxt
parts=$(cat free.folded free.partial-*.folded | awk '{ sum += $NF } END { printf "%.0f", sum }')
whole=$(total --profile heap-free in.fxt)
difference=$((parts - whole))
[ "${difference#-}" -le 5000 ] || fail "released: $whole, in parts: $parts"
fxt2pprof -q --every 1us -o many.pb.gz in.fxt 2>err && fail "20,000 parts"
grep -q 'in.fxt: more than 10000 partial profiles: give a longer --every' err || fail "$(cat err)"
[ ! -e many.pb.gz ] || fail "a file of too many parts"

# ---- Ages ----

fxt2pprof -q --ages in.fxt -o ages.pb.gz
go tool pprof -tags ages.pb.gz >tags 2>err || fail "$(cat err)"
grep -q '^ *age: Total' tags || fail "$(cat tags)"
in_use() { # in_use OPTION...: bytes in use
    go tool pprof -top -unit=B "$@" ages.pb.gz 2>err | sed -n 's/^Showing nodes accounting for \([0-9]*\)B*,.*/\1/p'
}
# The trace has 0.1 s.  What is older and what is younger is all; rounding costs one a value.
old=$(in_use -tagfocus=age=10ms:)
young=$(in_use -tagignore=age=10ms:)
difference=$((both - old - young))
[ "${difference#-}" -le 3000 ] || fail "in use: $both, older than 10 ms $old, younger $young"
[ "$old" -gt "$young" ] || fail "older than 10 ms $old, younger $young"

# ---- Command lines that make no sense ----

refuse() { # refuse MESSAGE OPTION...
    message=$1
    shift
    status=0
    fxt2pprof "$@" in.fxt >out 2>err || status=$?
    [ "$status" -eq 2 ] || fail "fxt2pprof $*: status $status"
    grep -q "$message" err || fail "fxt2pprof $*: $(cat err)"
}
refuse 'need --profile heap' --profile cpu --at peak
refuse 'need --profile heap' --profile span --heap-types fuchsia
refuse 'cannot be combined' --every 1s --at peak -o x.pb.gz
refuse 'give -o FILE' --every 1s --format folded
refuse 'one trace at a time' --every 1s -o x.pb.gz in.fxt
refuse "'0s' is no duration" --every 0s -o x.pb.gz
refuse "'+1s' is no duration" --every +1s -o x.pb.gz
refuse 'needs --format pprof' --ages --format folded
refuse 'cannot be combined with --every or a peak' --ages --at peak
refuse 'cannot be combined with --every or a peak' --ages --every 1s -o x.pb.gz
refuse 'use --profile heap' --profile heap-free --heap-types fuchsia
refuse "has no 'cpu'" --sample-type cpu --format folded
refuse '' --at never

# ---- A recorded stream: the messages of one process, one after another ----

"$fxtgen" --kind heap --count 5000 --processes 2 >in.fxt
cat >record.py <<'EOF'
import struct, sys
data, at, streams = open("in.fxt", "rb").read(), 0, {}
while at < len(data):
    header, = struct.unpack_from("<Q", data, at)
    size = 8 * (header >> 4 & (0xFFFFFFFF if header & 15 == 15 else 0xFFF))
    if header & 15 == 15:  # as fxtgen writes it: the process in word 7, the message's size in word 14
        words = struct.unpack_from("<15Q", data, at)
        streams.setdefault(words[7], []).append(data[at + 120 : at + 120 + words[14]])
    at += size
for n, pid in enumerate(sorted(streams)):
    open("stream-%d" % n, "wb").write(b"".join(streams[pid]))
EOF
python3 record.py
# Its interval is that of Fuchsia's server, twice the trace's: weights differ, stacks do not.
for format in "" "--sample-type alloc_objects"; do
    # shellcheck disable=SC2086 # options
    fxt2pprof -q -f folded $format stream-0 stream-1 | sed 's/ [0-9]*$//' >of-streams
    # shellcheck disable=SC2086
    fxt2pprof -q -f folded $format in.fxt | sed 's/ [0-9]*$//' | cmp - of-streams || fail "stacks of streams"
done
fxt2pprof stream-0 stream-1 -o streams.pb.gz 2>summary
grep -Eq '^  peak: [0-9.]+ MiB in use$' summary || fail "$(cat summary)"
decode streams.pb.gz | grep -q '^period: 131072$' || fail "period of a stream"
fxt2pprof -q -f folded - <stream-0 >one
grep -q '^process-0;' one || fail "$(head -n 1 one)"
# Two streams are two processes, whatever they say: by their numbers among the inputs.
[ "$(fxt2pprof -q -f folded --pid 2 stream-0 stream-1 | sed 's/;.*//' | sort -u)" = process-1 ] || fail "--pid 2"
for option in "--at 1s" "--at peak" "--at end" --ages "--every 1s -o x.pb.gz"; do
    status=0
    # shellcheck disable=SC2086
    fxt2pprof $option stream-0 >out 2>err || status=$?
    [ $status -eq 2 ] || fail "$option: status $status"
    grep -q 'its allocations were recorded without times' err || fail "$option: $(cat err)"
    if [ -s out ] || [ -e x.pb.gz ]; then fail "$option: output"; fi
done
# Nor do they get times from being in an archive.
fxtcat recover -o archive.fxt stream-0 2>err || fail "$(cat err)"
fxt2pprof -q -f folded archive.fxt | cmp - one || fail "a stream in an archive"
status=0
fxt2pprof --at +1s archive.fxt >out 2>err || status=$?
[ $status -eq 2 ] || fail "--at of an archive of a stream: status $status"
# Damage costs what it damages; the rest is there, and so is status 3.
(head -c 100000 stream-0 && printf 'damage!!' && tail -c +100001 stream-0) >damaged
status=0
fxt2pprof -f folded damaged >out 2>err || status=$?
[ $status -eq 3 ] || fail "damaged: status $status"
grep -q 'damaged: damaged: not a message' err || fail "$(cat err)"
[ "$(wc -l <out)" -gt 100 ] || fail "damaged: $(wc -l <out) stacks"
fxtdump stream-0 | grep -q 'large_blob category=memory name=fuchsia.memory.sampler format=1' || fail "fxtdump"
