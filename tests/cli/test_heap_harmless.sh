#!/bin/sh
# A heap capture never hurts what it captures, and whatever kills it or its target, the file can be read.
#
# FXT_KILLS: how many times each is killed (default 25 and 25, with FXT_TEST_LONG=1 100 and 100).  FXT_SOAK_MS: how long everything at
# once goes on (default 4000, with FXT_TEST_LONG=1 30000, by hand 600000).
set -eu
cd "$WORK"
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"
. "$ROOT/tests/cli/killed.sh"
number() { # number NAME: of the last heap_check
    sed -n "s/^$1=//p" checked
}
# Nothing is freed before it was allocated; allocated twice only where messages were dropped, which is said.
ordered() { # ordered TRACE
    heap_check "$1" >checked 2>notices || fail "$1: $(cat notices)"
    for count in early_frees bad first own_frames backwards; do
        [ "$(number $count)" = 0 ] || fail "$1: $count: $(cat checked)"
    done
    [ "$(number doubled)" = 0 ] || [ "$(number lost)" != 0 ] || fail "$1: doubled: $(cat checked)"
}

# The program itself: what stands in PATH may be a script.
python=$(python3 -c 'import sys; print(sys.executable)')
"${CC:-cc}" -O1 -g -pthread -o heapwork "$ROOT/testdata/capture/heapwork.c"
c++ -O1 -g -std=c++17 -faligned-new -fPIC -shared -o plugin.so "$ROOT/testdata/capture/heapnew.cc"

# ---- Real programs at work ----

# same NAME COMMAND...: the same output and status under a capture, and samples.
same() {
    name=$1
    shift
    plain=0
    "$@" >plain.out 2>plain.err </dev/null || plain=$?
    for unwind in cfi fp; do
        captured=0
        sampler-capture heap --interval 8192 --unwind $unwind -o "$name.fxt" -- "$@" >captured.out 2>captured.err </dev/null ||
            captured=$?
        [ $plain -eq $captured ] || fail "$name: status $captured, not $plain: $(cat captured.err)"
        cmp -s plain.out captured.out || fail "$name: other output"
        ordered "$name.fxt"
        [ "$(number allocations)" -gt 20 ] || fail "$name: $(cat checked)"
        [ "$(number unplaced)" = 0 ] || fail "$name: $(cat checked)"
    done
}

# shellcheck disable=SC2016 # what is expanded is bash's
same bash bash -c 'for ((i = 0; i < 3000; i++)); do a[i]="text $i"; done; for ((i = 0; i < 40; i++)); do (b=${a[@]}; echo ${#b}) | cat; done; exit 3'
same python3 "$python" -c '
import json, subprocess, threading
text = json.dumps([{"n": i, "s": str(i)} for i in range(30000)])
t = threading.Thread(target=lambda: print(len(json.loads(text))))
t.start()
t.join()
print(subprocess.run(["sh", "-c", "exit 5"]).returncode, sum(len(x["s"]) for x in json.loads(text)))'
if command -v sqlite3 >/dev/null; then
    same sqlite3 sqlite3 :memory: 'CREATE TABLE t(a, b);
        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 30000)
        INSERT INTO t SELECT i, i * 7919 % 100003 FROM c;
        CREATE INDEX x ON t(b); SELECT count(*), sum(a), max(b) FROM t WHERE b > 500;'
fi
awk 'BEGIN { for (i = 0; i < 60; i++) print "int f" i "(int x) { for (int i = 0; i < x; i++) x ^= i * " i " + (x >> 3); return x; }" }' >many.c
same gcc gcc -O2 -S -o - many.c
awk 'BEGIN { for (i = 0; i < 14000; i++) print (i * 7919) % 1000, i % 3 }' >old.txt
awk 'BEGIN { for (i = 0; i < 14000; i++) print (i * 7919 + i % 11) % 1000, i % 3 }' >new.txt
# The status of git diff says that the files differ.
same git git --no-pager diff --no-index --minimal --stat old.txt new.txt

# ---- A server that is stopped, and one that is gone ----

# The capture stops for a while, with the target's socket full: the target waits for it once, a fraction of a second, and goes on.
# shellcheck disable=SC2016 # what is expanded is the inner shell's
sampler-capture heap --interval 64 -o stopped.fxt -- sh -c 'kill -STOP $PPID; ./heapwork leak 20000; echo $? >status; kill -CONT $PPID' \
    >out 2>err || fail "stopped: $(cat err)"
