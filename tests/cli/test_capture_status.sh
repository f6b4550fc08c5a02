#!/bin/sh
# Exit statuses, signals and files of sampler-capture.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"
expect() { # expect STATUS COMMAND...
    wanted=$1
    shift
    status=0
    "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted: $*: $(cat err)"
}

# The command line.
expect 2 sampler-capture
says "no command given"
expect 2 sampler-capture record
says "unknown command 'record'"
expect 2 sampler-capture cpu -- true
says "no output file"
expect 2 sampler-capture cpu -o x.fxt
says "nothing to sample"
expect 2 sampler-capture cpu -o x.fxt --period 9999 -- true
says "--period: 9999 is not between 10,000"
expect 2 sampler-capture cpu -o x.fxt -F 0 -- true
says "-F: 0 is not between 1 and 100,000"
expect 2 sampler-capture cpu -o x.fxt -F 100001 -- true
expect 2 sampler-capture cpu -o x.fxt -F 99 --period 20000 -- true
says "-F and --period"
expect 2 sampler-capture cpu -o x.fxt --buffer-size 2G -- true
says "--buffer-size"
expect 2 sampler-capture cpu -o x.fxt --buffer-size 0 -- true
expect 2 sampler-capture cpu --bogus
says "unknown option --bogus"
[ ! -e x.fxt ] || fail "a wrong command line made a file"
expect 0 sampler-capture cpu --help
grep -q 'Usage: sampler-capture cpu' out || fail "no usage in --help"
expect 0 sampler-capture --version
grep -q '^sampler-capture (FXT toolchain) [0-9]' out || fail "no version"

# Failures of its own before the command runs.
expect 125 sampler-capture cpu -o missing/x.fxt -- true
says "missing/x.fxt: No such file or directory"

# A kernel that does not let us: one sentence with what to change, and the command does not run.
status=0
capture_deny sampler-capture cpu -o x.fxt -- touch ran 2>err || status=$?
if [ $status -ne 77 ]; then
    [ $status -eq 4 ] || fail "status $status without perf_event_open"
    says "kernel.perf_event_paranoid"
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one sentence: $(cat err)"
    [ ! -e x.fxt ] || fail "a file although nothing ran"
    [ ! -e ran ] || fail "the command ran"
fi

. "$ROOT/tests/cli/perf.sh"

# The command's status is passed on.
expect 0 sampler-capture cpu -o x.fxt -- true
expect 3 sampler-capture cpu -o x.fxt -- sh -c 'exit 3'
# shellcheck disable=SC2016 # $$ is the inner shell's
expect 143 sampler-capture cpu -o x.fxt -- sh -c 'kill -TERM $$'
says ') was ended by signal 15: Terminated'
# shellcheck disable=SC2016
expect 139 sampler-capture cpu -q -o x.fxt -- sh -c 'kill -SEGV $$'
[ ! -s err ] || fail "with -q: $(cat err)"
# shellcheck disable=SC2016
expect 141 sampler-capture cpu -o x.fxt -- sh -c 'kill -PIPE $$'
! grep 'signal' err || fail "a closed pipe is no crash"
expect 3 sampler-capture cpu -o x.fxt sh -c 'exit 3'
capture_check x.fxt >/dev/null || fail "a damaged file"

# A command that outlives the capture is waited for, which is said.
expect 5 sampler-capture cpu -d 0.2 -o x.fxt -- sh -c 'sleep 3; exit 5'
says 'the capture is complete; sh (process '
says ') still runs: waiting for its end'
expect 5 sampler-capture cpu -q -d 0.2 -o x.fxt -- sh -c 'sleep 3; exit 5'
if grep -q 'still runs' err; then fail "-q: $(cat err)"; fi

# Commands that cannot run leave no file, and the one that was there.
rm -f x.fxt
expect 127 sampler-capture cpu -o x.fxt -- ./no-such-program
says "./no-such-program: No such file or directory"
[ ! -e x.fxt ] || fail "a file although nothing ran"
echo precious >x.fxt
expect 127 sampler-capture cpu -o x.fxt -- no-such-program
[ "$(cat x.fxt)" = precious ] || fail "an old file was lost"
echo text >program
expect 126 sampler-capture cpu -o x.fxt -- ./program
says "./program: Permission denied"
expect 126 sampler-capture cpu -o x.fxt -- /
[ "$(cat x.fxt)" = precious ] || fail "an old file was lost"
expect 0 sampler-capture cpu -o x.fxt -- true
capture_check x.fxt >/dev/null || fail "an old file was not replaced"

# Its standard input, output and errors are the command's.
echo words | sampler-capture cpu -o x.fxt -- cat >out 2>err || fail "status $?"
[ "$(cat out)" = words ] || fail "output is not the command's alone"

