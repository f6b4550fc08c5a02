#!/bin/sh
# fxtsym in the place of addr2line and llvm-symbolizer: their options, their requests, their names as links.  A row is a command line;
# where the other program is installed, its output has to be the same.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
cat >program.c <<'END'
int table[4] = { 1, 2, 3, 4 };
static inline __attribute__((always_inline)) int inner(int x) { return x * table[x & 3]; }
__attribute__((noinline)) int outer(int x)
{
    return inner(x) + 1;
}
int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc);
}
END
cat >program.cc <<'END'
namespace shapes {
struct square {
    int side;
    __attribute__((noinline)) int area(int scale) const { return side * side * scale; }
};
template <class T> __attribute__((noinline)) int twice(T shape) { return 2 * shape.area(3); }
namespace {
__attribute__((noinline)) int hidden(int x) { return x + 1; }
} // namespace
} // namespace shapes
int main(int argc, char **) { return shapes::twice(shapes::square{ argc }) + shapes::hidden(argc); }
END
gcc -O1 -g -o program program.c
g++ -O1 -g -o program.cxx program.cc
cp program a.out
outer=$(nm program | awk '$3 == "outer" { print $1 }')
text=$(readelf -SW program | awk '$2 == ".text" { print $4 } $3 == ".text" { print $5 }')
inside=$(printf '%x' $((0x$outer - 0x$text)))
area=$(nm program.cxx | awk '/4area/ { print $1 }')
table=$(nm program | awk '$3 == "table" { print $1 }')
mkdir links
for name in addr2line x86_64-linux-gnu-addr2line llvm-symbolizer llvm-symbolizer-19 llvm-addr2line; do
    ln -s "$(command -v fxtsym)" links/$name
done
printf -- '-e program\n"-f" -i\n%s' "0x$outer" >arguments

# ---- addr2line ----

same() { # same PROGRAM ARGUMENT...: the link of that name answers as the program does, with its status
    program=$1
    shift
    expected_status=0
    "$program" "$@" >expected 2>/dev/null <requests || expected_status=$?
    status=0
    "links/$program" "$@" >out 2>err <requests || status=$?
    if [ $status != $expected_status ] || ! cmp -s out expected; then
        fail "$program $*: status $status, not $expected_status, or another answer"
        diff expected out || :
        cat err
    fi
}
: >requests
if addr2line --version 2>/dev/null | grep -q 'Binutils.* 2\.\(4[0-9]\|[5-9]\)'; then
    while read -r arguments; do
        # shellcheck disable=SC2086 # a row is a command line
        same addr2line $arguments
    done <<END
-e program -f -i $outer
-fie program $outer
-iCfe program.cxx $area
-apfie program 0x$outer
--exe=program --functions --inlines --addresses --pretty-print --basenames $outer
-e program -j .text -f $inside 0
-e program --section=.text -fs $inside
-f -e program outer main outer+1 outer+0x1 main+2 nosuch
-b elf64-x86-64 -fe program $outer
--target=default -fe program $outer
-rCfe program.cxx $area
-RfCe program.cxx $area
-f --demangle -e program.cxx $area
-f --demangle=auto -e program.cxx $area
-f --demangle=gnu-v3 -e program.cxx $area
-f --demangle=none -e program.cxx $area
-f @arguments
-fie program @nothing
-e missing 1
-e . 1
-f $outer
END
    printf '%s\n' "$outer" "0x$outer" outer outer+1 'outer+0x2 more' 'main  + 1' '' nosuch >requests
    same addr2line -afie program
    same x86_64-linux-gnu-addr2line -afie program
else
    echo 'SKIP: addr2line of GNU binutils 2.40 or later is not here'
fi

run 4 fxtsym -j .nosuch -e program 0
says 'program: no section .nosuch that is loaded'
run 2 fxtsym -b pei-x86-64 -e program 0
says 'is not the name of an ELF format'
run 2 fxtsym --demangle=java -e program 0
run 0 fxtsym -f --demangle=rust -e program.cxx "$area"
prints _ZNK6shapes6square4areaEi
run 0 fxtsym -V
prints fxtsym
run 0 fxtsym -H
prints Usage

# What AddressSanitizer starts, and how it asks: a line for each module, until the answer that ends others.
printf '0x%s\n0xffffffffffffffff\n' "$outer" | links/addr2line -iCfe program >out
[ "$(tail -n 2 out)" = '??
??:0' ] || fail 'the end of an answer'
for options in '--demangle --inlines --default-arch=x86_64' '--no-demangle --no-inlines' '--inlining=true --demangle=false' \
    '-inlining -obj=program'; do
    # shellcheck disable=SC2086
    case $options in
    *obj*) printf '0x%s\n' "$outer" ;;
    *) printf 'CODE "program" 0x%s\n' "$outer" ;;
    esac | links/llvm-symbolizer $options >out
    grep -q 'program.c:2' out || fail "llvm-symbolizer $options"
done

# ---- llvm-symbolizer ----

