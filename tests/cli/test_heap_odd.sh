#!/bin/sh
# sampler-capture heap of programs that allocate in odd places: on small stacks and others', in handlers and code of no object, below wrong
# unwind tables, in children of every kind, without descriptors, memory or rights.  They end as they do alone.
set -eu
cd "$WORK"
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR

. "$ROOT/tests/cli/fail.sh"

"${CC:-cc}" -D_GNU_SOURCE -O1 -g -pthread -o heapodd "$ROOT/testdata/capture/heapodd.c"

for what in attributes small-stack destructors cancel coroutines handlers jit wrong-tables gone-stacks side-by-side by-hand switching-handlers processes no-descriptors taken-descriptors \
    little-memory root calls strict filter; do
    timeout 600 ./heapodd $what >out || fail "$what alone: $(cat out)"
    for unwind in cfi fp; do
        for interval in 1 1000; do
            status=0
            timeout 600 sampler-capture heap --unwind $unwind --interval $interval -o odd.fxt -- ./heapodd $what >out 2>err </dev/null || status=$?
            [ $status -eq 0 ] || fail "$what, --unwind $unwind --interval $interval: status $status: $(cat out err)"
            heap_check odd.fxt >checked 2>notices || fail "$what: $(cat notices)"
            for name in early_frees bad first own_frames backwards unplaced; do
                grep -q "^$name=0\$" checked || [ "$what $name" = "jit unplaced" ] || fail "$what, --unwind $unwind: $name: $(cat checked)"
            done
        done
    done
    case $what in
    jit)
        # Callers behind code that keeps frame pointers are found by either way.
        sampler-capture heap --interval 1 -o jit.fxt -- ./heapodd jit 2>err || fail "jit: $(cat err)"
        # shellcheck disable=SC2094 # the word folded is a format, too
        fxt2pprof --profile heap --sample-type alloc_objects --format folded jit.fxt >folded 2>notices || fail "jit: $(cat notices)"
        case $(uname -m) in
        x86_64) grep -q 'main;do_jit;\[anon\];churn_a_little;churn ' folded || fail "jit: $(cat folded)" ;;
        esac
        ;;
    calls) ! grep confined err || fail "calls: $(cat err)" ;;
    processes) ! grep "closed the descriptor" err || fail "processes: $(cat err)" ;;
    strict) says "1 process confined itself with seccomp" ;;
    filter) says "2 processes confined themselves with seccomp" ;;
    no-descriptors) says "2 processes could not connect - no descriptor was free" ;;
    esac
done
[ -z "$(ls tmp)" ] || fail "left over: $(ls tmp)"

# No room for the files of the capture: a sentence, and nobody is ended by a page that is not there.
mkdir small
if mount -t tmpfs -o nr_inodes=1 none small 2>/dev/null; then
    status=0
    TMPDIR=$PWD/small sampler-capture heap -o small.fxt -- true >out 2>err || status=$?
    left=$(ls small)
    umount small
    [ $status -eq 125 ] || fail "small: status $status: $(cat err)"
    says "No space left on device"
    [ -z "$left" ] || fail "small: left over: $left"
else
    echo "SKIP: no file system can be mounted here"
fi

# Few descriptors: none is taken of so few that the program may need each.
cat >few.c <<'EOF2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (argc > 2) {
        const rlim_t limit = (rlim_t)atoi(argv[2]);
        const struct rlimit both = { limit, limit };
        closefrom(3);
        return setrlimit(RLIMIT_NOFILE, &both) == 0 ? execl("./few", "few", argv[1], (char *)NULL) : 2;
    }
    for (int i = 0; i < 1000; i++)
        free(malloc(1000));
    for (int fd = 3; fd < atoi(argv[1]); fd++)
        if (open("/dev/null", O_RDONLY) != fd)
            return 1;
    return 9;
}
EOF2
"${CC:-cc}" -O0 -o few few.c
for limit in 4 5 31 32 40 2000; do
    wanted=$limit
    [ $limit -lt 32 ] || wanted=$((limit - 1))
    [ $limit -lt 900 ] || wanted=900
    status=0
    sampler-capture heap --interval 1 -o few.fxt -- ./few $wanted $limit >out 2>err || status=$?
    [ $status -eq 9 ] || fail "few: $limit descriptors: status $status: $(cat err)"
    if [ $limit -eq 4 ]; then
        continue # there is no room even to learn where to count it
    elif [ $limit -lt 32 ]; then
        says "1 process could not connect - no descriptor was free, fewer than 32 are allowed"
    else
        ! grep "could not connect" err || fail "few: $limit descriptors: $(cat err)"
    fi
done

