#!/bin/sh
# Names of code that a recorded program makes while it runs: from perf-PID.map beside the perf.data file or in /tmp, as perf has them, and
# from the objects of "perf inject --jit".
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

case $(uname -m) in
x86_64) ;;
*)
    echo "SKIP: makes code for x86-64"
    exit 0
    ;;
esac
if ! perf record -q -e cpu-clock -F 999 -g -o probe.data -- true >err 2>&1; then
    echo "SKIP: perf record does not run here: $(head -n 1 err)"
    exit 0
fi

# share FILE NAME: of the samples that are in the function, in percent
share() {
    status=0
    fxt2pprof -f folded --sample-type samples "$1" >stacks 2>err || status=$?
    [ $status -eq 0 ] || fail "$1: status $status: $(cat err)"
    awk -v wanted="$2" '{ all += $NF; if (index($0, wanted)) found += $NF } END { printf "%d\n", all ? 100 * found / all : 0 }' stacks
}

# ---- Map files ----

"${CC:-cc}" -O1 -g -o jit "$ROOT/testdata/capture/made_code.c"
perf record -q -e cpu-clock -F 999 -g -o perf.data -- ./jit one >path 2>err || fail "perf: $(cat err)"
map=$(cat path)
[ "$(share perf.data 'Made:one at run time')" -ge 90 ] || fail "/tmp: $(cat stacks err)"
grep -qF "perf.data: code made at run time has names from $map" err || fail "$(cat err)"

# As many samples as perf gives the function, by itself.
perf script -i perf.data -F ip,sym -G 2>/dev/null | grep -c 'Made:one at run time' >theirs
awk '/Made:one at run time [0-9]*$/ { found += $NF } END { print found + 0 }' stacks >ours
cmp -s ours theirs || fail "$(cat ours) samples, perf has $(cat theirs)"

# Beside the file, whatever the recording's machine; in the trace and the store that are made of it.
mv "$map" .
[ "$(share perf.data 'Made:one at run time')" -ge 90 ] || fail "beside it: $(cat stacks err)"
grep -qF "perf.data: code made at run time has names from $(basename "$map")" err || fail "$(cat err)"
mkdir other
mv perf.data "$(basename "$map")" other/
[ "$(share other/perf.data 'Made:one at run time')" -ge 90 ] || fail "in a folder: $(cat stacks err)"
fxtcat convert other/perf.data -o made.fxt 2>err || fail "$(cat err)"
fxtq import -q other/perf.data -o made.fxtq 2>err || fail "$(cat err)"
! grep -aq 'never called' made.fxt || fail "a function is in the trace that is in no sample"

# Of somebody else: not read, which is said.  A folder and a link of that name are no map.
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    chown nobody other/perf-*.map
    [ "$(share other/perf.data 'Made:one')" -eq 0 ] || fail "a map of another user is believed"
    grep -qF "other/perf.data: not read, because it belongs to another user: other/perf-" err || fail "$(cat err)"
    chown "$(id -u)" other/perf-*.map
fi
mv other/perf-*.map other/true.map
ln -s true.map "other/$(basename "$map")"
[ "$(share other/perf.data 'Made:one')" -eq 0 ] || fail "a link is followed"
rm "other/$(basename "$map")"
mkdir "other/$(basename "$map")"
[ "$(share other/perf.data 'Made:one')" -eq 0 ] || fail "a folder has names"
[ "$(share made.fxt 'Made:one at run time')" -ge 90 ] || fail "converted: $(cat stacks err)"
fxtq made.fxtq "SELECT name FROM frame_name" -f csv >names 2>err || fail "$(cat err)"
grep -q 'Made:one at run time' names || fail "not in the store: $(cat names)"

# Lines without sense name nothing; a name is shown as it is in messages and tables of people.
rmdir "other/$(basename "$map")"
{
    printf 'nonsense\n0 0 x\nffffffffffffffff 2 end\n'
    sed 's/Made:one/Made:\x1b[31m/' other/true.map
} >"other/$(basename "$map")"
fxt2pprof -f top other/perf.data >table 2>err || fail "$(cat err)"
grep -qF 'Made:\x1b[31m at run time' table || fail "$(cat table err)"

# ---- perf inject --jit ----

# The dump has the code and its name; perf makes an object of it, and a mapping.
cat >dump.c <<'END'
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3 };
int main(void)
{
    struct { uint32_t magic, version, size, machine, pad, pid; uint64_t time, flags; } header = {
        0x4a695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid(), now(), 0 };
    struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, address, length, index; } load = { 0 };
    static const char name[] = "dumped_function";
    char path[64];
    uint8_t *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*count_down)(uint64_t);
    int fd;
    (void)snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (room == MAP_FAILED || fd < 0 || write(fd, &header, sizeof header) != sizeof header ||
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return 1;
    memcpy(room, code, sizeof code);
    if (mprotect(room, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    load.size = sizeof load + sizeof name + sizeof code;
    load.time = now();
    load.pid = (uint32_t)getpid();
    load.tid = (uint32_t)syscall(SYS_gettid);
    load.vma = load.address = (uint64_t)(uintptr_t)room;
    load.length = sizeof code;
    load.index = 1;
    if (write(fd, &load, sizeof load) != sizeof load || write(fd, name, sizeof name) != sizeof name ||
        write(fd, code, sizeof code) != sizeof code)
        return 1;
    count_down = (void (*)(uint64_t))(uintptr_t)room;
    while (clock() < CLOCKS_PER_SEC / 3)
        count_down(1000000);
    return 0;
}
END
"${CC:-cc}" -O1 -g -o dump dump.c
perf record -q -k CLOCK_MONOTONIC -e cpu-clock -F 999 -g -o dump.data -- ./dump 2>err || fail "perf: $(cat err)"
if perf inject --jit -i dump.data -o injected.data >err 2>&1 && ls jitted-*.so >/dev/null 2>&1; then
    [ "$(share injected.data dumped_function)" -ge 90 ] || fail "injected: $(cat stacks err)"
    perf script -i injected.data -F ip,sym -G 2>/dev/null | grep -c dumped_function >theirs
    awk '/dumped_function [0-9]*$/ { found += $NF } END { print found + 0 }' stacks >ours
    cmp -s ours theirs || fail "injected: $(cat ours) samples, perf has $(cat theirs)"
else
    echo "perf inject --jit does not work here: $(head -n 1 err)"
fi
