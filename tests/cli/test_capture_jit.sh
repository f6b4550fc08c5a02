#!/bin/sh
# Names of code that a program makes while it runs: they are in the trace when the map file is gone.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

case $(uname -m) in
x86_64) ;;
*)
    echo "SKIP: makes code for x86-64"
    exit 0
    ;;
esac

"${CC:-cc}" -O1 -g -o jit "$ROOT/testdata/capture/made_code.c"

# share TRACE NAME: of the samples that are in the function, in percent
share() {
    fxt2pprof -f folded "$1" 2>/dev/null |
        awk -v wanted="main;Made:$2 at run time" '{ all += $NF; if (index($0, wanted)) found += $NF } END { printf "%d\n", all ? 100 * found / all : 0 }'
}
sampler-capture cpu -o made.fxt -- ./jit one >path 2>err || fail "status $?: $(cat err)"
rm "$(cat path)"
[ "$(share made.fxt one)" -ge 90 ] || fail "only $(share made.fxt one) % in the function: $(fxt2pprof -f folded made.fxt)"
fxtdump made.fxt >records
grep -q 'category=fxt.capture name=code_symbols' records || fail "no list in the trace"
if grep -aq 'never called' made.fxt; then fail "a function is in the list that is in no sample"; fi
fxt2pprof made.fxt -o made.pb.gz 2>err || fail "$(cat err)"
grep -qE 'symbols: (9[0-9]|100)\.[0-9] % of samples are in named functions' err || fail "coverage: $(cat err)"
fxtq made.fxt "SELECT name FROM frame_name" -f csv >names 2>err || fail "$(cat err)"
grep -q 'Made:one at run time' names || fail "not in a store: $(cat names err)"
python3 "$ROOT/tests/fxt_rules.py" --allow 14-id made.fxt >rules || fail "the rules for writers: $(head -n 3 rules)"

# Of a process that runs already, kernel and flight recorder too.
sampler-capture cpu --mode circular -o circular.fxt -- ./jit two >path 2>err || fail "circular: $(cat err)"
rm "$(cat path)"
[ "$(share circular.fxt two)" -ge 90 ] || fail "circular: only $(share circular.fxt two) %"
./jit three >path &
sampler-capture cpu -p $! -o attached.fxt 2>err || fail "-p: $(cat err)"
rm "$(cat path)"
[ "$(share attached.fxt three)" -ge 90 ] || fail "-p: only $(share attached.fxt three) %"

# In a container: its own process ids and its own /tmp.
if unshare --pid --mount --fork true 2>/dev/null; then
    sampler-capture cpu -o inside.fxt -- unshare --pid --mount --fork sh -c 'mount -t tmpfs none /tmp && ./jit four' >path 2>err || fail "container: $(cat err)"
    [ "$(share inside.fxt four)" -ge 80 ] || fail "container: only $(share inside.fxt four) %: $(cat err)"
else
    echo "namespaces are not permitted here"
fi

# Somebody else's file says nothing.
cat >other.sh <<'CODE'
./jit five >path
chown nobody "$(cat path)"
sleep 0
CODE
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    sampler-capture cpu -o other.fxt -- sh other.sh 2>err || fail "other: $(cat err)"
    rm "$(cat path)"
    [ "$(share other.fxt five)" -eq 0 ] || fail "a map of another user is believed"
fi

# Code that neither has a table nor keeps a frame pointer, between functions without them: the instructions with which it returns say where
# its caller is.  The frame pointer holds something else meanwhile.
cat >trampoline.c <<'CODE'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const uint8_t code[] = { 0x48, 0x83, 0xec, 0x08, /* sub $8, %rsp */
                                0xff, 0xd7,             /* call *%rdi */
                                0x48, 0x83, 0xc4, 0x08, /* add $8, %rsp */
                                0xc3 };                 /* ret */
static volatile unsigned long sum;
__attribute__((noinline)) static void work(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        sum += i;
}
__attribute__((noinline)) static void through(void (*trampoline)(void (*)(void)))
{
    unsigned long frame = sum;
    __asm__ volatile("mov $0x1234, %%rbp" : : : "rbp", "memory");
    trampoline(work);
    sum += frame;
}
int main(void)
{
    uint8_t *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*trampoline)(void (*)(void));
    char path[64];
    FILE *map;
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    map = fopen(path, "w");
    if (room == MAP_FAILED || !map)
        return 1;
    memcpy(room + 32, code, sizeof code);
    if (mprotect(room, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    (void)fprintf(map, "%lx %zx trampoline\n", (unsigned long)(room + 32), sizeof code);
    (void)fclose(map);
    trampoline = (void (*)(void (*)(void)))(uintptr_t)(room + 32);
    (void)puts(path);
    (void)fflush(stdout);
    for (;;)
        through(trampoline);
}
CODE
"${CC:-cc}" -O2 -g -fomit-frame-pointer -o trampoline trampoline.c
# while_running PATTERN COMMAND...: a capture of a command that has written to the file path, and then does not end.
while_running() {
    : >path
    pattern=$1
    shift
    "$@" >path &
    running=$!
    until [ -s path ]; do sleep 0.05; done
    sampler-capture cpu -d 2 -p "$running" -o running.fxt 2>err || fail "status $?: $(cat err)"
    kill -KILL "$running"
    wait "$running" || :
    rm "/tmp/perf-$running.map"
    fxt2pprof -f folded running.fxt >stacks 2>/dev/null
    awk -v pattern="$pattern" '{ all += $NF; if ($0 ~ pattern) found += $NF } END { exit !(all && found >= 0.9 * all) }' stacks ||
        fail "$pattern: $(head -n 5 stacks)"
}
while_running 'main;through;trampoline;work ' ./trampoline

# Python functions as frames of their own, although Python keeps no frame pointers.
cat >functions.py <<'CODE'
def leaf():
    return sum(i * i % 7 for i in range(300))
def outer():
    while True:
        leaf()
print("begins", flush=True)
outer()
CODE
for python in python3 python3.12 python3.13 python3.14 "${PYENV_ROOT:-${HOME:-/}/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.activate_stack_trampoline("perf")' 2>/dev/null || continue
    while_running '^python3[^;]*;_start;.*;py::outer:.*;py::leaf:' "$python" -X perf functions.py
    echo "$python: Python functions are frames"
    exit 0
done
echo 'no Python 3.12 or later: its functions as frames were not tested'
