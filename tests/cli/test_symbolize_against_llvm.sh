#!/bin/sh
# Every byte of .text of programs built in many ways: the same depth, functions and lines as llvm-symbolizer, and on a sample
# as addr2line.  Differences must be of the classes in tests/differences.
set -eu
. "$ROOT/tests/cli/addresses.sh"

data=$ROOT/testdata/symbolize
compare=$ROOT/tests/tools/symbolize_compare.awk
cd "$WORK"
failed=0

against_llvm() { # against_llvm OBJECT NAME
    text_addresses "$1" 1 >addresses
    nm "$1" >symbols
    symbolize_cli -l "$1" <addresses >ours
    sed 's/^/0x/' addresses | llvm-symbolizer --no-demangle -e "$1" >theirs
    awk -f "$compare" -v addresses=addresses -v symbols=symbols -v name="llvm $2" -v other=llvm ours theirs >figure || failed=1
    tee -a figures <figure
}

# addr2line has no blocks, no columns, and adds discriminators.
against_addr2line() { # against_addr2line OBJECT NAME
    text_addresses "$1" 7 >addresses
    symbolize_cli "$1" <addresses | sed 's/:[0-9]*$//; s/:0$/:?/' >ours
    addr2line -a -i -f -C -e "$1" <addresses |
        awk '/^0x[0-9a-f]*$/ { if (NR > 1) print ""; next } { sub(/ \(discriminator [0-9]+\)$/, ""); sub(/:0$/, ":?"); print }' >theirs
    awk -f "$compare" -v addresses=addresses -v name="addr2line $2" -v other=addr2line -v dwarf5="$dwarf5" ours theirs >figure || failed=1
    tee -a figures <figure
}

compiled() { # compiled COMPILER LANGUAGE FLAGS...: into object files, which objects names
    compiler=$1
    case $2 in
    c) sources="inlines.c main.c" ;;
    c++) sources="main.cc shapes.cc" ;;
    esac
    name="$1 $2"
    shift 2
    flags=$*
    dwarf5=1
    case $flags in *-gdwarf-4*) dwarf5=0 ;; esac
    objects=
    for source in $sources; do
        "$compiler" "$@" -c -o "$source.o" "$data/$source" 2>build.log || { cat build.log; exit 1; }
        objects="$objects $source.o"
    done
}

linked() { # linked FLAGS...: from what was compiled, and compared
    # shellcheck disable=SC2086 # lists of flags and files
    "$compiler" $flags "$@" -nostartfiles -Wl,-e,main -o object $objects 2>build.log || { cat build.log; exit 1; }
    against_llvm object "$name $flags $*"
    against_addr2line object "$name $flags $*"
}

both() { # both COMPILER LANGUAGE FLAGS...
    compiled "$@"
    linked
}

for version in 4 5; do
    for cc in gcc clang; do
        compiled $cc c -O2 -gdwarf-$version -fPIE
        linked -pie
        compiled $cc c -O2 -gdwarf-$version -fno-pie
        linked -no-pie
        compiled $cc c -O2 -gdwarf-$version -fPIC
        objects=inlines.c.o
        linked -shared
    done
    for cxx in g++ clang++; do
        # Code of a library is good for a program, too.
        compiled $cxx c++ -O2 -gdwarf-$version -fPIC
        linked -pie
        linked -shared
        both $cxx c++ -O0 -gdwarf-$version
    done
done
both gcc c -O0 -g
both gcc c -O2 -g -gz=zlib
both gcc c -O2 -g -ffunction-sections -Wl,--gc-sections
both g++ c++ -O3 -g -ffunction-sections -Wl,--gc-sections -gz=zlib
both g++ c++ -O2 -g -flto
both clang++ c++ -O2 -g -ffunction-sections -Wl,--gc-sections

awk '/^(llvm|addr2line) .* addresses, / { match($0, /: [0-9]+ addresses, [0-9]+ /); split(substr($0, RSTART), n, /[ ,]+/)
       all[$1] += n[2]; same[$1] += n[4]; left[$1] += $NF }
     END { for (o in all) printf "%s: %d addresses, %.2f %% identical, %d unexplained, the rest as in tests/differences\n",
                                 o, all[o], 100 * same[o] / all[o], left[o] }' figures
exit $failed
