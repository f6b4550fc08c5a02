#!/bin/sh
# sampler-capture heap: what it records of programs whose allocations are known.
set -eu
cd "$WORK"
# The folders of sockets: none may stay.
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR

. "$ROOT/tests/cli/fail.sh"
expect() { # expect STATUS COMMAND...
    wanted=$1
    shift
    status=0
    "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted: $*: $(cat out err)"
}
number() { # number NAME: of the last heap_check
    sed -n "s/^$1=//p" checked
}
# What holds for every capture of our own client.
sound() { # sound TRACE
    fxtdump --verify "$1" >damage 2>&1 || grep -q "provider lost" damage || fail "$1: $(cat damage)"
    heap_check "$@" >checked || fail "$1: heap_check"
    for name in early_frees bad first own_frames backwards; do
        [ "$(number $name)" = 0 ] || fail "$1: $name: $(cat checked)"
    done
    # A capture that is kept from running long enough drops messages, and says so.
    [ "$(number doubled)" = 0 ] || [ "$(number lost)" != 0 ] || fail "$1: doubled: $(cat checked)"
    [ "$(number nameless)" = 0 ] || fail "$1: $(cat checked)"
    [ "$(number largest)" -le 32000 ] || fail "$1: $(cat checked)"
}

"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -pthread -o heapwork "$ROOT/testdata/capture/heapwork.c"
c++ -O1 -g -fno-omit-frame-pointer -std=c++17 -faligned-new -o heapnew "$ROOT/testdata/capture/heapnew.cc"
c++ -O1 -g -fno-omit-frame-pointer -std=c++17 -faligned-new -fPIC -shared -o plugin.so "$ROOT/testdata/capture/heapnew.cc"

# The command line and what cannot be captured.
expect 2 sampler-capture heap -- true
says "no output file"
expect 2 sampler-capture heap -o x.fxt
says "no command given"
expect 2 sampler-capture heap -o x.fxt --interval 0 -- true
says "--interval"
expect 2 sampler-capture heap -o x.fxt --unwind dwarf -- true
says "--unwind"
expect 127 sampler-capture heap -o x.fxt -- ./no-such-program
expect 125 sampler-capture heap -o no/such/folder/x.fxt -- true
echo 'int main(void) { return 0; }' >static.c
"${CC:-cc}" -static -o static static.c
expect 125 sampler-capture heap -o x.fxt -- ./static
says "is statically linked"
printf '#!%s/static\n' "$PWD" >script
chmod +x script
expect 125 sampler-capture heap -o x.fxt -- ./script
says "is statically linked"
# Of another architecture, by its header: RISC-V, or 32 bits.
cp heapwork foreign
printf '\363\000' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
[ "$(uname -m)" = riscv64 ] || expect 125 sampler-capture heap -o x.fxt -- ./foreign leak 1
[ "$(uname -m)" = riscv64 ] || says "is of another architecture"
cp heapwork foreign
printf '\001' | dd of=foreign bs=1 seek=4 conv=notrunc 2>/dev/null
expect 125 sampler-capture heap -o x.fxt -- ./foreign leak 1
says "is of another architecture"
cp heapwork setuid
if chown 65534 setuid 2>/dev/null && chmod 4755 setuid; then
    expect 125 sampler-capture heap -o x.fxt -- ./setuid leak 1
    says "gets rights of another user"
else
    echo "SKIP: files cannot be given to another user here"
fi
[ ! -e x.fxt ] || fail "a capture that did not start left a file"
FXT_HEAP_SHIM=./none expect 125 sampler-capture heap -o x.fxt -- true
says "./none is not there"
# The command's status.
expect 7 sampler-capture heap -o s.fxt -- sh -c 'exit 7'
expect 137 sampler-capture heap -o s.fxt -- sh -c 'kill -9 $$'
sampler-capture heap -o - -- sh -c 'echo text' >s.fxt 2>err
sound s.fxt
says text

# Each entry, every allocation sampled: all that was given back has left the live set.
for unwind in cfi fp; do
    expect 0 sampler-capture heap --unwind $unwind --interval 1 -o entries.fxt -- ./heapwork entries
    sound entries.fxt
    [ "$(number allocations)" -ge 17 ] || fail "entries: $(cat checked)"
    expect 0 sampler-capture heap --unwind $unwind --interval 1 -o new.fxt -- ./heapnew
    sound new.fxt heapnew
    # The malloc inside is not counted again; libstdc++ asks it for whole alignments, and for two exceptions.
    grep '^site' checked | awk '{ n += $4; bytes += $6; if ($7 != 0) exit 1 } END { exit !(n == 16 && bytes == 7 * 100000 + 6 * 100096 + 4096 + 2 * 136) }' ||
        fail "operators ($unwind): $(cat checked)"
