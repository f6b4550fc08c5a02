#!/bin/sh
# sampler-capture heap --mmap: memory that programs map themselves is in the profile to the page, by its stack, and the program does
# what it does without.
set -eu
. "$ROOT/tests/cli/common.sh"
cd "$WORK"
"${CC:-cc}" -O1 -g -pthread -o mapwork "$ROOT/testdata/capture/mapwork.c"
page=4096 # mapwork's

# Pages in use at the end, in a stack that matches.
pages() { # pages TRACE REGEX
    fxt2pprof --profile heap --sample-type inuse_space -f folded -q "$1" |
        awk -v wanted="$2" -v page=$page '$0 ~ wanted { sum += $NF } END { print sum / page }'
}
# No allocation is sampled at this interval: all there is was mapped.
capture() { # capture NAME [OPTION...]
    name=$1
    shift
    run 0 sampler-capture heap --interval 1G "$@" -o "$name.fxt" -- ./mapwork "$name"
}
if [ "$(getconf PAGESIZE)" != $page ]; then
    echo "SKIP: pages of $(getconf PAGESIZE) bytes"
    exit 0
fi
while read -r does kept; do
    for unwind in fp cfi; do
        capture "$does" --mmap --unwind $unwind
        [ "$(pages "$does.fxt" .)" = "$kept" ] || fail "$does, $unwind: $(pages "$does.fxt" .) pages, not $kept"
        heap_check "$does.fxt" >checked 2>notices || fail "$does: $(cat notices)"
        for count in early_frees bad first own_frames backwards doubled lost; do
            grep -qx "$count=0" checked || fail "$does: $count: $(cat checked)"
        done
    done
done <<'END'
keep 100
partial 70
fixed 90
moved 310
reserved 56
threads 100
forks 130
signals 11
wrong 0
END

# By stack: what called mmap(2), mremap(2) and mprotect(2), with the function as the last frame.
[ "$(pages keep.fxt 'main;keep;whole;map;[^;]*mmap[^;]* [0-9]*$')" = 100 ] || fail "keep: $(fxt2pprof --profile heap -f folded -q keep.fxt)"
[ "$(pages moved.fxt 'main;moved;[^;]*mremap[^;]* [0-9]*$')" = 280 ] || fail "moved: $(fxt2pprof --profile heap -f folded -q moved.fxt)"
[ "$(pages reserved.fxt 'main;reserved;[^;]*mprotect[^;]* [0-9]*$')" = 40 ] || fail "reserved: $(fxt2pprof --profile heap -f folded -q reserved.fxt)"
[ "$(pages fixed.fxt 'main;fixed;map;[^;]*mmap[^;]* [0-9]*$')" = 20 ] || fail "fixed: $(fxt2pprof --profile heap -f folded -q fixed.fxt)"

# Without the option nothing is recorded, and nothing is said of mappings.
capture keep
grep -q 'nothing was sampled: .*--mmap' err || fail "no word of --mmap: $(cat err)"
[ "$(pages keep.fxt .)" = 0 ] || fail "mappings without --mmap"

# Beside malloc: both, and the allocator's own mappings are not counted twice.
cat >both.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    char *block = malloc(64 << 20);
    char *mapping = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!block || mapping == MAP_FAILED)
        return 1;
    memset(block, 1, 64 << 20);
    memset(mapping, 1, 32 << 20);
    return 0;
}
END
"${CC:-cc}" -O1 -g -fno-builtin -o both both.c
run 0 sampler-capture heap --mmap --interval 64k -o both.fxt -- ./both
says "1 sampled allocation and"
says ", and 1 mapping"
[ "$(pages both.fxt .)" = $(((64 + 32) * 256)) ] || fail "both: $(pages both.fxt .) pages"
run 0 fxt2pprof --profile heap both.fxt -o both.pb.gz
grep -q 'peak: 96.00 MiB in use .*largest resident set was .*, of which the heap is \(9[0-9]\|100\) %' err || fail "explained: $(cat err)"

# Real programs, with the same output and status.
for command in 'python3 -c "import sys; x = [str(i) for i in range(300000)]; print(len(x)); sys.exit(3)"' 'gcc -O2 -S -o - both.c' 'sh -c "(echo a; exit 2) | cat; exit 4"'; do
    plain=0 captured=0
    sh -c "$command" >plain.out 2>plain.err || plain=$?
    sampler-capture heap --mmap -q -o real.fxt -- sh -c "$command" >captured.out 2>captured.err || captured=$?
    [ $plain -eq $captured ] || fail "$command: status $captured, not $plain"
    cmp -s plain.out captured.out || fail "$command: other output"
    fxtdump --verify real.fxt >damage || fail "$command: $(cat damage)"
done
python=$(python3 -c 'import sys; print(sys.executable)')
sampler-capture heap --mmap -q -o python.fxt -- "$python" -c 'import os; x = [str(i) for i in range(300000)]; os._exit(0)' || fail "python"
[ "$(pages python.fxt 'mmap[^;]* [0-9]*$')" -gt 500 ] || fail "python's arenas: $(pages python.fxt .) pages"
finish
