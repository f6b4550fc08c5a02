#!/bin/sh
# sampler-capture heap of programs that give up rights: they are captured.  And of processes that outlive a capture: they trust nobody
# who makes its folder anew.
set -eu

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/wait.sh"

# A folder that others can enter, as the tests' own cannot.
mine=$(mktemp -d)
trap 'rm -rf "$mine"' EXIT INT TERM
chmod 1777 "$mine"
cd "$mine"
mkdir tmp
chmod 1777 tmp
TMPDIR=$mine/tmp
export TMPDIR

nobody=65534
touch owned
if [ "$(id -u)" != 0 ] || ! chown $nobody owned 2>/dev/null; then
    echo "SKIP: files cannot be given to another user here"
    exit 0
fi
"${CC:-cc}" -D_GNU_SOURCE -O0 -o workers "$ROOT/testdata/capture/workers.c"

# What of the tools others may not read, the loader could not preload there.
mkdir -p bin lib/fxt
cp "$O/bin/sampler-capture" bin/
cp "$O/lib/fxt/libfxtheap.so" lib/fxt/
chmod -R a+rX bin lib
capture=$mine/bin/sampler-capture

# ---- Programs that give up rights ----

# WHAT, allocations of the children, processes that could not connect
while read -r what allocations unconnected; do
    ./workers "$what" >out 2>err || fail "$what alone: status $?: $(cat out err)"
    "$capture" heap --interval 1 -o rights.fxt -- ./workers "$what" >out 2>err || fail "$what: status $?: $(cat out err)"
    heap_check rights.fxt >checked 2>notices || fail "$what: $(cat notices)"
    found=$(sed -n 's/^allocations=//p' checked)
    # The C library's own are few.
    [ $((found / 100)) -eq $((allocations / 100)) ] || fail "$what: $found allocations: $(cat checked err)"
    for name in early_frees bad first own_frames backwards unplaced lost lost_of_nobody; do
        grep -q "^$name=0\$" checked || fail "$what: $name: $(cat checked)"
    done
    if [ "$unconnected" = 0 ]; then
        ! grep -e "not connect" -e "not captured" err || fail "$what: $(cat err)"
    else
        says "$unconnected processes could not connect"
    fi
    [ -z "$(ls tmp)" ] || fail "$what: left over: $(ls tmp)"
done <<'EOF2'
none 500 0
user 1500 0
before 1500 0
generations 1500 0
effective 1500 0
root 1500 0
exec 1500 0
closed 1500 0
closed-user 0 3
EOF2

# What they load has its name, though its file of names is in a folder that they cannot enter, and though they have ended.
cat >plugin.c <<'EOF2'
#include <stdlib.h>
void plug(void) { for (int i = 0; i < 100; i++) free(malloc(100)); }
EOF2
cat >plugged.c <<'EOF2'
#include <dlfcn.h>
#include <grp.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (argc < 2 || setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        return 2;
    void *plugin = dlopen(argv[1], RTLD_NOW);
    void (*plug)(void) = plugin ? (void (*)(void))dlsym(plugin, "plug") : NULL;
    if (!plug)
        return 3;
    plug();
    return 0;
}
EOF2
"${CC:-cc}" -O0 -shared -fPIC -Wl,--build-id -o plugin.so plugin.c
"${CC:-cc}" -O0 -o plugged plugged.c
# shellcheck disable=SC2016 # what is expanded is the inner shell's
"$capture" heap --interval 1 -o plugged.fxt -- sh -c 'kill -STOP $PPID; ./plugged "$0"; status=$?; kill -CONT $PPID; exit $status' "$mine/plugin.so" \
    >out 2>err || fail "plugged: status $?: $(cat err)"
fxtdump plugged.fxt | grep -q "module .* name=$mine/plugin.so" || fail "plugged: no name: $(fxtdump plugged.fxt | grep 'module ')"

# Nor does it open what others can enter.
# shellcheck disable=SC2016 # what is expanded is the inner shell's
"$capture" heap -o modes.fxt -- sh -c 'stat -c %a "$FXT_HEAP_FOLDER" "$FXT_HEAP_FOLDER"/names; basename "$FXT_HEAP_FOLDER"' \
    >out 2>err || fail "modes: $(cat err)"
grep -q '^fxt-heap\.[0-9a-f]\{24\}$' out || fail "modes: $(cat out)"
[ "$(head -n 2 out | tr '\n' ' ')" = "700 600 " ] || fail "modes: $(cat out)"

# ---- Strangers ----

# listen FOLDER USER KEY: takes connections to FOLDER/socket, and writes how many sent something to FOLDER.log when FOLDER.end appears.
# Connections to FOLDER/losses get a file of losses with the key 00...01 00...02, sealed if KEY is "sealed".
cat >listen.py <<'EOF2'
import fcntl, os, socket, sys, threading
folder, user, sealed = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "sealed"
log = os.open(folder + ".log", os.O_WRONLY | os.O_CREAT, 0o666)
os.setgid(user)
os.setuid(user)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(folder + "/socket")
s.listen(100)
s.settimeout(0.05)
l = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
l.bind(folder + "/losses")
l.listen(100)
def serve():
    while True:
        to = l.accept()[0]
        socket.send_fds(to, [b"l"], [losses])
        to.close()
