#!/bin/sh
# Targets, ends, modes and forms of "sampler-capture cpu".
set -eu
cd "$WORK"
XDG_RUNTIME_DIR=$WORK/run
export XDG_RUNTIME_DIR
mkdir -m 700 run

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"

. "$ROOT/tests/cli/perf.sh"

"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o workload "$ROOT/testdata/capture/workload.c"
name=wl-$$ # as no other process is called
ln workload $name

start() { # start MILLISECONDS: a process that works; its id in $pid
    ./$name "$1" >/dev/null &
    pid=$!
}
capture() { # capture STATUS OPTION...
    wanted=$1
    shift
    status=0
    sampler-capture cpu "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted, of cpu $*: $(cat err)"
}
says() {
    grep -q -e "$1" err || fail "no '$1' in: $(cat err)"
}
# The trace is whole, and most of its time is in hot_function.
hot() { # hot TRACE [OPTION...]
    fxtdump --verify "$1" >damage || fail "$1: $(cat damage)"
    fxt2pprof "$@" --format folded -o folded 2>err || fail "$1: $(cat err)"
    awk '{ all += $NF } /hot_function/ { hot += $NF } END { exit !(all > 0 && hot > all * 0.8) }' folded ||
        fail "$1: $(head -n 5 folded)"
}

# ---- Targets ----

start 20000
capture 0 -p $pid -d 300ms -o process.fxt
hot process.fxt
says '' # nothing but the summary
capture 0 -t $pid -d 0.3 -o thread.fxt
hot thread.fxt
capture 0 --tree $$ -d 300ms -o tree.fxt
hot tree.fxt
capture 0 -p $pid -t $pid -d 300ms -o both.fxt
hot both.fxt
capture 0 --comm $name -d 300ms -o name.fxt
hot name.fxt
sampler-capture cpu -a -o all.fxt 2>err &
capturing=$!
wait_for has_perf_events $capturing
works $pid 200
kill -TERM $capturing
ends $capturing || fail "system-wide: $(cat err)"
fxtdump --verify all.fxt >damage || fail "all.fxt: $(cat damage)"
fxt2pprof all.fxt --pid $pid --format folded -o folded 2>err || fail "$(cat err)"
grep -q hot_function folded || fail "system-wide: $(head -n 5 folded)"
kill $pid
wait $pid 2>/dev/null || true

# A program that was deleted before the capture began, and one in another root directory: their files
# are found through /proc.
module_of() { # module_of TRACE NAME: its build ID
    fxtdump "$1" | sed -n "s,.*module [0-9]* build_id=\([0-9a-f]*\) name=.*$2\$,\1,p" | head -n 1
}
id=$(readelf -n workload | sed -n 's/.*Build ID: //p')
cp workload deleted
./deleted 20000 >/dev/null &
pid=$!
wait_for runs $pid deleted
rm deleted
capture 0 -p $pid -d 300ms -o deleted.fxt
# Reading deleted files takes privileges (CAP_CHECKPOINT_RESTORE).
if [ -r /proc/$pid/map_files ] && [ "$(id -u)" = 0 ]; then
    [ "$(module_of deleted.fxt /deleted)" = "$id" ] || fail "deleted: $(fxtdump deleted.fxt | grep module)"
fi
kill $pid
wait $pid 2>/dev/null || true
if [ "$(id -u)" = 0 ] && "${CC:-cc}" -static -Wl,--build-id -O1 -g -fno-omit-frame-pointer -pthread \
    -o static "$ROOT/testdata/capture/workload.c" 2>/dev/null; then
    mkdir jail
    cp static jail/inside
    chroot jail /inside 20000 >/dev/null &
    pid=$!
    wait_for runs $pid jail/inside
    capture 0 -p $pid -d 300ms -o jail.fxt
    wanted=$(readelf -n static | sed -n 's/.*Build ID: //p')
    [ "$(module_of jail.fxt /inside)" = "$wanted" ] || fail "jail: $(fxtdump jail.fxt | grep module)"
    kill $pid
    wait $pid 2>/dev/null || true
fi

# A capture of what ends, ends.
start 300
sampler-capture cpu -p $pid -o ends.fxt 2>err &
ends $! || fail "$(cat err)"
hot ends.fxt
wait

