#!/bin/sh
# Recordings made here, by perf of this machine: every CPU, make, exec, threads, a deleted program, compressed, through a pipe, several
# events. The sums of each event, and the samples of each function by itself and in all, are those of perf script and perf report.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

event=cpu-clock
if ! perf record -q -e $event -F 999 -g -o probe.data -- true >err 2>&1; then
    echo "SKIP: perf record does not run here: $(head -n 1 err)"
    exit 0
fi

cat >work.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sum;

static double cpu(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

APART void rec_leaf(void)
{
    for (unsigned i = 0; i < 100000; i++)
        sum += i;
}

APART void rec_one(void)
{
    for (double end = cpu() + 0.05; cpu() < end; sum++)
        rec_leaf();
}

APART void rec_two(void)
{
    for (double end = cpu() + 0.05; cpu() < end; sum++)
        for (unsigned i = 0; i < 100000; i++)
            sum += i;
}

APART void rec_three(unsigned depth)
{
    if (depth > 0)
        rec_three(depth - 1);
    else
        rec_two();
    sum++;
}

APART void rec_touch(char *bytes, unsigned size)
{
    for (unsigned i = 0; i < size; i += 4096)
        bytes[i] = (char)sum++;
}

APART void *rec_in_thread(void *unused)
{
    rec_one();
    sum++;
    return unused;
}

APART void rec_before_exec(char **argv)
{
    rec_two();
    execl(argv[2], argv[2], "after", (char *)NULL);
}

APART void rec_after_exec(void)
{
    rec_one();
    sum++;
}

APART int rec_main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;

    if (strcmp(what, "one") == 0)
        rec_one();
    else if (strcmp(what, "two") == 0)
        rec_two();
    else if (strcmp(what, "three") == 0)
        rec_three(5);
    else if (strcmp(what, "exec") == 0)
        rec_before_exec(argv);
    else if (strcmp(what, "after") == 0)
        rec_after_exec();
    else if (strcmp(what, "touch") == 0) {
        rec_touch(malloc(8 << 20), 8 << 20);
        rec_three(2);
    } else if (strcmp(what, "threads") == 0) {
        pthread_create(&thread, NULL, rec_in_thread, NULL);
        rec_three(3);
        pthread_join(thread, NULL);
    }
    return sum == 1;
}

int main(int argc, char **argv)
{
    return rec_main(argc, argv);
}
END
cflags=-fno-omit-frame-pointer
if echo "int main(void) { return 0; }" | ${CC:-gcc} -mno-omit-leaf-frame-pointer -xc - -o probe 2>/dev/null; then
    cflags="$cflags -mno-omit-leaf-frame-pointer"
fi
# shellcheck disable=SC2086
${CC:-gcc} -O1 -g0 $cflags -fno-optimize-sibling-calls -pthread -Wl,--build-id -o work work.c
cp work other
# The caller of a function without a frame of its own (leaf) is not in callchains: perf misses it, too.
# No other program has functions of these names: own_counts() does not look at modules.
functions='rec_(leaf|one|two|three|touch|in_thread|before_exec|after_exec|main)'

# What perf says: of an event its sum, and of each function its own and all.
perf_counts() { # perf_counts FILE EVENT
    perf script -i "$1" --no-inline -F event,period,ip,sym,dso 2>/dev/null | awk -v event="$2" -v wanted="^($functions)\$" '
        function close_sample(   name) {
            if (period == "") return
            sum += period
            for (name in seen) total[name] += period
            delete seen
            period = ""
        }
        /^ *[0-9]+ +[^ ]+: *$/ {
            close_sample()
            name = $2
            sub(/:[a-zA-Z]*:?$/, "", name)
            sub(/:$/, "", name)
            if (name == event) period = $1
            leaf = 1
            next
        }
        NF >= 2 && period != "" {
            if ($2 ~ wanted && $NF ~ /\/(work|other)\)$/) {
                seen[$2] = 1
                if (leaf) self[$2] += period
            }
            leaf = 0
        }
        END {
            close_sample()
            printf "sum %.0f\n", sum
            for (name in total) printf "%s %.0f %.0f\n", name, self[name], total[name]
        }' | LC_ALL=C sort
}
own_counts() { # own_counts FILE TYPE
    fxt2pprof -q --no-inlines --root none --format folded --sample-type "$2" -o folded "$1" 2>err || fail "$1: $(cat err)"
    awk -v wanted="^($functions)\$" '
        {
            count = $NF
            sub(/ [0-9]+$/, "")
            sum += count
            depth = split($0, names, ";")
            delete seen
            for (i = 1; i <= depth; i++) if (names[i] ~ wanted) seen[names[i]] = 1
            for (name in seen) total[name] += count
            if (names[depth] ~ wanted) self[names[depth]] += count
        }
        END {
            printf "sum %.0f\n", sum
            for (name in total) printf "%s %.0f %.0f\n", name, self[name], total[name]
        }' folded | LC_ALL=C sort
}
compare() { # compare FILE EVENT TYPE FUNCTION...: these functions are among them
    file=$1 what=$2 type=$3
    shift 3
    perf_counts "$file" "$what" >theirs
    own_counts "$file" "$type" >ours
    cmp -s theirs ours || fail "$file, $what: $(diff theirs ours)"
    for name in "$@"; do
        grep -q "^$name [0-9]* [1-9]" ours || fail "$file has no samples of $name: $(cat ours)"
    done
}
record() { # record FILE OPTION... -- COMMAND...
    file=$1
    shift
    perf record -q -e $event -F 999 -g -o "$file" "$@" >out 2>err || fail "perf record $*: $(cat err)"
}

