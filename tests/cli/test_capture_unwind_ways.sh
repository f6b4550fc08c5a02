#!/bin/sh
# Callers by unwind tables, whatever is captured and wherever its files are: main() calls outer() calls qsort() of the C library calls
# compare() calls work() of a library of the program's own, all without frame pointers.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/perf.sh"
. "$ROOT/tests/cli/x86_64.sh"

cat >library.c <<'CODE'
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
    __asm__ volatile("" ::: "memory");
}
CODE
cat >way.c <<'CODE'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void work(unsigned n);
static volatile int sink;
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
    work(100000);
    sink++;
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void outer(void)
{
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof *numbers, compare);
    sink++;
}
int main(int argc, char **argv)
{
    clock_t end = (clock_t)(strtod(argv[1], NULL) * CLOCKS_PER_SEC);
    for (int i = 2; i < argc; i++)
        unlink(argv[i]);
    while (clock() < end)
        outer();
    return 0;
}
CODE
"${CC:-cc}" -O2 -fomit-frame-pointer -g -shared -fPIC -o kept-library.so library.c
"${CC:-cc}" -O2 -fomit-frame-pointer -g -o kept-way way.c ./kept-library.so
sed -i 's/kept-library/live-library/' kept-way # a path of as many bytes: the one that may be removed
chain='main;outer;[^ ]*compare;work'
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null || :' EXIT

restore() {
    cp kept-way way
    cp kept-library.so live-library.so
    rm -rf modules
}

start() { # start COMMAND...: $pid, which has used a CPU for a while
    "$@" &
    pid=$!
    for _ in $(seq 1000); do
        [ "$(awk '{ print $14 }' /proc/$pid/stat)" -le 2 ] || break
        sleep 0.01
    done
}

stop() {
    kill $pid
    wait $pid 2>/dev/null || :
    pid=
}

has_samples() { # has_samples NAME: enough of way, which may get little time beside other programs; each is 1 ms, or just 1
    fxt2pprof -f folded --symbols modules out.fxt 2>/dev/null >stacks || fail "$1: $(cat err)"
    awk '/^way;/ { all += $NF } END { exit !(all >= 40 && (all % 1000000 > 0 || all >= 40000000)) }' stacks
}

check() { # check NAME: of the samples in way, nearly all have all callers
    awk -v wanted="$chain" '/^way;/ { all += $NF; if ($0 ~ wanted) found += $NF } END { exit !(found >= 0.9 * all) }' stacks ||
        fail "$1: the callers are missing: $(grep '^way;' stacks | head -n 5) $(cat err)"
}

capture() { # capture OPTION...
    sampler-capture cpu --unwind dwarf --keep-modules modules -o out.fxt "$@" 2>err >out || fail "$*: $(cat err)"
}

in_background() {
    capture --background "$@"
    sleep 0.4
    sampler-capture stop >out 2>err || fail "stop: $(cat out err)"
}

take() { # take NAME OPTIONS GONE
    options=$2
    restore
    # shellcheck disable=SC2086 # lists
    case $1 in
    command) capture $options -- ./way 0.3 $3 ;;
    tree)
        start ./way 60 $3
        capture --tree $$ -d 300ms $options
        stop
        ;;
    background)
        start ./way 60 $3
        in_background -p $pid $options
        stop
        ;;
    *)
        start ./way 60 $3
        [ "$1" != process ] || options="-p $pid $options"
        capture $options -d 300ms
        stop
        ;;
    esac
}

# How it is captured, and what the program removes of its own files when it begins.  Reading removed files takes privileges.
removed=
[ "$(id -u)" != 0 ] || removed="way live-library.so"
for gone in "" "$removed"; do
    while read -r name options; do
        tries=0
        until
            take "$name" "$options" "$gone"
            has_samples "$name $options, removed: $gone"
        do
            [ $((tries += 1)) -lt 50 ] || fail "$name $options, removed: $gone: few samples of the program: $(cat err stacks)"
        done
        check "$name $options, removed: $gone"
    done <<'WAYS'
command
command --mode circular --buffer-size 256k
command --layout profiler
process
process --mode circular
tree
tree --mode circular
background
background --mode circular
all -a
all -a --mode circular
WAYS
done

# ---- In namespaces ----

stop_if_wrong
unshare --pid --mount --fork true 2>/dev/null || {
    echo 'SKIP: PID namespaces cannot be made here'
    exit 0
}
mkdir inner
for gone in "" "way live-library.so"; do
    restore
    capture -- unshare --pid --mount --fork sh -c "mount -t tmpfs none inner && cp way live-library.so inner && cd inner && exec ./way 0.3 $gone"
    has_samples "namespaces, removed: $gone" || fail "namespaces, removed: $gone: few samples of the program: $(cat err stacks)"
    check "namespaces, removed: $gone"
done
finish