# It waits for a name.
sampler-capture cpu --comm $name -o waits.fxt 2>err &
waiting=$!
wait_for runs $waiting "$O/bin/sampler-capture"
start 1000
ends $waiting || fail "$(cat err)"
hot waits.fxt
wait

capture 4 -p 4194303 -d 1 -o none.fxt
says 'there is no process 4194303'
[ ! -e none.fxt ] || fail "a trace of nothing"

# ---- Ends ----

start 20000
signals='INT TERM HUP'
# Under nohup(1) a hangup is no end.
[ $((0x$(sed -n 's/^SigIgn:[[:space:]]*0*\([0-9a-f]\)/\1/p' /proc/self/status) & 1)) -eq 0 ] || signals='INT TERM'
for signal in $signals; do
    rm -f signal.fxt
    # setsid: a shell lets background processes ignore SIGINT.
    setsid sampler-capture cpu -p $pid -o signal.fxt 2>err &
    capturing=$!
    wait_for has_samples signal.fxt
    kill -s "$signal" $capturing
    ends $capturing || fail "status $? after SIG$signal: $(cat err)"
    hot signal.fxt
done

# ---- Modes ----

capture 0 -F 10000 --buffer-size 64k --mode oneshot -o oneshot.fxt --print-stats \
    --stats-json oneshot.json -- ./$name 400
says 'CPU [0-9]*: region_full: [1-9]'
python3 - <<'EOF'
import json
stats = json.load(open("oneshot.json"))
full = sum(int(cpu["region_full"]) for cpu in stats["lost_by_cpu"])
assert full == int(stats["lost"]["region_full"]) > 0, stats
EOF
says 'CPUs* stopped sampling, because their buffers of 65,536 bytes were full (--mode oneshot)'
! grep -q 'lost:' err || fail "nobody counts what a oneshot capture does not take: $(cat err)"
fxt2pprof oneshot.fxt --format folded -o folded 2>err || fail "$(cat err)"
says "stopped sampling when [a-z]* regions* w[a-z]* full (--mode oneshot), so later samples are not counted"
hot oneshot.fxt
[ "$(wc -c <oneshot.fxt)" -lt 200000 ] || fail "more than the regions hold"

setsid sampler-capture cpu --mode circular -p $pid -o flight.fxt 2>err &
capturing=$!
wait_for has_perf_events $capturing
for trace in flight.1.fxt flight.2.fxt; do
    works $pid 100
    kill -USR2 $capturing
    wait_for test -s $trace
done
works $pid 100
kill $capturing
ends $capturing || fail "status $?: $(cat err)"
for trace in flight.1.fxt flight.2.fxt flight.fxt; do hot $trace; done

# ---- Forms ----

capture 0 --compress -p $pid -d 2500ms -o small.fxt
hot small.fxt
if command -v zstd >/dev/null; then
    frames=$(zstd -l small.fxt | awk 'NR == 2 { print $1 }')
    [ "$frames" -ge 2 ] || fail "$frames frames in 2.5 s"
    zstd -q -d -c small.fxt >plain.fxt
    hot plain.fxt
fi

capture 0 --layout profiler -p $pid -d 300ms -o profiler.fxt
fxtdump --json profiler.fxt >json
types=$(grep -o '^{"offset":[0-9]*,"type":"[a-z_]*"' json | cut -d'"' -f6 | sort -u | tr '\n' ' ')
[ "$types" = "backtrace init kernel_object magic mapping module " ] || fail "profiler: $types"
fxt2pprof profiler.fxt --format folded -o folded 2>err
grep -q 'main;.*hot_function' folded || fail "profiler: $(head -n 5 folded)"

capture 0 --regions raw -p $pid -d 300ms
for region in raw/cpu-*.region; do
    # Section 3: large records alone, with 6 words before their frames.
    od -An -v -t u8 -w8 "$region" | awk '
        left == 0 { if ($1 % 16 != 15) exit 1; left = int($1 / 16); words = left; at = 0 }
        at == 5 && $1 != 8 * (words - 6) { exit 1 }
        { left--; at++; n++ }
        END { exit !(n > 0 && left == 0) }' || fail "$region is no region"
done
grep -q "^{{{module:[0-9]*:.*/$name:elf:[0-9a-f]*}}}$" raw/modules-$pid.markup || fail "no module"
grep -q '^{{{mmap:0x[0-9a-f]*:0x[0-9a-f]*:load:[0-9]*:rx:0x[0-9a-f]*}}}$' raw/modules-$pid.markup ||
    fail "no mapping"