# A signal ends command and capture; the file is whole.
# What a shell starts in the background ignores SIGINT, which cannot be undone from sh.
# nohup(1) too: then it is no signal to end.
signals='TERM HUP'
[ $((0x$(sed -n 's/^SigIgn:[[:space:]]*0*\([0-9a-f]\)/\1/p' /proc/self/status) & 1)) -eq 0 ] || signals=TERM
# It works until it is ended, but for 20 s at most; when it says that it spins, there are samples.
cat >spin <<'SH'
ulimit -t 20
trap "$1" INT
i=0
while [ $i -lt 1000000 ]; do i=$((i + 1)); done
echo $$ >spinning
while :; do :; done
SH
for signal in $signals; do
    rm -f spinning
    sampler-capture cpu -o signal.fxt -- sh spin - 2>err &
    pid=$!
    wait_for test -s spinning
    kill -s "$signal" $pid
    status=0
    wait $pid || status=$?
    [ $status -gt 128 ] || fail "status $status after SIG$signal"
    ! grep 'ended by signal' err || fail "an end that was asked for is no news"
    capture_check signal.fxt >facts || fail "damaged after SIG$signal"
    grep -q '^samples=[1-9][0-9]' facts || fail "no samples before SIG$signal: $(cat facts)"
done
python3 - <<'PY' || fail "SIGINT"
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
os.unlink("spinning")
p = subprocess.Popen(["sampler-capture", "cpu", "-o", "int.fxt", "--", "sh", "spin", "exit 7"], stderr=subprocess.PIPE)
for _ in range(6000):
    if os.path.exists("spinning"):
        break
    time.sleep(0.1)
p.send_signal(signal.SIGINT)
status = p.wait()
if status != 7:
    sys.exit("status %d: %s" % (status, p.stderr.read()))
PY
capture_check int.fxt >facts || fail "damaged after SIGINT"
grep -q '^samples=[1-9][0-9]' facts || fail "no samples before SIGINT: $(cat facts)"

# Under nohup(1) a hangup is no end.
# shellcheck disable=SC2016 # the inner shell's
nohup sampler-capture cpu -o hangup.fxt -- sh -c ': >begun; i=0; while [ ! -e go ] && [ $((i += 1)) -lt 6000 ]; do sleep 0.1; done; exit 5' >out 2>err &
pid=$!
wait_for test -e begun
kill -HUP $pid
: >go
status=0
wait $pid || status=$?
[ $status -eq 5 ] || fail "status $status after SIGHUP under nohup: $(cat err)"

# From the terminal everybody gets the signal: the command must not get it twice.
cat >count_int.py <<'PY'
import signal, sys, time
count = 0
def on_int(*_):
    global count
    count += 1
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
signal.signal(signal.SIGINT, on_int)
work(0.3)
open("interruptible", "w").close()
for _ in range(6000):
    if count:
        break
    work(0.01)
work(0.5) # in which a second one would come
sys.exit(10 + count)
PY
python3 - <<'PY' || fail "SIGINT from the terminal"
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("sampler-capture", ["sampler-capture", "cpu", "-o", "tty.fxt", "--", "python3", "count_int.py"])
for _ in range(6000):
    if os.path.exists("interruptible"):
        break
    time.sleep(0.1)
os.write(terminal, b"\x03")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if status != 11:
    sys.exit("status %d" % status)
PY
# A parent that ignores its children leaves that to us; there is still a status to pass on.
python3 - <<'PY' || fail "SIGCHLD ignored"
import signal, subprocess, sys
ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
command = ["sampler-capture", "cpu", "-o", "chld.fxt", "--", "grep", "^SigIgn", "/proc/self/status"]
done = subprocess.run(command, preexec_fn=ignore, stdout=subprocess.PIPE)
ignored = int(done.stdout.split()[1], 16)
sys.exit(done.returncode != 0 or not ignored >> (signal.SIGCHLD - 1) & 1)
PY

capture_check tty.fxt >facts || fail "damaged after SIGINT from the terminal"
grep -q '^samples=[1-9][0-9]' facts || fail "no samples before SIGINT: $(cat facts)"

# A capture that is killed leaves whole records, up to a round before.
rm -f spinning
sampler-capture cpu -o killed.fxt -- sh spin - 2>err &
pid=$!
wait_for test -s spinning
wait_for has_samples killed.fxt
kill -KILL $pid
wait $pid || true
kill "$(cat spinning)"
capture_check killed.fxt >facts || fail "damaged after SIGKILL"
grep -q '^samples=[1-9][0-9]' facts || fail "no samples before SIGKILL: $(cat facts)"

# A full disk: the command still runs to its end.
expect 4 sampler-capture cpu -o /dev/full -- sh -c 'sleep 0.4; echo done >finished'
says "No space left on device"
[ -e finished ] || fail "the command did not run to its end"
[ "$(grep -c 'No space left' err)" -eq 1 ] || fail "more than one sentence: $(cat err)"
! grep -q '^no samples' err || fail "another reason is given too: $(cat err)"

# On a file system the file ends with a whole record.
status=0
(
    ulimit -f 8
    trap '' XFSZ
    exec sampler-capture cpu -F 20000 -o limited.fxt -- \
        sh -c 'for i in 1 2 3 4 5 6 7 8 9; do seq 20000; done' >/dev/null
) 2>err || status=$?
[ $status -eq 4 ] || fail "status $status at the size limit: $(cat err)"
says "File too large"
capture_check limited.fxt >/dev/null || fail "cut in a record"

# A reader of the pipe that goes away is a failed write too.
status=0
sh -c 'sampler-capture cpu -F 20000 -o - -- sh -c "i=0; while [ ! -e gone ] && [ \$((i += 1)) -lt 6000 ]; do sleep 0.1; done" 2>err; echo $? >status' | {
    head -c 8 >/dev/null
    exec <&-
    : >gone
}
[ "$(cat status)" -eq 4 ] || fail "status $(cat status) after a broken pipe: $(cat err)"