# An allocator that is linked in.
cat >own.c <<'EOF2'
#include <stddef.h>
static _Alignas(16) char room[1 << 24];
static size_t used;
void *malloc(size_t size) { void *block = room + used; used += (size + 15) & ~(size_t)15; return block; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *block, size_t size) { char *to = malloc(size), *from = block; for (size_t i = 0; from && i < size; i++) to[i] = from[i]; return to; }
void free(void *block) { (void)block; }
int main(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); return 9; }
EOF2
"${CC:-cc}" -O0 -fno-builtin -o own own.c
status=0
sampler-capture heap --interval 1 -o own.fxt -- ./own >out 2>err || status=$?
[ $status -eq 9 ] || fail "own: status $status: $(cat err)"
says "1 process has an allocator of its own linked in"
if grep -q "allocated less" err; then fail "the program allocated, unseen: $(cat err)"; fi
# None, but its address is one in the program.
cat >address.c <<'EOF2'
#include <stdlib.h>
int main(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    void (*volatile release)(void *) = free;
    for (int i = 0; i < 1000; i++)
        release(allocate(100));
    return 9;
}
EOF2
"${CC:-cc}" -O1 -fno-pic -no-pie -o address address.c
status=0
sampler-capture heap --interval 1 -o address.fxt -- ./address >out 2>err || status=$?
[ $status -eq 9 ] || fail "address: status $status: $(cat err)"
! grep "of its own" err || fail "address: $(cat err)"
heap_check address.fxt >checked
grep -q '^allocations=1000$' checked || fail "address: $(cat checked)"

# What processes inherit they may not break for others: the file of losses keeps its size.
cat >cut.c <<'EOF2'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/losses", getenv("FXT_HEAP_FOLDER"));
    int fds[] = { atoi(getenv("FXT_HEAP_LOSSES") ? getenv("FXT_HEAP_LOSSES") : "-1"), open(path, O_RDWR) };
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0 && ftruncate(fds[i], 0) == 0)
            puts("cut");
    for (int i = 0; i < 1000; i++)
        free(malloc(1000));
    return 9;
}
EOF2
"${CC:-cc}" -O0 -o cut cut.c
status=0
sampler-capture heap --interval 1 -o cut.fxt -- sh -c './cut; exec ./cut' >out 2>err || status=$?
[ $status -eq 9 ] || fail "cut: status $status: $(cat err)"
[ ! -s out ] || fail "cut: $(cat out)"
heap_check cut.fxt >checked
grep -q '^allocations=2[0-9][0-9][0-9]$' checked || fail "cut: $(cat checked err)"

# A program that was confined before the library was in it: what it starts is started without a system call of ours.
cat >confined.c <<'EOF2'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
int main(int argc, char **argv)
{
    struct sock_filter filter[] = { /* a look at a high descriptor, such as the one that is inherited, is the end */
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 100000, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 99, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 2;
    return execv(argv[1], argv + 1);
}
EOF2
"${CC:-cc}" -static -O0 -o confined confined.c
status=0
./confined /usr/bin/env ./address || status=$?
[ $status -eq 9 ] || fail "confined alone: status $status"
status=0
sampler-capture heap --interval 1 -o confined.fxt -- sh -c 'exec ./confined /usr/bin/env ./address' >out 2>err || status=$?
[ $status -eq 9 ] || fail "confined: status $status: $(cat err)"

# A capture that is killed leaves its folder, and the next one removes it, but not that of one that runs, nor a new one, nor what is no
# such folder.
sampler-capture heap -o killed.fxt -- sleep 600 2>err &
killed=$!
sampler-capture heap -o running.fxt -- sleep 600 2>err &
running=$!
i=0
while [ "$(find tmp -name names | wc -l)" -lt 2 ] && [ $i -lt 6000 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -9 $killed
wait $killed 2>/dev/null || true
mkdir tmp/fxt-heap.other tmp/fxt-heap.new
touch tmp/fxt-heap.other/thing
ln -s "$PWD" tmp/fxt-heap.link
touch -h -d '2 minutes ago' tmp/fxt-heap.*
touch tmp/fxt-heap.new
sampler-capture heap -o next.fxt -- true 2>err || fail "$(cat err)"
[ "$(find tmp -name names | wc -l)" = 1 ] || fail "swept: $(find tmp)"
if [ ! -e tmp/fxt-heap.other/thing ] || [ ! -d tmp/fxt-heap.new ] || [ ! -e tmp/fxt-heap.link/heapodd ]; then
    fail "swept too much: $(find tmp)"
fi
kill $running
wait $running || true
[ "$(find tmp -name names | wc -l)" = 0 ] || fail "left over: $(find tmp)"
