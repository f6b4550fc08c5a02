#!/bin/sh
# More text than is kept of answers, 32 MiB: later answers are kept as frames and print the same, in any order, style and mix.
set -eu
. "$ROOT/tests/cli/common.sh"

count=12000
cd "$WORK"
# One instruction a line, in a file with a name of 4000 bytes; what is inlined nowhere has one frame.
file=/$(head -c 4000 /dev/zero | tr '\0' f)
awk -v count=$count -v file="$file" 'BEGIN {
    print ".text\n.globl main\n.type main, @function\nmain:\n.file 1 \"" file "\""
    for (i = 1; i <= count; i++)
        printf ".loc 1 %d\nnop\n", i
    print ".size main, .-main"
}' >lines.s
gcc -g -nostdlib -Wl,-Ttext=0x10000 -no-pie -o lines lines.s
gcc -g -nostdlib -Wl,-Ttext=0x10000,-e,main -no-pie -x c -o other - <<'END'
int main(void) { return 0; }
END

# Every line twice, in an order that is none.
awk -v count=$count 'BEGIN { for (i = 0; i < 2 * count; i++) print i * 7919 % count }' >order
awk '{ printf "0x%x\n", 65536 + $1 }' order >addresses
awk -v file="$file" '{ print "main"; print file ":" $1 + 1 }' order | cksum >expected
fxtsym --no-cache -fe lines <addresses | cksum >ours
cmp ours expected || fail 'addr2line style'
awk -v file="$file" '{ printf "0x%016x\nmain\n%s:%d\n", 65536 + $1, file, $1 + 1 }' order | cksum >expected
fxtsym --no-cache -afe lines <addresses | cksum >ours
cmp ours expected || fail 'with addresses'
awk -v file="$file" '{ printf "main\n%s:%d:0\n\n", file, $1 + 1 }' order | cksum >expected
fxtsym --no-cache --style llvm -e lines <addresses | cksum >ours
cmp ours expected || fail 'llvm style'
awk 'NR % 3 == 0 { print "other 0x10000" } NR % 1000 == 0 { print "nothing" } { print "lines", $0 }' addresses >mixed
fxtsym --no-cache --style llvm -e other 0x10000 >other.answer
awk -v file="$file" 'BEGIN { while ((getline line < "other.answer") > 0) other = other line "\n" }
    NR % 3 == 0 { printf "%s", other } NR % 1000 == 0 { print "??\n??:0:0\n" }
    { printf "main\n%s:%d:0\n\n", file, $1 + 1 }' order | cksum >expected
fxtsym --no-cache --style llvm <mixed 2>err | cksum >ours
says "'nothing': no module offset has been specified"
cmp ours expected || fail 'two objects that take turns'
# With the cache, in which answers have numbers.
for visit in first second third; do
    fxtsym -s --strip-prefix / -fe lines <addresses | cksum >ours
    awk -v file="${file#/}" '{ print "main"; print file ":" $1 + 1 }' order | cksum >expected
    cmp ours expected || fail "the $visit visit with a cache"
done
finish