done

# A realloc that fails: given back, and in use again by the stack that allocated it.
expect 0 sampler-capture heap --interval 1 -o fail.fxt -- ./heapwork fail
sound fail.fxt heapwork
[ "$(grep '^site' checked | cut -d' ' -f4-)" = "2 2 2000 1 1 1000" ] || fail "failed realloc: $(cat checked)"

# Threads that free each other's blocks, and children that free their parent's.
for what in "threads 8" "forks 40"; do
    # shellcheck disable=SC2086 # two words
    expect 0 sampler-capture heap --interval 4096 -o "${what%% *}.fxt" -- ./heapwork $what
    sound "${what%% *}.fxt"
done
[ "$(number processes)" = 41 ] || fail "forks: $(cat checked)"
heap_check threads.fxt >checked
[ "$(number allocations)" -gt 10000 ] || fail "threads: $(cat checked)"

# What is left in the background is told of, each process once: not the one whose children still have what they inherited.
cat >background.c <<'EOF2'
#include <stdlib.h>
#include <unistd.h>
static void *volatile block;
static int ready[2];
static void leave_child(void)
{
    block = malloc(1000);
    if (fork() > 0)
        return;
    block = malloc(1000);
    (void)!write(ready[1], "", 1);
    sleep(60);
    _exit(0);
}
int main(void)
{
    char byte;
    if (pipe(ready) != 0)
        return 1;
    leave_child();
    return read(ready[0], &byte, 1) != 1;
}
EOF2
"${CC:-cc}" -O1 -o background background.c
expect 0 sampler-capture heap --interval 10 -o background.fxt -- ./background
says "1 process is still running: not captured from here on"
expect 0 sampler-capture heap --interval 10 -o background.fxt -- ./heapwork leak 10
! grep "still running" err || fail "nothing runs: $(cat err)"
# Those that run on have lost nothing: what they allocate from there on is not captured.
cat >slowly.c <<'EOF2'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 1000000 && access("stop", F_OK) != 0; i++) {
        void *volatile block = malloc(100);
        free(block);
        if (i == 100)
            (void)!symlink("slowly", "begun");
        usleep(500);
    }
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o slowly slowly.c
# shellcheck disable=SC2016 # the inner shell's
expect 0 sampler-capture heap --interval 1 -o background.fxt -- sh -c './slowly & i=0; until [ -e begun ] || [ $((i += 1)) -ge 6000 ]; do sleep 0.1; done'
says "still running: not captured from here on"
: >stop
! grep "^lost: " err || fail "ended: $(cat err)"

