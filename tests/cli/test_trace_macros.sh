#!/bin/sh
# Every macro of <fxt/trace.h>: C11 and C++17, GCC and Clang, with all warnings, with NTRACE; and what is recorded.
set -eu
. "$ROOT/tests/cli/common.sh"
cd "$WORK"
source=$ROOT/testdata/trace/macros.c

build() { # build NAME FLAG...: the compiler first
    name=$1
    shift
    "$@" -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -O1 -I"$ROOT/include" "$source" -x none "$O/lib/libfxttrace.a" -lpthread \
        -o "$name" 2>err || {
        fail "$*"
        cat err
    }
}
build c_gcc gcc -x c -std=c11 -D_GNU_SOURCE
build c_clang clang -x c -std=c11 -D_GNU_SOURCE
build cxx_gcc g++ -x c++ -std=c++17 -Wold-style-cast
build cxx_clang clang++ -x c++ -std=c++17 -Wold-style-cast
build c_off gcc -x c -std=c11 -D_GNU_SOURCE -DNTRACE
build cxx_off clang++ -x c++ -std=c++17 -DNTRACE
stop_if_wrong

# Events by kind, as a flight recorder has them.
events() {
    fxtdump "$1" | awk '$4 == "event" { n[$5]++ } $4 ~ /blob$/ { n[$4]++ } END { for (k in n) print k, n[k] }' | sort
}
for program in c_gcc c_clang cxx_gcc cxx_clang c_off cxx_off; do
    run 0 env FXT_TRACE_FILE=$program.fxtb ./$program
    case $program in
    *_off) prints 'touched 0 times' ;;
    *) prints 'touched 1 times' ;;
    esac
    run 0 fxtdump --verify $program.fxtb
    events $program.fxtb >$program.events
done
# Functions are no macros: the one event that the program writes with them is there.
[ "$(cat c_off.events cxx_off.events | tr '\n' ' ')" = 'instant 1 instant 1 ' ] || fail "NTRACE leaves events"
cmp c_gcc.events c_clang.events || fail "GCC and Clang differ in C"
cmp cxx_gcc.events cxx_clang.events || fail "GCC and Clang differ in C++"
for kind in 'instant 4' 'counter 1' 'duration_begin 2' 'duration_end 2' 'duration_complete 2' 'async_begin 1' \
    'async_instant 1' 'async_end 1' 'flow_begin 2' 'flow_step 2' 'flow_end 2'; do
    grep -qx "$kind" c_gcc.events || fail "not recorded in C: $kind"
done
grep -qx 'instant 6' cxx_gcc.events || fail "not recorded in C++: the instant with plain values"

# Without a recorder and without a manager nothing is made and nothing is said.
run 0 env FXT_TRACE_SOCKET= ./c_gcc
prints 'touched 0 times'

# Values as they were given.
fxtdump cxx_gcc.fxtb >dump
for text in 'null: null, bool: true, int32: -32, uint32: 32, int64: -64, uint64: 64, double: 0.5, string: "text", array: "twenty"' \
    'name=arrays scope=thread {array: "an array", writable: "an array", literal: "a literal", void: 0x' 'enum: 1, double: 0.25, float: 0.5, text: "a std::string", temporary: "a std::string!", view: "view"' \
    'name=kept end=' '{text: "a std::string", pointer: "a literal", bits: 5, number: -7, array: "an array"}' \
    ', address: 0x1234, none: 0x0}' 'name=by hand scope=thread {first: 1, second: "two"}' 'name=vthread'; do
    grep -qF "$text" dump || fail "not in the dump: $text"
done

# A name that is no constant would be remembered from the first time: it does not compile.
printf '#include <fxt/trace.h>\nvoid f(const char *name) { TRACE_INSTANT("c", name, TRACE_SCOPE_THREAD); }\n' >bad.c
run 1 gcc -std=c11 -I"$ROOT/include" -c bad.c -o bad.o
run 1 g++ -x c++ -std=c++17 -I"$ROOT/include" -c bad.c -o bad.o
# Nor does a temporary string that a duration would have to keep.
printf '#include <fxt/trace.h>\nvoid f() { TRACE_DURATION("c", "n", "k", std::string("x")); }\n' >bad.cc
run 1 g++ -std=c++17 -I"$ROOT/include" -c bad.cc -o bad.o
says 'has to live until the end of the scope'

# The library is small, and needs the C library alone; where a compiler adds to it, that is not looked at.
if ! nm "$O/lib/libfxttrace.a" | grep -qE '__(asan|ubsan|tsan|gcov)_'; then
    objcopy --strip-all "$O/lib/libfxttrace.so" stripped.so
    [ "$(wc -c <stripped.so)" -le 153600 ] || fail "the library has $(wc -c <stripped.so) bytes, more than 150 KiB"
    needed=$(objdump -p stripped.so | awk '$1 == "NEEDED" && $2 !~ /^(libc|libpthread|ld-linux.*)[.]so/ { print $2 }')
    [ -z "$needed" ] || fail "the library needs $needed"
fi
finish
