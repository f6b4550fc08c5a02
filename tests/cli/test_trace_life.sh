#!/bin/sh
# Programs and managers that come and go: a manager that starts later, one that is killed, alerts, lists, the background;
# and programs that fork, exec, handle signals, block them, forbid sockets, close descriptors, unload libraries.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export XDG_RUNTIME_DIR="$WORK/run"
mkdir -m 700 run
cc=${CC:-cc}
build() { # build NAME FLAG...
    name=$1
    shift
    $cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$@" -o "$name" || exit 1
}
build watch "$ROOT/testdata/trace/watch.c" "$O/lib/libfxttrace.a" -lpthread
# The library is shared where a plugin uses it, too.
build odd "$ROOT/testdata/trace/odd.c" -L"$O/lib" -lfxttrace -lpthread -ldl
build plugin.so -shared -fPIC "$ROOT/testdata/trace/plugin.c" -L"$O/lib" -lfxttrace
export LD_LIBRARY_PATH="$O/lib"

. "$ROOT/tests/cli/wait.sh"
has_stopped() { # has_stopped PID: all its threads
    ! grep -L '^State:[[:space:]]*T' /proc/"$1"/task/*/status | grep -q .
}
lines() { [ "$(grep -cx "$1" watched)" -ge "$2" ]; }

# A program that waits for managers; each is killed, and the program goes on without.
mkfifo control
./watch >watched <control &
watch=$!
exec 3>control
i=0
while [ $i -lt 50 ]; do
    i=$((i + 1))
    sampler-capture trace -q -o killed.fxt &
    manager=$!
    wait_for lines on $i
    kill -9 $manager
    wait $manager 2>/dev/null
    wait_for lines off $i
done

# Lists of what is there.
run 0 sampler-capture trace providers
prints "$watch	watch"
run 0 sampler-capture trace categories
prints 'watch	watch	what this program does'

# An alert ends the session.
run 0 sampler-capture trace --trigger ticked:stop -m circular -b 64k -o alert.fxt --print-stats
says 'Alerts: '
run 0 fxtdump --verify alert.fxt
fxtdump alert.fxt | grep -q 'category=watch' || fail "nothing is recorded before the alert"

# In the background; a second one is refused.
run 0 sampler-capture trace --background -m streaming -o background.fxt
prints 'task_id: '
run 4 sampler-capture trace -o second.fxt -d 1
says 'another session is using '
says 'trace; end it first, or set FXT_TRACE_SOCKET'
run 4 sampler-capture trace providers
says 'another session is using '
run 0 sampler-capture status
prints 'background.fxt'
wait_for lines on 52
run 0 sampler-capture stop
run 0 fxtdump --verify background.fxt
fxtdump background.fxt | grep -q 'category=watch' || fail "nothing is recorded in the background"
run 0 sampler-capture trace --background -o aborted.fxt
run 0 sampler-capture abort
[ ! -e aborted.fxt ] || fail "abort leaves the output"

exec 3>&-
wait $watch || fail "the program did not end as it should"

# A provider that does not answer is named, and what it wrote is written.
./watch slow >watched <control &
watch=$!
exec 3>control
sampler-capture trace -q -m streaming --stop-timeout 0.2 -o stopped.fxt 2>err &
manager=$!
wait_for lines on 1
kill -STOP $watch
wait_for has_stopped $watch
kill -INT $manager
wait $manager
says 'did not stop in time; the trace has the events that it wrote until now'
run 0 fxtdump --verify stopped.fxt
fxtdump stopped.fxt | grep -q 'category=watch' || fail "nothing is there of a program that does not answer"
kill -CONT $watch
wait_for lines off 1
exec 3>&-
wait $watch || fail "the program did not end as it should after it was stopped"

# Whatever programs do: they do it as without us, and the trace is sound.
for what in fork forks vfork quiet-forks anew exec signals blocked seccomp close threads dlclose; do
    run 0 ./odd $what "$WORK/plugin.so"
    [ "$(cat out err)" = "done" ] || fail "$what: its output is not its own"
    run 0 sampler-capture trace -q -m streaming -b 16M -o odd.fxt -- ./odd $what "$WORK/plugin.so"
    [ "$(cat out)" = "done" ] || fail "$what: its output is not its own under a session"
    run 0 fxtdump --verify odd.fxt
    fxtdump odd.fxt >$what.dump
    run 0 env FXT_TRACE_FILE=$what.fxtb ./odd $what "$WORK/plugin.so"
    [ "$(cat out err)" = "done" ] || fail "$what: its output is not its own with a recorder"
done

# Thread-local storage, which every stack has at its end, and more than the stack of our thread is otherwise.
build storage -DODD_STORAGE=4194304 "$ROOT/testdata/trace/odd.c" "$O/lib/libfxttrace.a" -lpthread -ldl
run 0 sampler-capture trace -q -o storage.fxt -- ./storage blocked
[ "$(fxtdump storage.fxt | grep -c 'category=odd')" -eq 100 ] || fail "events are missing of a program with large thread-local storage"

# A static program, which has no dlopen().
build static "$ROOT/testdata/trace/steps.c" -static "$O/lib/libfxttrace.a" -lpthread 2>ld.err # which warns of dlopen()
run 0 sampler-capture trace -q -o static-program.fxt -- sh -c "echo write 100 | ./static"
prints 'wrote 100'
[ "$(fxtdump static-program.fxt | grep -c 'category=steps')" -eq 100 ] || fail "events are missing of a static program"

# A plugin with a copy of the library of its own stays loaded, since our thread runs in it.
build static.so -shared -fPIC -DPLUGIN_PROVIDER -Wl,--exclude-libs,ALL "$ROOT/testdata/trace/plugin.c" "$O/lib/libfxttrace.a" -lpthread
run 0 sampler-capture trace -q -o static.fxt -- python3 -c '
import ctypes, _ctypes
plugin = ctypes.CDLL("./static.so")
plugin.plugin_work(7)
_ctypes.dlclose(plugin._handle)
assert "static.so" in open("/proc/self/maps").read()
'
fxtdump static.fxt | grep -q 'category=plugin name=work .*seq: 7' || fail "nothing of a plugin with a library of its own"

# Recorders without the process id in their names: a file into which somebody records is left alone.
run 0 env FXT_TRACE_FILE=same.fxtb ./odd fork
for file in same.fxtb same.fxtb.*; do
    [ "$(fxtdump "$file" | grep -c 'category=odd')" -eq 100 ] || fail "$file: not the events of one process"
done
rm same.fxtb.*
build steps "$ROOT/testdata/trace/steps.c" "$O/lib/libfxttrace.a" -lpthread
FXT_TRACE_FILE=same.fxtb ./steps >wrote <control &
steps=$!
exec 3>control
echo 'write 5' >&3
wait_for grep -q 'wrote 5' wrote
run 0 env FXT_TRACE_FILE=same.fxtb ./odd blocked
[ "$(fxtdump same.fxtb.* | grep -c 'category=odd')" -eq 100 ] || fail "no file of its own beside a program that runs"
exec 3>&-
wait $steps
[ "$(fxtdump same.fxtb | grep -c 'category=steps')" -eq 5 ] || fail "another program has replaced the file of one that runs"
run 0 env FXT_TRACE_FILE=same.fxtb ./odd blocked
[ "$(fxtdump same.fxtb | grep -c 'category=odd')" -eq 100 ] || fail "the file of a program that has ended is not replaced"
# exec() keeps the process id, and the recording of the program before; so does a second provider of a process.
mkdir images
run 0 env FXT_TRACE_FILE=images/%p.fxtb ./odd images 3
prints 'done'
[ "$(find images -name '*.fxtb' | wc -l)" -eq 6 ] || fail "not a recording of each image: $(ls images)"
[ "$(find images -name '*-[23456].fxtb' | wc -l)" -eq 5 ] || fail "other names: $(ls images)"
for file in images/*.fxtb; do
    run 0 fxtdump --verify "$file"
    [ "$(fxtdump "$file" | grep -c 'category=odd')" -eq 100 ] || fail "$file: not the events of one image"
done
mkdir plain
run 0 env FXT_TRACE_FILE=plain/one.fxtb ./odd images 3
[ "$(find plain -type f | wc -l)" -eq 6 ] || fail "not a recording of each image without %p: $(ls plain)"
run 0 env FXT_TRACE_FILE=plain/one.fxtb ./odd images 3
[ "$(find plain -type f | wc -l)" -eq 11 ] || fail "not the one without an id is replaced: $(ls plain)"
# Sizes, in either case; what is no size is the default.
while read -r text bytes; do
    run 0 env FXT_TRACE_FILE=size.fxtb FXT_TRACE_BUFFER_SIZE="$text" ./odd blocked
    [ "$(wc -c <size.fxtb)" -eq "$bytes" ] || fail "$text: $(wc -c <size.fxtb) bytes"
    rm size.fxtb
done <<'END'
2m 2097152
2M 2097152
128k 131072
128K 131072
70000 73728
1 65536
8x 4194304
8Mi 4194304
-1 4194304
END

processes() { awk '$4 == "event" && /category=odd/ { split($3, id, "/"); seen[id[1]] = 1 } END { n = 0; for (i in seen) n++; print n }' "$1"; }
[ "$(processes fork.dump)" -eq 2 ] || fail "parent and child are not both recorded"
[ "$(processes exec.dump)" -eq 2 ] || fail "a program and what it executes are not both recorded"
[ "$(grep -c 'category=odd' fork.dump)" -eq 200 ] || fail "events of parent and child are missing"
[ "$(grep -c 'category=odd' forks.dump)" -ge 100 ] || fail "events of threads that fork are missing"
[ "$(grep -c 'category=odd' vfork.dump)" -eq 510 ] || fail "events of a program that spawns others, or theirs, are missing: $(grep -c 'category=odd' vfork.dump)"
[ "$(grep -c 'category=odd' anew.dump)" -eq 100 ] || fail "events are missing of a child whose parent had let go of its provider"
[ "$(processes vfork.dump)" -eq 6 ] || fail "not all of a program and those that it spawns are recorded"
# The parent has its events without a gap; of children, of which the library does not know, there is nothing.
[ "$(sed -n 's/.*category=odd name=step .*seq: \([0-9]*\),.*/\1/p' quiet-forks.dump | awk '$1 != NR - 1 { wrong = 1 } END { print NR, wrong + 0 }')" = '50000 0' ] ||
    fail "not each event of a program whose handlers call _Fork()"
grep -q 'of no provider' quiet-forks.dump && fail "a child of _Fork() is recorded by its parent's provider"
[ "$(grep -c 'category=odd' blocked.dump)" -eq 100 ] || fail "events are missing where signals are blocked"
[ "$(grep -c 'category=odd' threads.dump)" -eq 1000 ] || fail "events of short threads are missing"
[ "$(grep -c 'category=plugin' dlclose.dump)" -eq 50 ] || fail "events of an unloaded library are missing"
[ "$(grep -c 'category=odd' seccomp.dump)" -eq 0 ] || fail "a program without sockets is recorded"
[ "$(grep -c 'name=handler' signals.dump)" -ge 150 ] || fail "events of signal handlers are missing"
finish