record threads.data -- ./work threads
compare threads.data $event cpu rec_leaf rec_two rec_three rec_in_thread

# A process that runs another program, which has the same functions elsewhere.
record exec.data -- ./work exec "$PWD/other"
compare exec.data $event cpu rec_before_exec rec_after_exec

printf 'all: one two three\none two three:\n\t@./work $@\n' >Makefile
record make.data -- make -s -j2
compare make.data $event cpu rec_leaf rec_two rec_three

# Every CPU: kernel and idle, and whatever else runs here.
if perf record -q -a -e $event -F 999 -g -o all.data -- ./work three >out 2>err; then
    compare all.data $event cpu rec_two rec_three
    # Samples that a kernel function ends, and of idle CPUs.
    perf script -i all.data --no-inline -F pid,ip,sym,dso -G 2>/dev/null | awk '/\[kernel.kallsyms\]/ { n++ } END { print n + 0 }' >theirs
    fxtq import -q all.data -o all.fxtq 2>err || fail "$(cat err)"
    fxtq -f csv --no-header all.fxtq "SELECT count(*) FROM cpu_sample JOIN callsite ON callsite.id = callsite_id JOIN frame ON frame.id = frame_id
        JOIN module ON module.id = module_id WHERE module.name = '[kernel.kallsyms]'" >ours 2>err || fail "$(cat err)"
    cmp -s theirs ours || fail "samples in the kernel: perf has $(cat theirs), here are $(cat ours)"
else
    echo "no recording of every CPU: $(head -n 1 err)"
fi

# A program that is gone: neither has names for it, but as many samples.
cp work gone
record gone.data -- sh -c './gone three & sleep 0.02; rm gone; wait'
perf_counts gone.data $event | grep '^sum' >theirs
own_counts gone.data cpu | grep '^sum' >ours
cmp -s theirs ours || fail "a deleted program: $(diff theirs ours)"
perf script -i gone.data --no-inline -F ip,sym,dso -G 2>/dev/null | grep -c '/gone' >theirs || true
[ "$(cat theirs)" -gt 0 ] || fail 'no samples of the deleted program'
fxtq import -q gone.data -o gone.fxtq 2>err || fail "$(cat err)"
fxtq -f csv --no-header gone.fxtq "SELECT count(*) FROM cpu_sample JOIN callsite ON callsite.id = callsite_id JOIN frame ON frame.id = frame_id
    JOIN module ON module.id = module_id WHERE module.name LIKE '%/gone'" >ours 2>err || fail "$(cat err)"
cmp -s theirs ours || fail "samples of a deleted program: perf has $(cat theirs), here are $(cat ours)"

# Compressed, and through a pipe.
if perf record -q -z -e $event -F 999 -g -o packed.data -- ./work three >out 2>err; then
    compare packed.data $event cpu rec_two rec_three
else
    echo "no compressed recording: $(head -n 1 err)"
fi
perf record -q --buildid-mmap -e $event -F 999 -g -o - -- ./work three 2>err >pipe.data || fail "perf record -o -: $(cat err)"
compare pipe.data $event cpu rec_two rec_three

# Callers from copies of stacks.
perf record -q -e $event:u -F 499 --call-graph dwarf -o dwarf.data -- ./work three >out 2>err || fail "perf record: $(cat err)"
compare dwarf.data $event cpu rec_two rec_three

# Several events of one file, beside perf report: of each event its sum and every function's own.
perf record -q -e $event:u -e page-faults/period=16,name=page-faults/u -F 999 -g -o events.data -- ./work touch >out 2>err || fail "perf record: $(cat err)"
perf report -i events.data --stdio --no-children --no-inline -g none -F period,overhead,sym -t '|' 2>/dev/null | awk -F'|' -v wanted="^($functions)\$" '
    /^# Samples:/ { split($0, quoted, "\047"); event = quoted[2]; sub(/:[a-zA-Z]*$/, "", event) }
    /^# Event count/ { sub(/.*: /, ""); print event, "sum", $0 + 0 }
    /^ *[0-9]+ *\|/ { name = $3; sub(/^ *\[.\] */, "", name); sub(/ *$/, "", name); if (name ~ wanted) print event, name, $1 + 0 }' | LC_ALL=C sort >reported