# A program that closes descriptors that are not its own, then runs another one.
expect 0 sampler-capture heap --interval 4096 -o again.fxt -- ./heapwork again ./heapwork
fxtdump --verify again.fxt >damage || fail "again: $(cat damage)"
heap_check again.fxt >checked
[ "$(number processes) $(number early_frees) $(number bad)" = "3 0 0" ] || fail "again: $(cat checked)"
says "a program closed the descriptor of the capture 1 time, and is a new process from then on; 0 blocks in use remain"
! grep '^lost: ' err || fail "again: $(cat err)"
# What was in use then stays so, and that is said; what shows it, an allocation, is lost to neither side.
cat >closes.c <<'EOF2'
#include <stdlib.h>
#include <unistd.h>
static void *blocks[100];
int main(void)
{
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(1000);
    for (int fd = 3; fd < 1100; fd++)
        (void)close(fd);
    for (int i = 0; i < 100; i++) {
        void *volatile block = malloc(2000);
        free(block);
    }
    for (int i = 0; i < 100; i++)
        free(blocks[i]);
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o closes closes.c
expect 0 sampler-capture heap --interval 1 -o closes.fxt -- ./closes
says "a program closed the descriptor of the capture 1 time, and is a new process from then on; 100 blocks in use remain in use"
! grep '^lost: ' err || fail "closes: $(cat err)"
heap_check closes.fxt >checked
[ "$(number allocations) $(number frees) $(number live) $(number forgotten) $(number lost)" = "200 100 100 100 0" ] ||
    fail "closes: $(cat checked)"
fxt2pprof --profile heap -o closes.pb.gz closes.fxt 2>err || fail "$(cat err)"
says "100 blocks whose release a process could not report"
# A release shows it.
sed 's/void \*volatile block = malloc(2000);/void *volatile block = NULL;/' closes.c >closes2.c
"${CC:-cc}" -O1 -o closes closes2.c
expect 0 sampler-capture heap --interval 1 -o closes.fxt -- ./closes
says "100 blocks in use remain in use"
! grep '^lost: ' err || fail "closes: $(cat err)"
# No memory to remember blocks in: its own cause.
cat >limited.c <<'EOF2'
#include <stdlib.h>
#include <sys/resource.h>
int main(void)
{
    const struct rlimit none = { 0, 0 };
    static void *volatile blocks[20000];
    void *room = malloc(4 << 20);
    free(room);
    if (setrlimit(RLIMIT_AS, &none) != 0)
        return 1;
    for (int i = 0; i < 20000; i++)
        blocks[i] = malloc(16);
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o limited limited.c
MALLOC_TOP_PAD_=8000000 expect 0 sampler-capture heap --interval 1 -o limited.fxt -- ./limited
heap_check limited.fxt >checked
[ "$(number no_memory)" -gt 1000 ] || fail "limited: $(cat checked)"
says "because the program had no memory left to record them"
! grep "keep up" err || [ "$(number lost)" != 0 ] || fail "limited: $(cat err)"

# Deep stacks keep the inner 512 frames.
expect 0 sampler-capture heap --interval 1 -o deep.fxt -- ./heapwork deep 2000
sound deep.fxt
[ "$(number deepest)" = 512 ] || fail "deep: $(cat checked)"

# A library that is loaded later, C++ in a C program: its frames are placed and named.
expect 0 sampler-capture heap --interval 2000 -o plugin.fxt -- ./heapwork soak 300 "$PWD/plugin.so"
sound plugin.fxt plugin.so
[ "$(grep -c '^site' checked)" -ge 1 ] || fail "plugin: $(cat checked)"
[ $((1000 * $(number unplaced))) -le "$(number allocations)" ] || fail "plugin: $(cat checked)"

# The same by a relative path, in a process that is gone before anybody could look.
cat >relative.c <<'EOF2'
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    void *library = dlopen("./plugin.so", RTLD_NOW);
    void *(*allocate)(size_t) = library ? (void *(*)(size_t))dlsym(library, "plugin_allocate") : NULL;
    if (!allocate)
        return 1;
    free(allocate(3000));
    _Exit(0);
}
EOF2
"${CC:-cc}" -O1 -o relative relative.c
# shellcheck disable=SC2016 # what is expanded is the inner shell's
expect 0 sampler-capture heap --interval 1 -o relative.fxt -- sh -c 'kill -STOP $PPID; ./relative; status=$?; kill -CONT $PPID; exit $status'
sound relative.fxt plugin.so
grep -q '^site' checked || fail "relative: $(cat checked)"

# Plugins that differ in a name and an instruction take turns at one address.
i=0
while [ $i -lt 4 ]; do
    cat >turn.c <<EOF2
#include <stdlib.h>
void *allocate$i(void);
void *allocate$i(void) { void *block = malloc(1000); __asm__ volatile("" : "+r"(block) : : "memory"); return block; }
EOF2
    "${CC:-cc}" -O1 -g -fPIC -shared -Wl,--build-id=sha1 -o turn$i.so turn.c
    i=$((i + 1))
done
cat >turns.c <<'EOF2'
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    char path[] = "./turn0.so", name[] = "allocate0";
    for (; path[6] < '4'; path[6]++, name[8]++) {
        void *library = dlopen(path, RTLD_NOW);
        void *(*allocate)(void) = library ? (void *(*)(void))dlsym(library, name) : NULL;
        if (!allocate)
            return 1;
        free(allocate());
        dlclose(library);
    }
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o turns turns.c
expect 0 sampler-capture heap --interval 1 -o turns.fxt -- ./turns
sound turns.fxt
fxt2pprof --profile heap --sample-type alloc_objects --format folded turns.fxt 2>notices | sed -n 's/.*;\(allocate.*\)/\1/p' >stacks
printf 'allocate%d 1\n' 0 1 2 3 >expected
cmp -s expected stacks || fail "turns: $(cat stacks)"

# One that is built anew between two times it is loaded: nothing differs but the build ID.
cat >rebuilt.c <<'EOF2'
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *names[] = { "allocate0", "allocate1" };
    ElfW(Addr) place = 0;
    for (int i = 0; i < 2; i++) {
        struct link_map *map = dlopen("./rebuilt.so", RTLD_NOW);
        void *(*allocate)(void) = map ? (void *(*)(void))dlsym(map, names[i]) : NULL;
        if (!allocate)
            return 1;
        if (i > 0 && place != map->l_addr)
            puts("elsewhere");
        place = map->l_addr;
        free(allocate());
        dlclose(map);
        if (i == 0 && rename("turn1.so", "rebuilt.so") != 0)
            return 1;
    }
    return 0;
}
EOF2
"${CC:-cc}" -O1 -o rebuilt rebuilt.c
mkdir before
for unwind in cfi fp; do
    cp turn0.so rebuilt.so
    cp turn0.so before/rebuilt.so
    cp turn1.so again.so
    expect 0 sampler-capture heap --interval 1 --unwind $unwind -o rebuilt.fxt -- ./rebuilt
    [ ! -s out ] || fail "rebuilt: $(cat out)"
    mv again.so turn1.so
    cp turn1.so rebuilt.so
    fxt2pprof -s before --profile heap --sample-type alloc_objects --format folded rebuilt.fxt 2>notices | sed -n 's/.*;\(allocate.*\)/\1/p' >stacks
    printf 'allocate%d 1\n' 0 1 >expected
    cmp -s expected stacks || fail "rebuilt, --unwind $unwind: $(cat stacks notices)"