# They are read back: the folder, or its files by name.
fxt2pprof raw --format folded -o whole 2>err || fail "$(cat err)"
grep -q 'main;.*hot_function' whole || fail "raw: $(head -n 5 whole)"
fxt2pprof raw/cpu-*.region --modules raw/modules-$pid.markup --format folded -o named 2>err || fail "$(cat err)"
cmp -s whole named || fail "files named one by one give another profile"
fxtdump raw | grep -q 'mapping module=' || fail "fxtdump shows no mapping"
fxtcat convert --layout profiler raw -o raw.fxt 2>err || fail "$(cat err)"
fxt2pprof raw.fxt --format folded -o whole 2>err
cmp -s whole named || fail "converted to the profiler's layout they give another profile"

# Another capture into the folder takes away what the one before left, and nothing else; a command that cannot start leaves all.
gone='cpu-77.region modules-1.markup modules-1.2.markup'
kept='cpu-x.region cpu-1.region.bak notes modules-1.2.3.markup'
for file in $gone $kept; do touch "raw/$file"; done
capture 127 --regions raw -- nosuchcommand
for file in $gone; do [ -e "raw/$file" ] || fail "a command that was not there cost $file"; done
cp -r raw again
capture 0 --regions again -p $pid -d 200ms
for file in $gone; do [ ! -e "again/$file" ] || fail "left: $file"; done
for file in $kept; do [ -e "again/$file" ] || fail "removed: $file"; done
samples=$(sed -n 's/^again: \([0-9,]*\) samples* of 1 process.*/\1/p' err | tr -d ,)
for file in $kept; do rm "again/$file"; done
fxt2pprof again --format folded -o folded 2>err || fail "$(cat err)"
[ "$(awk '{ all += $NF } END { print all }' folded)" = "$samples" ] || fail "not $samples samples: $(cat err)"
rm -r again
for file in $gone $kept; do rm "raw/$file"; done
cp raw/modules-$pid.markup whose.markup
status=0
fxt2pprof raw/cpu-*.region --modules whose.markup --format folded -o - >out 2>err || status=$?
[ $status -eq 2 ] || fail "status $status for modules of nobody"
says 'the file name does not give the process'

capture 0 -p $pid -d 200ms -o stats.fxt --print-stats --stats-json stats.json
says 'Number of samples collected: [1-9]'
python3 - <<'EOF'
import json
stats = json.load(open("stats.json"))
assert int(stats["samples_collected"]) > 0 and stats["missing_process_mappings"] == [], stats
assert stats["lost_by_cpu"] == [], stats
assert set(stats["lost"]) == {"ring", "throttled", "region_full", "unreadable", "exited", "sideband", "stopped"}, stats
# --print-stats has the same numbers, in this order.
phrases = {
    "ring": "Samples lost, kernel buffers full", "throttled": "Times throttled", "region_full": "Samples lost, regions full",
    "unreadable": "Samples without a readable stack", "exited": "Samples of threads that were ending",
    "sideband": "Names and mappings lost, kernel buffers full", "stopped": "CPUs that stopped sampling, regions full",
}
lines = open("err").read().splitlines()
at = lines.index("Session Stats: ")
wanted = ["    Number of samples collected: %s" % stats["samples_collected"], "    Processes missing mappings: []"]
wanted += ["    %s: %s" % (phrase, stats["lost"][key]) for key, phrase in phrases.items()]
assert lines[at + 1:at + 1 + len(wanted)] == wanted, lines[at:]
EOF

# ---- In the background ----

sampler-capture status | grep -qx 'No background profiling sessions active.' || fail "a session"
sampler-capture cpu --background -p $pid -o back.fxt >out 2>err || fail "$(cat err)"
task=$(sed -n 's/^Background session started. task_id: //p' out)
[ -n "$task" ] || fail "$(cat out)"
sampler-capture status | grep -qx "  - task_id: $task" || fail "$(sampler-capture status)"
capture 4 --background -p $pid -o second.fxt
says "a background session is already running, task_id $task"
works $pid 100
sampler-capture stop | grep -qx 'Wrote profile to back.fxt' || fail "stop"
hot back.fxt
sampler-capture stop >out 2>err && fail "stopped nothing"
says 'no background session is active'
sampler-capture cpu --background -p $pid -o gone.fxt >out
sampler-capture abort | grep -qx 'Removed gone.fxt' || fail "abort"
[ ! -e gone.fxt ] || fail "gone.fxt is still there"
capture 4 --background -p 4194303 -o none.fxt
says 'there is no process 4194303'
sampler-capture status | grep -qx 'No background profiling sessions active.' || fail "a session"
kill $pid
wait $pid 2>/dev/null || true

