#!/bin/sh
# sampler-capture heap of commands that start programs of all kinds, in all ways: each behaves as it does alone, and what is not captured
# is said.
set -eu
cd "$WORK"
mkdir tmp bin
TMPDIR=$PWD/tmp
export TMPDIR

. "$ROOT/tests/cli/fail.sh"

cc=${CC:-cc}
source=$ROOT/testdata/capture/child.c
cp "$source" child.c
"$cc" -D_GNU_SOURCE -O1 -o launch "$ROOT/testdata/capture/launch.c"

# ---- The kinds ----

# kind NAME CAPTURED SENTENCE COMMAND...: COMMAND makes bin/NAME.  CAPTURED: yes, or no.  With SENTENCE "clean" it gets the environment
# that it has alone.
: >kinds
kind() {
    name=$1 captured=$2 said=$3
    shift 3
    if "$@" >made 2>&1; then
        echo "$name $captured $said" >>kinds
    else
        echo "SKIP: a program of kind $name cannot be made here"
    fi
}
compile() { # compile NAME OPTION...: by the compiler that made us
    made=$1
    shift
    "$cc" -O0 "$@" -o "bin/$made" child.c
}
sanitized() { # sanitized NAME COMPILER OPTION...: and it runs
    made=$1 compiler=$2
    shift 2
    "$compiler" -O0 "$@" -o "bin/$made" child.c && { "bin/$made" >/dev/null 2>&1 || [ $? -eq 7 ]; }
}
script() { # script NAME INTERPRETER
    printf '#!%s/bin/%s\n' "$PWD" "$2" >"bin/$1"
    chmod +x "bin/$1"
}
privileged() {
    compile privileged && chown 65534 bin/privileged && chmod 4755 bin/privileged
}
unreadable() {
    compile unreadable && chown 65534 bin/unreadable && chmod 4711 bin/unreadable
}
go_program() {
    cat >go.go <<'EOF2'
package main

import "os"

func main() {
	sum := 0
	for i := 0; i < 4000; i++ {
		sum += len(make([]byte, 1000+i))
	}
	println(sum)
	os.Exit(7)
}
EOF2
    GOCACHE=$PWD/gocache CGO_ENABLED=0 GO111MODULE=off go build -o bin/go go.go
}

kind dynamic yes nothing compile dynamic
kind static no "statically linked" compile static -static
kind static-pie no "statically linked" compile static-pie -static-pie
kind musl no "clean of another C library" musl-gcc -O0 -o bin/musl child.c
kind musl-static no "statically linked" musl-gcc -O0 -static -o bin/musl-static child.c
if compile 32-bit -m32 >made 2>&1 && ! { "bin/32-bit" >/dev/null 2>&1 || [ $? -eq 7 ]; }; then
    echo "SKIP: programs of 32 bits do not run here"
else
    kind 32-bit no "clean of another architecture" compile 32-bit -m32
fi
kind asan no "clean with AddressSanitizer" sanitized asan gcc -fsanitize=address
kind asan-linked-in no "allocator of its own linked in" sanitized asan-linked-in gcc -fsanitize=address -static-libasan
kind asan-clang no "allocator of its own linked in" sanitized asan-clang clang -fsanitize=address
kind tsan yes nothing sanitized tsan gcc -fsanitize=thread
kind ubsan yes nothing sanitized ubsan gcc -fsanitize=undefined
kind lsan yes nothing sanitized lsan gcc -fsanitize=leak
kind go no "statically linked" go_program
kind script yes nothing script script dynamic
kind script-musl no "clean of another C library" script script-musl musl
kind script-script no "clean of another C library" script script-script script-musl
kind script-asan no "clean with AddressSanitizer" script script-asan asan
if [ "$(id -u)" = 0 ] && chown 65534 kinds 2>/dev/null; then
    kind privileged no "rights that they get" privileged
    kind unreadable no "rights that they get" unreadable
else
    echo "SKIP: files cannot be given to another user here"
fi

# ---- In all ways ----

# both NAME COMMAND...: alone and captured, the same.
both() {
    what=$1
    shift
    plain=0
    "$@" >plain.out 2>plain.err </dev/null || plain=$?
    status=0
    sampler-capture heap --interval 2000 -o child.fxt -- "$@" >out 2>err </dev/null || status=$?
    [ $status -eq $plain ] || fail "$what: status $status, not $plain: $(cat out err)"
    cmp -s plain.out out || fail "$what: other output: $(diff plain.out out)"
    fxtdump --verify child.fxt >damage || fail "$what: $(cat damage)"
}
processes() { # that have allocated
    heap_check child.fxt >checked 2>notices || fail "$what: $(cat notices)"
    sed -n 's/^allocating=//p' checked
}