for what in $event page-faults; do
    type=$what
    [ "$what" = page-faults ] || type=cpu
    compare events.data "$what" "$type" "$([ "$type" = cpu ] && echo rec_two || echo rec_touch)"
    sed -n "s/^sum /$what sum /p; s/^\([a-z_]* [1-9][0-9]*\) [0-9]*\$/$what \1/p" ours
done | LC_ALL=C sort >ours.self
grep -E "^($event|page-faults) " reported >theirs.self || fail "perf report: $(cat reported)"
cmp -s theirs.self ours.self || fail "perf report: $(diff theirs.self ours.self)"
[ "$(wc -l <ours.self)" -ge 4 ] || fail "functions of several events: $(cat ours.self)"

# What the file says of the machine, as perf report --header-only has it.
perf report -i events.data --header-only 2>/dev/null | sed -n 's/^# \(hostname\|os release\|arch\|cpudesc\|cpuid\|perf version\|cmdline\) : /\1: /p' | sed 's/ *$//' | LC_ALL=C sort >theirs
fxtdump --stats --json events.data >stats 2>err || fail "$(cat err)"
python3 - >ours <<'END'
import json

stats = json.load(open("stats"))
names = {"hostname": "host", "os release": "kernel", "arch": "arch", "cpudesc": "cpu", "cpuid": "cpuid", "perf version": "perf_version", "cmdline": "command"}
print("\n".join(sorted(f"{name}: {stats[key]}" for name, key in names.items() if key in stats)))
END
cmp -s theirs ours || fail "features: $(diff theirs ours)"
[ "$(wc -l <ours)" -ge 6 ] || fail "features: $(cat ours)"

# Context switches: a thread that comes and leaves has a slice that ends when perf script has it leave, and no slice ends at another time.
# The kernel leaves out some records of either, so that some threads come or leave without one.
if perf record -q --switch-events --sample-cpu -a -e $event -F 99 -o switches.data -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done' >out 2>err; then
    perf script --show-switch-events -F tid,cpu,time,event --ns -i switches.data 2>/dev/null >raw
    fxtq import -q switches.data -o switches.fxtq 2>err || fail "$(cat err)"
    fxtq -f tsv --no-header switches.fxtq "SELECT s.cpu, thread.tid, ts, ts + dur FROM sched_slice AS s JOIN thread ON thread.id = s.utid WHERE thread.tid != 0 AND dur >= 0" >slices 2>err || fail "$(cat err)"
    python3 - >out 2>&1 <<'END' || fail "switches: $(cat out)"
import re

running, wanted, times = {}, set(), set()
for line in open("raw"):
    match = re.match(r" *(-?\d+) +\[(\d+)\] +(\d+)\.(\d+): PERF_RECORD_SWITCH_CPU_WIDE (IN|OUT).*?(?:next|prev) pid/tid: *-?\d+/(-?\d+)", line)
    sample = re.match(r" *-?\d+ +\[\d+\] +(\d+)\.(\d+):", line)
    if sample:
        times.add(int(sample[1] + sample[2]))
    if not match:
        continue
    own, cpu, seconds, ns, way, other = match.groups()
    time = int(seconds + ns)
    gone, comes = (own, other) if way == "OUT" else (other, own)
    was, since = running.get(cpu, (None, 0))
    gone = was if gone == "-1" else gone  # it is ending: it has no number any more
    if way == "IN" and was == comes:
        continue
    if was == gone and gone not in (None, "0", "-1"):
        wanted.add((int(cpu), int(gone), since, time))
    running[cpu] = comes, time
found = {tuple(map(int, line.split())) for line in open("slices")}
assert len(wanted) >= 16, len(wanted)
assert wanted <= found, f"missing: {sorted(wanted - found)[:5]}"
odd = [slice for slice in found if slice[3] not in times]
assert len(odd) <= len(running), f"ends at no time of a record: {odd[:5]}"
END
else
    echo "no context switches recorded: $(head -n 1 err)"
fi

# Of several events fxtdiff compares the clock, in whatever place; perf's own event for records about tasks is no type.
perf record -q -e alignment-faults -e $event -F 999 -g -a -o first.data -- ./work three >out 2>err || fail "perf record: $(cat err)"
cp first.data second.data
fxtdiff --same-build first.data -- second.data >out 2>err || [ $? -eq 5 ] || fail "$(cat err)"
grep -q '^cpu per run: ' out || fail "not the clock: $(cat out err)"
fxtq import -q first.data -o first.fxtq 2>err || fail "$(cat err)"
fxtq first.fxtq "SELECT type FROM sample_type" >types 2>err || fail "$(cat err)"
grep -q alignment-faults types || fail "types: $(cat types)"
! grep -q dummy types || fail "an event that never has samples is a type: $(cat types)"
