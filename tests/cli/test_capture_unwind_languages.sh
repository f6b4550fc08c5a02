#!/bin/sh
# Callers by unwind tables in programs of other languages and of unusual code: Go, Rust, C++ while an exception is thrown, and tail
# calls.  tests/cli/test_capture_unwind.sh has C.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/perf.sh"

. "$ROOT/tests/cli/x86_64.sh"

number() { # number KEY: of the stacks in stats.json
    sed -n 's/.*"stacks":{\([^}]*\)}.*/,\1,/; s/.*,"'"$1"'":\([0-9]*\),.*/\1/p' stats.json | grep . || fail "no $1 in $(cat stats.json)"
}
sum() { awk '{ all += $NF } END { print all + 0 }'; }
# Of the samples in a stack with LEAF, nearly all match, and nearly all stacks are whole.
captures() { # captures NAME LEAF REGEX
    name=$1 leaf=$2 wanted=$3
    for how in dwarf auto; do
        sampler-capture cpu -F 2000 --unwind "$how" --stats-json stats.json -o "$name.fxt" -- "./$name" >out 2>err || fail "$name: status $?: $(cat err)"
        fxt2pprof -q -f folded --sample-type samples -o folded "$name.fxt" 2>err || fail "$name: $(cat err)"
        all=$(grep -E "$leaf" folded | sum)
        found=$(grep -E "$leaf" folded | grep -E "$wanted" | sum)
        [ "$all" -ge 100 ] || fail "$name, $how: only $all samples in $leaf: $(head -c 2000 folded)"
        [ $((found * 100)) -ge $((all * 95)) ] || fail "$name, $how: $found of $all stacks are right: $(grep -E "$leaf" folded | grep -vE "$wanted" | head -n 3)"
        whole=$(($(number whole) + $(number continued) + $(number joined)))
        [ $((whole * 100)) -ge $(($(number all) * 90)) ] || fail "$name, $how: $whole of $(number all) stacks are whole: $(cat err)"
    done
}

# ---- Go: its own tables, frame pointers, and stacks that the runtime makes ----

cat >go.go <<'CODE'
package main

var sink uint64

//go:noinline
func leaf(n uint64) {
	for i := uint64(0); i < n; i++ {
		sink += i * i
	}
}

//go:noinline
func deep(depth int) {
	var pad [64]uint64
	pad[depth%64] = sink
	if depth > 0 {
		deep(depth - 1)
	} else {
		leaf(200000)
	}
	sink += pad[(depth+1)%64]
}

func worker(done chan bool) {
	for i := 0; i < 4000; i++ {
		deep(10)
	}
	done <- true
}

func main() {
	done := make(chan bool)
	go worker(done)
	<-done
}
CODE
GOCACHE=$WORK/cache GOFLAGS=-mod=mod GO111MODULE=off go build -o go go.go 2>err || fail "go build: $(cat err)"
captures go 'main[.]leaf' 'runtime[.]goexit;main[.]main[.]func1;?main[.]worker;(main[.]deep;){11}main[.]leaf|runtime[.]goexit;main[.]worker;(main[.]deep;){11}main[.]leaf'

# ---- Rust: generic code, closures, no frame pointers ----

if command -v rustc >/dev/null; then
    cat >rust.rs <<'CODE'
use std::hint::black_box;

#[inline(never)]
fn leaf(n: u64) -> u64 {
    (0..n).fold(0u64, |sum, i| sum.wrapping_add(black_box(i) * i))
}

#[inline(never)]
fn deep<F: Fn(u64) -> u64>(depth: u32, call: &F) -> u64 {
    let pad = black_box([depth as u64; 32]);
    let sum = if depth > 0 { deep(depth - 1, call) } else { call(100_000) };
    sum + black_box(pad)[3]
}

fn main() {
    for _ in 0..4000 {
        black_box(deep(5, &|n| leaf(n)));
    }
}
CODE
    rustc -C opt-level=2 -C force-frame-pointers=no -o rust rust.rs 2>err || fail "rustc: $(cat err)"
    captures rust 'rust::leaf' 'main;.*(rust::deep[^;]*;){6}.*rust::leaf'
fi

# ---- C++: in the unwinder itself, which an exception runs ----

cat >throws.cc <<'CODE'
#include <ctime>
static volatile unsigned sink;
struct guard {
    ~guard() { sink = sink + 1; }
};
__attribute__((noinline)) static void deep(int depth)
{
    guard here;
    if (depth == 0)
        throw depth;
    deep(depth - 1);
}
__attribute__((noinline)) static void catches()
{
    try {
        deep(20);
    } catch (int) {
        sink = sink + 1;
    }
}
int main()
{
    while (std::clock() < CLOCKS_PER_SEC * 2 / 5)
        catches();
}
CODE
g++ -O2 -fomit-frame-pointer -g -o throws throws.cc
captures throws 'catches' 'main;catches'

# ---- Tail calls: the caller that jumped is not on the stack, and no other takes its place ----

cat >tail.c <<'CODE'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
}
__attribute__((noinline)) static void jumps(unsigned n)
{
    sink++;
    leaf(n);
}
__attribute__((noinline)) static void calls(unsigned n)
{
    jumps(n);
    sink++;
}
int main(void)
{
    while (clock() < CLOCKS_PER_SEC * 2 / 5)
        calls(100000);
    return 0;
}
CODE
"${CC:-cc}" -O2 -fomit-frame-pointer -g -o tail tail.c
captures tail 'leaf' 'main;calls;leaf'

# ---- Signal handlers: the code that they return to, which has not called them, has its own name ----

cat >handler.c <<'CODE'
#include <signal.h>
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void leaf(int number)
{
    clock_t end = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < end)
        for (int i = 0; i < 10000; i++)
            sink += (unsigned)number;
}
int main(void)
{
    signal(SIGUSR1, leaf);
    raise(SIGUSR1);
    return 0;
}
CODE
"${CC:-cc}" -O2 -static -fomit-frame-pointer -g -o handler handler.c # static: the C library's local symbols are there
captures handler 'leaf' 'raise;.*;__restore_rt;leaf'
