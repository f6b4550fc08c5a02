#!/bin/sh
# Every sample is named right: threads, children, programs and libraries that come and go.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

flags='-D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
# shellcheck disable=SC2086 # a list of flags
{
    "${CC:-cc}" $flags -pthread -o names "$ROOT/testdata/capture/names.c" -ldl
    "${CC:-cc}" $flags -shared -fPIC -DFUNCTION=first_work -o libfirst.so "$ROOT/testdata/capture/library.c"
    "${CC:-cc}" $flags -shared -fPIC -DFUNCTION=other_work -o libother.so "$ROOT/testdata/capture/library.c"
}

capture() { # capture TRACE OPTION... -- COMMAND...
    trace=$1
    shift
    sampler-capture cpu -o "$trace" "$@" >out 2>err || fail "status $? of $*: $(cat err)"
    fxtdump --verify "$trace" >damage || fail "$trace: $(cat damage)"
    fxt2pprof "$trace" --format folded --root thread -o folded 2>err || fail "$(cat err)"
}
# The share of the stacks that match, in percent, is in LOW..HIGH.
share() { # share PATTERN LOW HIGH
    awk -v low="$2" -v high="$3" -v pattern="$1" '
        { all += $NF } $0 ~ pattern { some += $NF }
        END { if (!all) exit 1; s = 100 * some / all; if (s < low || s > high) { print s "%"; exit 1 } }' folded ||
        fail "$1 in $trace: $(head -n 20 folded)"
}

# Four threads and a child, 60 ms each.
capture tasks.fxt -F 5000 -- ./names tasks
for function in on_thread_0 on_thread_1 on_thread_2 on_thread_3 in_child; do
    share ";$function" 12 28
done
share 'run_thread;on_thread_' 70 90

# Two libraries that take turns at one address.
capture turns.fxt -F 5000 -- ./names libraries ./libfirst.so ./libother.so
[ "$(sort -u out | wc -l)" -eq 1 ] || echo "note: the libraries came to different addresses: $(tr '\n' ' ' <out)"
share 'work;first_work' 57 77
share 'work;other_work' 23 43

# A program that was deleted while it ran.  Its file is gone, so names come from a copy.
cp names gone
# shellcheck disable=SC2016 # the inner shell's
removed='i=0; while [ "$(readlink /proc/$!/exe)" != "$PWD/gone" ] && [ $((i += 1)) -lt 10000 ]; do :; done; rm gone; wait'
capture gone.fxt -F 5000 -- sh -c "./gone tasks & $removed"
mkdir symbols
cp names symbols/
fxt2pprof gone.fxt --symbols symbols --format folded --root thread -o folded 2>err || fail "$(cat err)"
share ';on_thread_2' 10 30
share ';in_child' 10 30

# A thread that changes its name: each sample has the one of its time.  The kernel may drop samples of either for a while.
capture renames.fxt -F 5000 -- ./names renames
share ';first;.*;on_thread_[02]' 20 80
share ';second;.*;on_thread_1' 20 80
share ';second;.*;on_thread_[02]|;first;.*;on_thread_1' 0 2
[ "$(fxtdump --json renames.fxt | grep '"type":"kernel_object"' | grep -c '"first"')" -eq 1 ] || fail "first has more than one koid"
sampler-capture cpu -o renames.fxt -- ./names renames 2>err || fail "$(cat err)"
grep -q ' samples of 1 process, [12] thread' err || fail "renames: $(cat err)"

# More mappings than the kernel has room for while the capture is stopped: those of then are read later.
cat >stopped.sh <<'EOF2'
kill -STOP $PPID
./names mappings 20000 ./libfirst.so ready &
i=0
while [ ! -e ready ] && [ $((i += 1)) -lt 12000 ]; do sleep 0.05; done
kill -CONT $PPID
# It has read them again when it writes samples of others.
./names tasks
rm ready
wait
EOF2
capture mappings.fxt -F 2000 -- sh stopped.sh
share 'work;first_work' 45 75
sampler-capture cpu -o mappings.fxt -- sh stopped.sh 2>err || fail "$(cat err)"
grep -q 'lost: [0-9,]* records of names and mappings, because the kernel.s buffers were full; mappings were read again from /proc' err ||
    fail "mappings: $(cat err)"
fxt2pprof mappings.fxt --format folded -o folded 2>err
grep -q 'lost: [0-9,]* names and mappings that did not fit into the kernel.s buffers' err || fail "mappings: $(cat err)"
! grep -q 'lost:.* samples' err || fail "no sample was lost: $(cat err)"

# 300 threads that live for 3 ms each.
capture threads.fxt -F 5000 -- ./names threads 300
share 'run_short;short_lived' 90 100
threads=$(fxtdump --json --type large_blob threads.fxt | grep -o '"tid":[0-9]*' | sort -u | wc -l)
[ "$threads" -ge 290 ] || fail "$threads of 300 threads have samples"

# A process that has ended long before the capture does.
capture early.fxt -F 5000 -- ./names early
share ';in_child' 2 12
share ';in_parent' 80 98

# An exec in the middle: both programs under their own names.
# shellcheck disable=SC2016 # what is expanded is that shell's
capture exec.fxt -F 5000 -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; exec ./names tasks'
share '^names;' 40 99
share '^sh;' 1 60
share '^sh;.*on_thread' 0 0