asks() { # asks PROGRAM EXPECTED ARGUMENT...: answered so, with status 0
    program=$1
    expected=$2
    shift 2
    status=0
    "links/$program" "$@" >out 2>err </dev/null || status=$?
    if [ $status != 0 ] || [ "$(cat out)" != "$expected" ]; then
        fail "$program $*: status $status"
        cat out err
    fi
}
unknown='??
??:0:0'
inner_place=$(fxtsym --style llvm -se program "0x$outer") # columns are the compiler's
first=$(fxtsym --style llvm -s --no-inlines -e program "0x$outer")
case $inner_place in
inner*outer*) ;;
*) fail "nothing inlined: $inner_place" ;;
esac
asks llvm-symbolizer "$inner_place" -s "CODE program 0x$outer"
asks llvm-symbolizer-19 "$inner_place" -s "FILE:program 0x$outer"
asks llvm-symbolizer "$inner_place" -s "CODE FILE:\"program\" 0x$outer"
asks llvm-symbolizer "$first" -s 'program outer'
asks llvm-symbolizer "$first" -s -e program outer+0
asks llvm-symbolizer "$first" -s -e=program 'outer ignored'
asks llvm-symbolizer "$unknown" -e program 'outer+zz'
asks llvm-symbolizer "$unknown" -e program nosuch
asks llvm-symbolizer "$unknown" -e program 0x10000000000000000
asks llvm-symbolizer "$unknown" 'nosuch 400'
says "llvm-symbolizer: error: 'nosuch': No such file or directory"
while IFS='|' read -r request reason; do
    asks llvm-symbolizer "$unknown" "$request"
    says "llvm-symbolizer: error: '$request': $reason"
done <<'END'
foo|no module offset has been specified
FILE:|must be followed by an input file
BUILDID:|must be followed by a hash
BUILDID: foo|wrong format of build-id
FILE:"foo|unbalanced quotes in input file name
FILE:FILE:program 0|duplicate input file specification prefix
CODE BUILDID:FILE:00 0|duplicate input file specification prefix
program 9x|expected a number as module offset
END
asks llvm-symbolizer "$unknown" -e program "FILE:program 0x$outer"
says 'input file has already been specified'
asks llvm-symbolizer "table
$((0x$table)) 16
program.c:1" -s -e program "DATA $((0x$table + 5))"
asks llvm-symbolizer "outer
$((0x$outer)) $(readelf -sW program | awk '$8 == "outer" { print $3; exit }')
??:?" "DATA program 0x$outer"
asks llvm-symbolizer '??
0 0
??:?' 'DATA program 0x1'
asks llvm-symbolizer 'area
program.cc:4' -s -f=short --output-style=GNU --obj=program.cxx "0x$area"
asks llvm-symbolizer 'program.cc:4' -s --functions=none --output-style=GNU --obj=program.cxx "0x$area"
asks llvm-addr2line 'program.c:2' -s -e program "$outer"
asks llvm-addr2line '0x1f
??:0' -a -e program 1f
asks llvm-symbolizer "$(printf '0x%x' $((0x$outer + 256)))
$inner_place" -sa --adjust-vma=0x100 -e program $((0x$outer + 256))
LLVM_SYMBOLIZER_OPTS='--obj=program -s' asks llvm-symbolizer "$inner_place" "0x$outer"
printf '.globl by_hand\n.type by_hand, @function\nby_hand:\n\tnop\n.size by_hand, . - by_hand\n' >hand.s
gcc -g -c hand.s
asks llvm-symbolizer 'by_hand
hand.s:4
3  : by_hand:
4 >: 	nop
5  : .size by_hand, . - by_hand' --output-style=GNU --print-source-context-lines=3 --exe=hand.o -s by_hand
# Sources that are not here have no lines to show.
mv hand.s elsewhere.s
asks llvm-symbolizer 'by_hand
hand.s:4:0' --print-source-context-lines=3 --exe=hand.o -s by_hand
mkfifo hand.s # nobody writes: it must not be waited for
run 0 links/llvm-symbolizer --print-source-context-lines=3 --exe=hand.o -s by_hand
prints 'hand.s:4:0'
rm hand.s
for link in llvm-symbolizer llvm-addr2line; do
    status=0
    links/$link -e missing 0x12 >out 2>err || status=$?
    [ $status = 1 ] || fail "$link of a missing file: status $status"
    says "$link: error: 'missing': No such file or directory"
    status=0
    links/$link -e . 0x12 >out 2>err || status=$?
    [ $status = 1 ] || fail "$link of a folder: status $status"
    says "'.': Is a directory"
done

# Words in files: quotes, files that name files, one that names itself, and one that is missing, which is an address.
printf '%s\n' "-e 'program'" '@others' >words
printf '%s' '"-s" -f' >others
run 0 fxtsym @words "$outer"
prints inner
printf '@circle @circle' >circle
run 2 fxtsym @circle
says 'too many words in files'
run 3 fxtsym -e program @missing
says "'@missing'"
finish