done

# Two callers of 5000 blocks each: estimates of what they allocated and hold are near.
expect 0 env FXT_HEAP_SEED=5 sampler-capture heap --interval 2000 -o leak.fxt -- ./heapwork leak 5000
sound leak.fxt heapwork
grep '^site' checked | awk '{ n++; if ($6 < 4.6e6 || $6 > 5.4e6 || $9 < 2.2e6 || $9 > 2.8e6) exit 1 } END { exit n != 2 }' ||
    fail "leak: $(cat checked)"
# Any reader takes it.
python3 "$ROOT/tests/fxt_rules.py" --allow 14-id leak.fxt new.fxt plugin.fxt >rules || fail "rules for writers: $(head -n 3 rules)"
expect 0 sampler-capture heap -q -o quiet.fxt -- ./heapwork leak 10
[ ! -s err ] || fail "-q is not quiet: $(cat err)"
[ -s quiet.fxt ] || fail "-q writes nothing"
# A seed makes the samples the same.
cp checked earlier
expect 0 env FXT_HEAP_SEED=5 sampler-capture heap --interval 2000 --compress -o leak.fxt -- ./heapwork leak 5000
heap_check leak.fxt heapwork >checked
[ "$(number allocations)" = "$(sed -n 's/^allocations=//p' earlier)" ] || fail "seed: $(cat earlier checked)"
# The same of operators new, which malloc counts while nothing is due: 40,000 of each kind, half of them deleted.
cat >newleak.cc <<'EOF2'
#include <new>
template <typename T> static T *keep(T *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}
template <typename F> __attribute__((noinline)) static void leak(F allocate)
{
    for (int i = 0; i < 40000; i++)
        if (char *block = keep(allocate()); i % 2)
            ::operator delete(block);
}
int main()
{
    leak([] { return static_cast<char *>(::operator new(100)); });
    leak([] { return static_cast<char *>(::operator new[](200)); });
    leak([] { return static_cast<char *>(::operator new(300, std::nothrow)); });
    leak([] { return static_cast<char *>(::operator new(512, std::align_val_t{ 64 })); });
}
EOF2
c++ -O1 -g -std=c++17 -faligned-new -o newleak newleak.cc
expect 0 env FXT_HEAP_SEED=7 sampler-capture heap --interval 2000 -o newleak.fxt -- ./newleak
sound newleak.fxt newleak
grep '^site' checked | awk '{ n++; if ($5 < 37000 || $5 > 43000 || $8 < 18000 || $8 > 22000) exit 1; bytes += $6 } END { exit n != 4 || bytes < 42e6 || bytes > 47e6 }' ||
    fail "newleak: $(cat checked)"
[ -z "$(ls tmp)" ] || fail "left over: $(ls tmp)"