./launch ways >list
while read -r name captured said; do
    argument=
    case $said in clean*) argument=environment said=${said#clean } ;; esac
    ways=$(cat list)
    # The rest is the same however it is started.
    case $name in dynamic | musl | asan | 32-bit | script-musl) ;; *) ways="execvp posix_spawn" ;; esac
    for way in $ways; do
        both "$name by $way" ./launch "$way" "bin/$name" $argument
        [ $status -eq 7 ] || fail "$what: status $status: $(cat err)"
        heap_check child.fxt >checked 2>notices || fail "$what: $(cat notices)"
        if [ "$way" = spawn-opened ]; then
            says "1 in a folder that only their start opens"
        elif [ "$captured" = yes ]; then
            ! grep -q "not captured" err || fail "$what: $(cat err)"
            grep -q '^allocations=[1-9][0-9][0-9]' checked || fail "$what: $(cat checked)"
        else
            says "$said"
            ! grep -q '^allocations=[1-9][0-9][0-9][0-9]' checked || fail "$what: $(cat checked)"
        fi
    done
done <kinds

# What only the loader says about the library must not be there either.
cat >all.sh <<'EOF2'
while read -r name rest; do
    "bin/$name" 2>"$name.err" >/dev/null
    [ $? -eq 7 ] || echo "$name"
done <kinds
EOF2
both "all kinds" sh all.sh
! grep -e ld.so -e fxtheap -e ASan ./*.err || fail "messages of the loader, or of a sanitizer"

# ---- Environments ----

both "an empty environment" env -i bin/dynamic
says "1 with an environment that does not name the capture's library"
both "a list of libraries" env LD_PRELOAD=libm.so.6 bin/dynamic
says "1 with an environment that does not name the capture's library"

# Beside others in the variable ours goes and the others stay.
if grep -q '^musl ' kinds; then
    # shellcheck disable=SC2016 # what is expanded is the inner shell's
    both "two libraries" sh -c 'LD_PRELOAD="libm.so.6 $LD_PRELOAD:libdl.so.2" bin/musl environment | grep LD_PRELOAD | tr -s ": " ":"'
    grep -qx 'LD_PRELOAD=libm.so.6:libdl.so.2' out || fail "two libraries: $(cat out)"
fi
# An environment that does not fit on a small stack.
cat >large.sh <<'EOF2'
i=0
while [ $i -lt 3000 ]; do
    export "v$i=$i"
    i=$((i + 1))
done
for name in dynamic musl asan; do
    [ ! -x bin/$name ] || bin/$name environment | grep -c '^v[0-9]*='
done
EOF2
both "a large environment" sh large.sh

# A program that is not there fails as it does alone, and is not counted.
both "no program" ./launch execve bin/none
both "no program to spawn" ./launch posix_spawnp none
! grep -q "not captured" err || fail "none: $(cat err)"

# Another root folder, or a user who cannot read the library: the loader would complain.
cat >"static.c" <<'EOF2'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (argc < 3 || chroot(argv[1]) != 0 || chdir("/") != 0)
        return 5;
    execv(argv[2], argv + 2);
    return 6;
}
EOF2
"$cc" -O0 -o changeroot static.c
mkdir -p root/bin root/lib root/lib64
for file in $(ldd bin/dynamic | grep -o '/[^ ]*'); do
    mkdir -p "root/$(dirname "$file")"
    cp -L "$file" "root/$file"
done
cp bin/dynamic root/bin/
if ./changeroot root /bin/dynamic >/dev/null 2>&1 || [ $? -eq 7 ]; then
    both "another root folder" ./changeroot root /bin/dynamic
    [ $status -eq 7 ] || fail "another root folder: status $status: $(cat err)"
    grep -v '^next:' err | grep -q "cannot be preloaded" && fail "another root folder: $(cat err)"
    says "not captured"
else
    echo "SKIP: the root folder cannot be changed here"
fi

# ---- As the command itself: a sentence, and nothing runs ----

for name in static musl 32-bit asan script-asan; do
    grep -q "^$name " kinds || continue
    status=0
    sampler-capture heap -o none.fxt -- "bin/$name" >out 2>err || status=$?
    [ $status -eq 125 ] || fail "$name as the command: status $status: $(cat err)"
    [ ! -s out ] || fail "$name ran"
done
says "its sanitizer's, libasan.so"
status=0
LD_PRELOAD=libasan.so.8 sampler-capture heap -o none.fxt -- true >out 2>err || status=$?
if [ $status -eq 125 ]; then
    says "libasan.so.8 in LD_PRELOAD wants to be the first library"
fi

# ---- From a program that is not captured ----

# A static one hands the environment on: programs of another C library run there too, with the library, which does nothing.
if grep -q '^musl ' kinds; then
    "$cc" -D_GNU_SOURCE -static -O0 -o launch-static "$ROOT/testdata/capture/launch.c" 2>made || fail "launch-static: $(cat made)"
    for name in dynamic musl; do
        both "$name from a static one" sh -c "./launch-static execve bin/$name"
        [ $status -eq 7 ] || fail "$what: status $status: $(cat err)"
    done
    says "1 statically linked, 1 of another C library"
fi
