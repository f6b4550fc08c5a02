#!/bin/sh
# Inline functions that several units have: the linker keeps one copy, and GNU ld and gold point the debug information of the others at
# it.  Every byte of the code has the names and lines of the unit whose copy was kept, as in llvm-symbolizer and addr2line.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/addresses.sh"

cp "$ROOT"/testdata/symbolize/comdat* "$WORK"
cd "$WORK"

# Builds object and checks it.
check() { # check COMPILER LINKER FLAGS...
    compiler=$1
    linker=$2
    shift 2
    name="$compiler $linker $*"
    "$compiler" "$@" -c comdat1.cc
    "$compiler" "$@" -c comdat2.cc
    "$compiler" "$@" -fuse-ld="$linker" -nostartfiles -Wl,-e,main -o object comdat1.o comdat2.o 2>build.log || {
        cat build.log
        fail "$name: cannot be built"
        return
    }
    [ -z "${without:-}" ] || objcopy --remove-section="$without" object
    text_addresses object 1 >addresses
    nm object >symbols
    symbolize_cli -l object <addresses >ours
    sed 's/^/0x/' addresses | llvm-symbolizer --no-demangle -e object >llvm
    awk -f "$ROOT/tests/tools/symbolize_compare.awk" -v addresses=addresses -v symbols=symbols -v name="$name" -v other=llvm ours llvm ||
        fail "$name: other answers than llvm-symbolizer's"
    # addr2line has no line where there is none, fxtsym the one before; of DWARF 5 it may take file 1 for another (tests/differences).
    fxtsym -e object <addresses >ours
    addr2line -e object <addresses | sed 's/ (discriminator [0-9]*)$//' |
        awk '{ sub(/\/\.\/comdat/, "/comdat"); sub(/comdat[12]\.cc:/, "comdat.h:") }
             NR == FNR { ours[FNR] = $0; next } /:[?0]$/ { next } $0 != ours[FNR] { print FNR ": " ours[FNR] ", " $0 }' ours - >difference
    [ ! -s difference ] || {
        head -6 difference
        fail "$name: other lines than addr2line's"
    }
    # The copies that were kept are the first unit's, whose lines are below 1000.
    readelf -sW object | awk '$4 == "FUNC" && $8 !~ /\./ && $8 ~ /climbI[is]|walker(2go|5where)/ { print $2 }' >kept
    [ "$(wc -l <kept)" -eq 4 ] || fail "$name: $(wc -l <kept) functions of both units"
    fxtsym -e object -i <kept >lines
    ! grep -q ':1[0-9][0-9][0-9]$' lines || fail "$name: lines of a copy that was dropped: $(grep -m 1 ':1[0-9][0-9][0-9]$' lines)"
}

for linker in bfd gold lld; do
    for version in 4 5; do
        check g++ "$linker" -gdwarf-$version -O2 # GCC writes .debug_aranges
        check clang++ "$linker" -gdwarf-$version -O2 # Clang does not
        [ "$linker" = lld ] && continue # marks discarded copies
        check g++ "$linker" -gdwarf-$version -O0
        without=.debug_aranges check g++ "$linker" -gdwarf-$version -O2
        check clang++ "$linker" -gdwarf-$version -O2 -gdwarf-aranges
        check clang++ "$linker" -gdwarf-$version -O2 -ffunction-sections
    done
done
finish
