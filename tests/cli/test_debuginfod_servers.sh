#!/bin/sh
# debuginfod servers of other kinds than debuginfod: a tree of files without sections, one that sends another build, and those that fail or
# hang.  What they do not give is said truly, and none is waited for twice.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/wait.sh"

if ! fxtsym --version | grep -q '[^o] libdebuginfod'; then
    echo 'SKIP: libdebuginfod is not here'
    exit 0
fi

cd "$WORK"
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH DEBUGINFOD_RETRY_LIMIT DEBUGINFOD_TIMEOUT
HOME=$WORK/home
export HOME
mkdir home
cat >program.c <<'END'
static int inner(int x) { return x * x; }
__attribute__((noinline)) static int outer(int x)
{
    return inner(x) + 1;
}
int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc);
}
END
cat >assembler.s <<'END'
.text
.globl by_hand
.type by_hand, @function
by_hand: nop
nop
.size by_hand, .-by_hand
.section .note.GNU-stack, "", @progbits
END
number=0
for name in one two three four; do
    number=$((number + 1))
    id=0102030405060708090a0b0c0d0e0f0$number
    gcc -O1 -g -Wl,--build-id=0x"$id" -o $name.full program.c assembler.s
    mkdir -p tree/buildid/"$id"
    objcopy --only-keep-debug $name.full tree/buildid/"$id"/debuginfo
    strip -o $name $name.full
done
outer=$(nm one.full | awk '$3 == "outer" { print $1 }')
by_hand=$(nm one.full | awk '$3 == "by_hand" { print $1 }')

server=
stop() {
    [ -z "$server" ] || kill "$server"
    wait
    server=
}
trap stop EXIT
start() { # start MODE
    stop
    : >log
    mkfifo port.pipe
    python3 "$ROOT/tests/tools/debuginfod_server.py" "$1" tree log >port.pipe &
    server=$!
    read -r port <port.pipe
    rm port.pipe
    DEBUGINFOD_URLS=http://127.0.0.1:$port
    DEBUGINFOD_CACHE_PATH=$WORK/cache.$1
    export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
}

start files
run 0 fxtsym --no-cache -fe one "$outer"
says 'no symbols'
says 'ask the servers of DEBUGINFOD_URLS (--debuginfod), or install the package'
[ ! -s log ] || fail 'a server was asked without leave'
run 0 fxtsym --no-cache --debuginfod -sife one "$outer" "$by_hand"
[ "$(cat out)" = 'inner
program.c:1
outer
program.c:4
by_hand
assembler.s:4' ] || {
    fail 'a tree of files'
    cat out err log
}
grep -q '/debuginfo$' log || fail 'the whole file was not asked for'

start sections
# by_hand has no debug information here: its name is in .symtab.
gcc -O1 -g -c program.c
gcc -c assembler.s
gcc -Wl,--build-id=0x0102030405060708 -o mixed.full program.o assembler.o
mkdir tree/buildid/0102030405060708
objcopy --only-keep-debug mixed.full tree/buildid/0102030405060708/debuginfo
strip -o mixed mixed.full
by_hand=$(nm mixed.full | awk '$3 == "by_hand" { print $1 }')
run 0 fxtsym --no-cache --debuginfod -sfe mixed "$by_hand"
[ "$(cat out)" = 'by_hand
??:?' ] || {
    fail 'a function that only .symtab names'
    cat out err log
}
! grep -q '/debuginfo$' log || fail 'the whole file was asked for'
run 0 fxtsym --no-cache -sfe mixed "$by_hand" # without leave: from the cache
prints by_hand

# A server that sends another build is refused, sections as files.
rm -r tree/buildid/0102030405060708
for name in two three four; do
    rm -r tree/buildid/"$(readelf -n $name.full | sed -n 's/.*Build ID: //p')"
done
start other
run 0 fxtsym --no-cache --debuginfod -fe two "$outer"
prints '??'
says 'the file has build ID'
grep -q '/section/.debug_info$' log || fail "another build: no section was asked for: $(cat log)"
! grep -q '/debuginfo$' log || fail "another build: it is the file that was refused: $(cat log)"
# What was fetched is in the cache, and refused there, too.
run 0 fxtsym --no-cache -fe two "$outer"
prints '??'
says 'the file has build ID'
# Without the section that shows it no other section is taken.
start unmarked
run 0 fxtsym --no-cache --debuginfod -fe two "$outer"
prints '??'
says 'the file has build ID'
! grep -q '/section/.debug_info$' log || fail "a section of an unknown build: $(cat log)"

# One that fails.
start error
run 0 fxtsym --no-cache --debuginfod -fe two "$outer"
says 'install the package'
[ "$(grep -c . log)" -gt 0 ] || fail 'a server was not asked'
fxtsym --no-cache --debuginfod --explain two >out || :
prints 'the servers do not have it, or failed'

# One that hangs is waited for once, for the time that was given.
start hang
DEBUGINFOD_TIMEOUT=1
export DEBUGINFOD_TIMEOUT
printf '%s 0x1000\n' one two three four | fxtsym --no-cache --debuginfod --style llvm >out 2>err || :
wait_for grep -q . log # it may have read the request after the time was over
[ "$(grep -c . log)" -eq 1 ] || fail "a server that hangs was asked $(grep -c . log) times"
[ "$(grep -c 'debuginfod: no answer in time (DEBUGINFOD_TIMEOUT): servers are not asked again' err)" -eq 1 ] || {
    fail 'a server that hangs is not mentioned once'
    cat err
}

# One that is not there.
stop
unset DEBUGINFOD_TIMEOUT
DEBUGINFOD_CACHE_PATH=$WORK/cache.none
printf '%s 0x1000\n' one two | fxtsym --no-cache --debuginfod --style llvm >out 2>err || :
[ "$(grep -c 'debuginfod: Connection refused' err)" -eq 1 ] || {
    fail 'a server that is gone is not mentioned once'
    cat err
}
finish
