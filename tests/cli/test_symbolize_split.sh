#!/bin/sh
# Debug information in companion files, .dwo, .dwp and dwz supplements: the answers for every byte of the code are those of a
# program that holds it all itself, for neither changes the code.
set -eu
. "$ROOT/tests/cli/addresses.sh"

data=$ROOT/testdata/symbolize
cd "$WORK"
cp "$data"/*.c "$data"/*.cc "$data"/*.h .
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# Builds plain and split from the same SOURCES.
build() { # build COMPILER "FLAGS" SOURCE...
    compiler=$1
    flags=$2
    shift 2
    rm -rf ./*.o ./*.dwo ./*.dwp plain split
    for source; do
        # shellcheck disable=SC2086 # a list of flags
        "$compiler" -O2 $flags -c -o "${source%.*}.plain.o" "$source"
        # shellcheck disable=SC2086
        "$compiler" -O2 $flags -gsplit-dwarf -c -o "${source%.*}.o" "$source"
    done
    "$compiler" -nostartfiles -Wl,-e,main -o plain ./*.plain.o
    rm ./*.plain.o
    "$compiler" -nostartfiles -Wl,-e,main -o split ./*.o
    text_addresses plain 1 >addresses
    text_addresses split 1 | cmp addresses - || fail "$compiler $flags: -gsplit-dwarf changes the code"
    symbolize_cli -l plain <addresses >want
}

check() { # check NAME
    symbolize_cli -l split <addresses >got
    cmp want got || fail "$1: other answers"
    checked=$((checked + 1))
}

checked=0
packages=0
for version in 4 5; do
    for compiler in gcc clang g++ clang++; do
        case $compiler in
        *++) sources='main.cc shapes.cc' ;;
        *) sources='inlines.c main.c' ;;
        esac
        # shellcheck disable=SC2086 # a list of files
        build $compiler "-gdwarf-$version -ffunction-sections" $sources
        check "$compiler -gdwarf-$version .dwo"
        # Binutils' dwp 2.40 knows DWARF 4 alone; llvm-dwp 14 does not end on GCC's DWARF 5 of C.
        case $version-$compiler in
        4-*) packager=dwp ;;
        5-gcc) continue ;;
        *) packager=llvm-dwp ;;
        esac
        $packager -o split.dwp ./*.dwo
        rm ./*.dwo
        check "$compiler -gdwarf-$version $packager"
        packages=$((packages + 1))
    done
done
[ $packages = 7 ] || fail "$packages packages were made"

# ---- What is missing, said once, and symbols in its place ----

build gcc -g inlines.c main.c
rm inlines.dwo main.dwo
symbolize_cli split "$(nm split | sed -n 's/ T run$//p')" >got
grep -q '^run$' got || fail "no symbol where .dwo files are missing"
grep -q 'inlines.c:' got || fail "no line where .dwo files are missing"
build gcc -g inlines.c main.c
cp main.dwo inlines.dwo # of another unit
symbolize_cli split "$(nm split | sed -n 's/ T run$//p')" >got
grep -q '^run$' got || fail "no symbol where a .dwo file is another one's"

# ---- Companions that the user names ----

same_frames() { # same_frames "HOW" OPTION...: of the program, whose .dwo files are away
    how=$1
    shift
    fxtsym --no-cache "$@" -ife split <addresses >got 2>err || fail "$how: $(cat err)"
    cmp -s want got || fail "$how: other answers; $(cat err)"
}
build gcc -gdwarf-4 inlines.c main.c
fxtsym --no-cache -ife split <addresses >want
dwp -o other-name ./*.dwo
g++ -gdwarf-4 -gsplit-dwarf -nostartfiles -Wl,-e,main -o stranger main.cc shapes.cc
dwp -e stranger -o stranger.package
rm -f stranger-*.dwo
mkdir away
mv inlines.dwo main.dwo away
same_frames "named .dwo files" --symbols away/main.dwo --symbols away/inlines.dwo
same_frames "a folder of .dwo files" --symbols away
same_frames "a named package" --symbols other-name
mv other-name program.dwp
same_frames "the right one of two packages" --symbols stranger.package --symbols program.dwp
fxtsym --no-cache --symbols stranger.package --explain split >got
grep -q 'refused *split-units *stranger.package: the package has none of its units' got || fail "another program's package: $(cat got)"
grep -q 'skipped *symbol-path *stranger.package: split units' got || fail "a package is no file of names: $(cat got)"
grep -q 'quality *dwarf' got || fail "lines are there without .dwo files: $(cat got)"
rm -r away

# ---- dwz: names of functions in a supplement ----

g++ -O2 -g -nostartfiles -Wl,-e,main -Wl,--build-id -o one main.cc shapes.cc
g++ -O1 -g -nostartfiles -Wl,-e,main -Wl,--build-id -o two main.cc shapes.cc
text_addresses one 1 >addresses
symbolize_cli -l one <addresses >want
cp one packed
cp two packed2
dwz -m common.debug packed packed2
readelf --debug-dump=info packed | grep -q 'alt' || fail "dwz moved nothing"
symbolize_cli -l packed <addresses >got
cmp want got || fail "dwz supplement: other answers"
cp one single
dwz single
symbolize_cli -l single <addresses >got
cmp want got || fail "dwz partial units: other answers"
rm common.debug
symbolize_cli -l packed <addresses >got || fail "a missing supplement"
grep -q 'shapes' got || fail "no lines where a supplement is missing"

echo "$checked programs with split units, $packages of them packaged, 2 after dwz: the same answers"
exit $failed