threading.Thread(target=serve, daemon=True).start()
open(folder + "/ready", "w").close()
losses = os.memfd_create("losses", os.MFD_ALLOW_SEALING)
os.write(losses, bytes([1] + 7 * [0] + [2] + 7 * [0]))
os.ftruncate(losses, 1 << 20)
if sealed:
    fcntl.fcntl(losses, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
count = 0
while True:
    done = os.path.exists(folder + ".end")
    try:
        connection = s.accept()[0]
        connection.settimeout(10)
        count += len(connection.recv(100000)) > 0
    except socket.timeout:
        if done:
            break
os.write(log, b"%d\n" % count)
EOF2
key=00000000000000010000000000000002

# stranger NAME OWNER MODE LISTENER SEALS KEY EXPECTED: how many connect to a folder like that.
stranger() {
    name=$1 owner=$2 mode=$3 listener=$4 seals=$5 given=$6 expected=$7
    folder=$mine/tmp/$name
    mkdir "$folder"
    chown "$listener" "$folder"
    python3 "$mine/listen.py" "$folder" "$listener" "$seals" &
    listening=$!
    while [ ! -e "$folder/ready" ]; do
        kill -0 $listening || fail "$name: nobody listens"
        sleep 0.01
    done
    touch "$folder/names"
    chmod 600 "$folder/names"
    chown "$listener" "$folder/names"
    chmod "$mode" "$folder"
    chown "$owner" "$folder"
    used=$folder
    if [ "$name" = link ]; then
        used=$mine/tmp/linked
        ln -s "$folder" "$used"
    fi
    status=0
    LD_PRELOAD=$mine/lib/fxt/libfxtheap.so FXT_HEAP_FOLDER=$used FXT_HEAP_KEY=$given FXT_HEAP_INTERVAL=1 \
        ./workers none >out 2>err || status=$?
    [ $status -eq 0 ] || fail "$name: status $status: $(cat out err)"
    touch "$folder.end"
    wait $listening || fail "$name: the listener"
    count=$(cat "$folder.log")
    if [ "$expected" = 0 ]; then
        [ "$count" = 0 ] || fail "$name: $count processes sent a stranger something"
        [ "$name" = listener ] || [ ! -s "$folder/names" ] || fail "$name: wrote names: $(cat "$folder/names")"
    else
        [ "$count" -ge "$expected" ] || fail "$name: nobody connected"
    fi
}
stranger own 0 700 0 sealed $key 1
stranger owner $nobody 700 $nobody sealed $key 0
stranger owner-open $nobody 777 $nobody sealed $key 0
stranger open 0 755 0 sealed $key 0
stranger unsealed 0 700 0 open $key 0
stranger key 0 700 0 sealed 00000000000000010000000000000003 0
stranger no-key 0 700 0 sealed "" 0
stranger listener 0 700 $nobody sealed $key 0
stranger link 0 700 0 sealed $key 0

# A daemon that outlives its capture starts programs while somebody else has made the folder anew: by the end of the capture, and
# where it was killed.
for end in ended killed; do
    rm -f go finished stop pid folder
    cat >daemon.sh <<'EOF2'
echo "$FXT_HEAP_FOLDER" >folder.part
mv folder.part folder
(
    i=0
    while [ ! -e go ] && [ $((i += 1)) -lt 30000 ]; do sleep 0.02; done
    ./workers none
    ./workers user
    env | grep -c FXT_HEAP >environment || :
    touch finished
) </dev/null >/dev/null 2>&1 &
i=0
while [ ! -e stop ] && [ $((i += 1)) -lt 30000 ]; do sleep 0.02; done
EOF2
    "$capture" heap --interval 1 -o daemon.fxt -- sh daemon.sh >out 2>err &
    capturing=$!
    wait_for test -e folder
    folder=$(cat folder)
    if [ $end = killed ]; then
        kill -9 $capturing
        wait $capturing 2>/dev/null || :
        rm -r "$folder"
    fi
    touch stop
    if [ $end = ended ]; then
        wait $capturing || fail "daemon: status $?: $(cat err)"
        [ ! -e "$folder" ] || fail "daemon: the folder is still there"
    fi
    mkdir "$folder"
    chown $nobody "$folder"
    rm -f "$folder.end" "$folder.log"
    python3 "$mine/listen.py" "$folder" $nobody sealed &
    listening=$!
    wait_for test -e "$folder/ready"
    touch "$folder/names"
    chown $nobody "$folder/names"
    touch go
    wait_for test -e finished
    touch "$folder.end"
    wait $listening || fail "$end: the listener"
    [ "$(cat "$folder.log")" = 0 ] || fail "$end: $(cat "$folder.log") connections to a stranger"
    [ ! -s "$folder/names" ] || fail "$end: names: $(cat "$folder/names")"
    # After a capture that has ended nothing of it is handed on.
    [ $end = killed ] || [ "$(cat environment)" = 0 ] || fail "$end: $(cat environment) variables are left"
    rm -r "$folder"
done