[ "$(cat status)" = 0 ] || fail "stopped: the target's status"
ordered stopped.fxt
[ "$(number lost)" -gt 1000 ] || fail "stopped: nothing lost: $(cat checked)"
grep -q '^lost: ' err || fail "stopped: $(cat err)"

# The same of a process after thousands of others: what it loses is counted, too.
cat >late.c <<'EOF2'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile block;
static void allocate(int count)
{
    while (count-- > 0)
        block = malloc(1000);
}
int main(void)
{
    pid_t capture = getppid();
    for (int i = 0; i <= 4200; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i == 4200)
                kill(capture, SIGSTOP);
            allocate(i == 4200 ? 5000 : 1);
            if (i == 4200)
                kill(capture, SIGCONT);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 1;
    }
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o late late.c
sampler-capture heap --interval 64 -o late.fxt -- ./late >out 2>err || fail "late: $(cat err)"
ordered late.fxt
[ "$(number lost)" -gt 1000 ] || fail "late: nothing lost: $(cat checked)"
[ "$(number lost_of_nobody)" = 0 ] || fail "late: $(cat checked)"
grep -q '^a thread waited for the capture' err || fail "late: $(cat err)"
rm late.fxt

# And of one that knows itself by another number, in a PID namespace: which it was is known.
if unshare --pid --fork true 2>/dev/null; then
    # shellcheck disable=SC2016 # what is expanded is the inner shell's
    sampler-capture heap --interval 64 -o inner.fxt -- sh -c 'kill -STOP $PPID; unshare --pid --fork ./heapwork leak 20000; kill -CONT $PPID' \
        >out 2>err || fail "inner: $(cat err)"
    ordered inner.fxt
    [ "$(number lost)" -gt 1000 ] || fail "inner: nothing lost: $(cat checked)"
    [ "$(number lost_of_nobody)" = 0 ] || fail "inner: $(cat checked)"
    grep -q '^lost: ' err || fail "inner: $(cat err)"
    rm inner.fxt
else
    echo "SKIP: PID namespaces cannot be made here"
fi

# shellcheck disable=SC2016 # what is expanded is the inner shell's
sampler-capture heap --interval 64 -o gone.fxt -- sh -c 'kill -KILL $PPID; ./heapwork threads 4; echo $? >status; touch finished' \
    >out 2>err || :
i=0
while [ ! -e finished ] && [ $i -lt 6000 ]; do
    sleep 0.1
    i=$((i + 1))
