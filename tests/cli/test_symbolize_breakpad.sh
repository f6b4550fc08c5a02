#!/bin/sh
# Breakpad symbol files: a stripped program has the functions, inlined frames, files and lines that its debug information gives, for every
# byte of its code; the file is found by the build ID, or by what stands in for one.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/addresses.sh"

cd "$WORK"
cp "$ROOT"/testdata/symbolize/inlines.* "$ROOT/testdata/symbolize/main.c" .
build() { # build NAME FLAG...: NAME, NAME.stripped, the answers NAME.expected for the bytes of its functions, and symbols/NAME.sym
    name=$1
    shift
    gcc -g -O2 "$@" -o "$name" inlines.c main.c
    strip -s -o "$name.stripped" "$name"
    mkdir -p symbols
    # Padding between functions has a line in debug information; a symbol file has lines of functions alone.
    text_addresses "$name" 1 | fxtsym --no-cache --json -ie "$name" | grep -v '"function":""' >"$name.answers"
    python3 "$ROOT/tests/tools/breakpad.py" "$name" Linux "$name.stripped" <"$name.answers" >"symbols/$name.sym"
    sed 's/.*"address":"\([^"]*\)".*/\1/' "$name.answers" >"$name.addresses"
    fxtsym --no-cache -ifae "$name" <"$name.addresses" >"$name.expected"
}
same() { # same NAME OPTION...: the answers with these options are the expected ones
    name=$1
    shift
    fxtsym -ifa "$@" <"$name.addresses" >ours 2>err || fail "$name $*: $(cat err)"
    cmp "$name.expected" ours || fail "$name $*"
}

build pie
grep -q '^INLINE 1 ' symbols/pie.sym || fail 'no inlined calls two deep in the input'
build fixed -no-pie
build nameless -Wl,--build-id=none
build short -Wl,--build-id=0x0102030405060708
for name in pie fixed short; do
    same "$name" --no-cache -e "$name.stripped" --symbols "symbols/$name.sym"
    [ ! -s err ] || fail "$name: $(cat err)"
    same "$name" --no-cache -e "$name.stripped" --symbols symbols
    # The id of the MODULE record alone.
    grep -v '^INFO' "symbols/$name.sym" >partial.sym
    same "$name" --no-cache -e "$name.stripped" --symbols partial.sym
    # Lines that end as in Windows.
    sed 's/$/\r/' "symbols/$name.sym" >crlf.sym
    same "$name" --no-cache -e "$name.stripped" --symbols crlf.sym
    # In the cache from the second visit on.
    same "$name" -e "$name.stripped" --symbols symbols
    same "$name" -e "$name.stripped" --symbols symbols
    same "$name" -e "$name.stripped" --symbols symbols
done
# Without a build ID the program's first page of code tells that the file belongs to it.
same nameless --no-cache -e nameless.stripped --symbols symbols/nameless.sym

# The layout of a symbol server, and no program: addresses count from 0, which is said.
id=$(readelf -nW pie | sed -n 's/.*Build ID: //p')
guid=$(awk 'NR == 1 { print $4 }' symbols/pie.sym)
mkdir -p server/pie.stripped/"$guid"
cp symbols/pie.sym server/pie.stripped/"$guid"/pie.stripped.sym
same pie --no-cache --build-id "$id" --symbols server
grep -q 'its load address is assumed to be 0' err || fail "no word about the load address: $(cat err)"
same pie --no-cache -e symbols/pie.sym # as an object of its own

# Debug information is better, and symbols complete the file.
same pie --no-cache -e pie --symbols symbols
fxtsym --explain pie --symbols symbols | grep -q 'debug information' || fail 'debug information is not used'
fxtsym --explain pie.stripped --symbols symbols >explained || fail 'explain'
grep -q 'used .*symbols/pie.sym: for functions, files and lines' explained || fail "explain: $(cat explained)"
fxtsym --json --explain pie.stripped --symbols symbols | grep -q '"breakpad":true' || fail 'explain --json'

# Another build's file is not used.
fxtsym --no-cache -fe pie.stripped --symbols symbols/fixed.sym 0x1139 >ours 2>err || :
printf '??\n??:0\n' | cmp - ours || fail 'names of another build'
fxtsym --explain pie.stripped --symbols symbols/fixed.sym >explained || :
grep -q 'fixed.sym: the file has build ID' explained || fail "the other build is not named: $(cat explained)"
# Those of other systems are named as what they are.
sed '1s/Linux/windows/' symbols/pie.sym >windows.sym
fxtsym --explain pie.stripped --symbols windows.sym >explained || :
grep -q 'windows.sym: a Breakpad symbol file of a PE/COFF object' explained || fail "windows: $(cat explained)"
finish
