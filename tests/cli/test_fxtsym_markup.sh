#!/bin/sh
# fxtsym --markup: a log with every element becomes the golden text; everything else goes through byte for byte, at once, and in
# bounded memory.
set -eu
. "$ROOT/tests/cli/common.sh"

data=$ROOT/testdata/symbolize
cd "$WORK"

# Where the compiler puts functions is its own business: @A-NAME@ stands for the address in the process, @P-NAME@ for the same as it is
# printed, @V-NAME@ for that in the object; @B-, @Q- and @W- for those of the byte behind.
id=0123456789abcdef
object=tree/.build-id/01/${id#01}.debug
mkdir -p tree/.build-id/01
gcc -O1 -g -fPIC -shared -nostdlib -o "$object" -Wl,--build-id=0x$id "$data/markup.c"
nm "$object" | while read -r vaddr _ name; do
    for letters in APV BQW; do
        printf 's/@%s-%s@/0x%x/g\ns/@%s-%s@/0x%016x/g\ns/@%s-%s@/0x%x/g\n' "${letters%??}" "$name" $((0x70000000 + 0x$vaddr)) \
            "$(echo $letters | cut -c2)" "$name" $((0x70000000 + 0x$vaddr)) "${letters#??}" "$name" $((0x$vaddr))
        vaddr=$(printf %x $((0x$vaddr + 1)))
    done
done >addresses.sed
sed -f addresses.sed "$data/markup.log" >log
sed -f addresses.sed "$data/markup.txt" >expected
sed -f addresses.sed "$data/markup.err" >expected.err

status=0
fxtsym --markup --symbols tree --strip-prefix "$data" <log >out 2>err || status=$?
[ $status -eq 3 ] || fail "status $status: the log has elements that are wrong"
cmp -s out expected || {
    fail 'the log is not as it should be:'
    diff expected out || :
}
cmp -s err expected.err || {
    fail 'the warnings are not as they should be:'
    diff expected.err err || :
}
# The same whatever pieces it comes in.
dd if=log bs=3 2>/dev/null | fxtsym --markup --symbols tree --strip-prefix "$data" >pieces 2>err || :
cmp pieces expected || fail 'it matters how the log arrives'

# ---- What is no markup ----

head -c 3000000 "$(command -v fxtsym)" | sed 's/{{{/{{ {/g' >bytes
fxtsym --markup <bytes >copy
cmp copy bytes || fail 'bytes that are no markup are changed'
printf 'no end of line' | fxtsym --markup >out
[ "$(cat out)" = 'no end of line' ] || fail 'a last line without an end'

# An endless line passes, in as much memory as before.
{
    printf '{{{pc:0x1}}}'
    head -c 200000000 /dev/zero
    printf '\n{{{symbol:_Z3foov}}}\n'
} | prlimit --as=200000000 fxtsym --markup | tail -n 1 >out
[ "$(cat out)" = 'foo()' ] || fail 'behind an endless line'

# ---- As it comes ----

mkfifo in out.fifo
timeout 400 fxtsym --markup <in >out.fifo &
exec 3>in 4<out.fifo
for i in 1 2 3; do
    echo "line $i {{{symbol:_Z3foov}}}" >&3
    read -r line <&4 # or the time limit ends it
    [ "$line" = "line $i foo()" ] || fail "line $i came as '$line'"
done
exec 3>&- 4<&-
wait
finish