done
[ "$(cat status)" = 0 ] || fail "gone: the target's status is $(cat status)"
rm -rf tmp/*

# ---- Messages of others ----

# Foreign clients send both generations, and what is no message: which ends their connection and no other.
cat >send.py <<'EOF2'
import os, socket, sys
sent = {}
def hex_of(name, text):
    sent[name] = bytes.fromhex("".join(text.split()))
hex_of("allocation_1", "00000000 02000001 4d826977 9fdd0a6b 22110000 00000000 01000000 00000000 ffffffff ffffffff 40000000 00000000 20000000 00000000 02000000 00000000 ffffffff ffffffff aaaa0000 00000000 bbbb0000 00000000")
hex_of("allocation_2", "00000000 02008001 4d826977 9fdd0a6b 03000000 00000000 ffffffff ffffffff 08000000 00000000 38000000 00000000 08000000 00000000 22110000 00000000 01000000 00000000 ffffffff ffffffff 20000000 00000000 02000000 00000000 ffffffff ffffffff aaaa0000 00000000 bbbb0000 00000000 40000000 00000000")
hex_of("free_1", "00000000 02000001 ebbe4dc3 5eff3b50 22110000 00000000 01000000 00000000 ffffffff ffffffff 18000000 00000000 01000000 00000000 ffffffff ffffffff cccc0000 00000000")
hex_of("info", "00000000 02000001 8317e506 7155a068 00000000 00000000 ffffffff ffffffff")
hex_of("flexible", "00000000 02008001 01020304 05060708")
hex_of("strict", "00000000 02000001 01020304 05060708")
sent["magic"] = sent["free_1"][:7] + b"\2" + sent["free_1"][8:]
sent["trailing"] = sent["free_1"] + bytes(8)
sent["large"] = bytes(70000)
sent["text"] = b"GET / HTTP/1.1\r\n\r\n"
def run(names, wait=60):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    s.connect(os.environ["FXT_HEAP_FOLDER"] + "/socket")
    for name in names:
        s.send(sent[name])
    s.settimeout(wait)
    try:
        return "closed" if s.recv(1) == b"" else "?"
    except socket.timeout:
        return "open"
    except ConnectionResetError:
        return "closed"
good = ["info", "allocation_1", "free_1", "allocation_2", "free_1", "flexible", "free_1"]
print(run(good, 0.3))
for bad in ("strict", "magic", "trailing", "large", "text"):
    print(bad, run(["allocation_1", bad]))
EOF2
sampler-capture heap -o foreign.fxt -- "$python" send.py >out 2>err || fail "foreign: $(cat err)"
cat >expected <<'EOF2'
open
strict closed
magic closed
trailing closed
large closed
text closed
EOF2
cmp -s expected out || fail "foreign: $(cat out err)"
grep -q '5 connections were closed, because of an invalid message or one mapping too many' err || fail "foreign: $(cat err)"
[ "$(grep -c 'sent an invalid message' err)" = 1 ] || fail "foreign: not once: $(cat err)"
heap_check foreign.fxt >checked
# The third free is of what is not in use: kept as it came.
[ "$(number bad) $(number early_frees) $(number processes)" = "0 1 7" ] || fail "foreign: $(cat checked)"

# ---- kill -9 at random moments ----

kills=${FXT_KILLS:-$([ -n "${FXT_TEST_LONG:-}" ] && echo 100 || echo 25)}
mkfifo alive
seed=1
i=0
while [ $i -lt "$kills" ]; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    delay=$(awk -v r=$seed 'BEGIN { printf "%.3f", 0.002 + r / 2147483648 * 0.06 }')
    set -- --interval 2000
    [ $((i % 2)) -eq 1 ] && set -- --interval 2000 --compress
    rm -f begun status
    # Ends when all have ended that have it as their output.
    cat alive >/dev/null &
    watching=$!
    exec 9>alive # before the capture begins, which may be killed before it would have opened it
    # shellcheck disable=SC2016 # the inner shell's
    sampler-capture heap "$@" -o killed.fxt -- sh -c ': >begun; ./heapwork leak 20000; echo $? >status' >&9 2>&1 9>&- &
    capturing=$!
    exec 9>&-
    sleep "$delay"
    kill -9 $capturing 2>/dev/null || true
    wait $capturing 2>/dev/null || true
    # Not even an empty file is left: that is no trace.
    if [ -e killed.fxt ]; then
        readable killed.fxt || fail "killed after $delay s: $(cat stats err)"
    fi
    # The target: the trace is whole, and the status is the target's.
    status=0
    sampler-capture heap "$@" -o target.fxt -- sh -c "(sleep $delay; kill -9 \$\$) & exec ./heapwork threads 40" \
        >/dev/null 2>err || status=$?
    case $status in 0 | 137) ;; *) fail "status $status of a target that was killed: $(cat err)" ;; esac
    fxtdump --verify target.fxt >damage || fail "target killed after $delay s: $(cat damage)"
    # What the capture left behind went on, to the end, if it had begun.
    ends $watching
    if [ -e begun ] && [ "$(cat status)" != 0 ]; then
        fail "a target whose capture was killed after $delay s"
    fi
    rm -rf killed.fxt target.fxt tmp/*
    i=$((i + 1))
done

# ---- All at once ----

soak=${FXT_SOAK_MS:-$([ -n "${FXT_TEST_LONG:-}" ] && echo 30000 || echo 4000)}
sampler-capture heap --interval 100000 --compress -o soak.fxt -- ./heapwork soak "$soak" "$PWD/plugin.so" >out 2>err ||
    fail "soak: $(cat out err)"
ordered soak.fxt
[ "$(number allocations)" -gt 1000 ] || fail "soak: $(cat checked)"
# Where a thread finds another one looking at what is loaded, a module may be told after a stack that it is in.
[ $((1000 * $(number unplaced))) -le "$(number allocations)" ] || fail "soak: $(cat checked)"