# Processes of a name that come later are sampled, too; -d ends the waiting.
sampler-capture cpu --comm late-$$ -o late.fxt 2>err &
capturing=$!
ln workload late-$$
wait_for grep -q 'waiting for a process named' err
./late-$$ 20000 >/dev/null &
first=$!
wait_for has_perf_events $capturing
./late-$$ 20000 >/dev/null &
second=$!
works $first 500
works $second 1000
kill $first
wait $first 2>/dev/null || true
./late-$$ 20000 >/dev/null &
third=$!
works $third 1000
kill -TERM $capturing
ends $capturing || fail "late: status $?: $(cat err)"
kill $second $third
wait $second $third 2>/dev/null || true
says 'samples of 3 processes'
capture 4 --comm none-$$ -d 0.3 -o none.fxt
says "no process was named none-$$ within the duration (-d)"
[ ! -e none.fxt ] || fail "a capture of nobody left a file"

# What only privileges allow is said for what it is.
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] && command -v setpriv >/dev/null; then
    mkdir -m 755 /tmp/plain-$$
    cp "$O/bin/sampler-capture" /tmp/plain-$$/
    for target in "-p $$" "-t $$" "--tree $$" -a; do
        status=0
        # shellcheck disable=SC2086 # words
        setpriv --reuid 65534 --regid 65534 --clear-groups "/tmp/plain-$$/sampler-capture" cpu $target -d 0.1 -o /dev/null >out 2>err || status=$?
        [ $status -eq 4 ] || fail "status $status of a user's $target: $(cat err)"
        case $target in
        -a) says 'kernel.perf_event_paranoid is [0-9]*, which keeps users from measuring all processes' ;;
        *) says "$$ is another user's" ;;
        esac
    done
    rm -r /tmp/plain-$$
else
    echo "SKIP: root's rights cannot be given up here"
fi

# A thread of the kernel executes nothing outside of it.
if grep -q . /proc/2/comm 2>/dev/null && [ ! -e /proc/2/exe ]; then
    capture 4 -p 2 -d 0.1 -o none.fxt
    says '2 is a thread of the kernel'
fi

# ---- The kernel ----

capture 0 --kernel -o kernel.fxt -- dd if=/dev/zero of=/dev/null bs=1M count=2000
if grep -q '^0*[1-9a-f][0-9a-f]* . _text$' /proc/kallsyms; then
    fxt2pprof kernel.fxt --format folded -o folded 2>err || fail "$(cat err)"
    # What the kernel does for read(2) of zeros, below the call that dd makes.
    awk '{ all += $NF } /;.*;(read_zero|do_syscall_64|el0_svc|x64_sys_call)/ { kernel += $NF }
        END { exit !(all > 0 && kernel > all / 2) }' folded || fail "kernel: $(head -n 5 folded)"
    # Elsewhere too: the symbols are in the trace.
    fxtdump --json --type blob kernel.fxt | grep -q linux.kallsyms || fail "no symbols in the trace"
else
    says 'kernel.kptr_restrict'
fi

# ---- What makes no sense ----

refused() { # refused SENTENCE OPTION...
    sentence=$1
    shift
    capture 2 "$@"
    says "$sentence"
}
refused 'nothing to sample' -o x.fxt
refused 'COMMAND cannot be combined' -p 1 -o x.fxt -- true
refused 'cannot be combined with other targets' --comm a -p 1 -o x.fxt
refused 'omit -d' --background -p 1 -d 1 -o x.fxt
refused 'samples running processes' --background -o x.fxt -- true
refused 'no output file' -p 1
refused 'cannot be combined' -p 1 -o x.fxt --regions d
refused 'are not compressed' -p 1 --regions d --compress
refused 'writes files' -p 1 --mode circular -o -
refused 'is not a duration' -p 1 -d never -o x.fxt
refused 'is not a duration' -p 1 -d -3 -o x.fxt
refused "'nothing'" -p 1 --mode nothing -o x.fxt
