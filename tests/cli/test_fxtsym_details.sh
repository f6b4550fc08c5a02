#!/bin/sh
# What debug information says beyond function, file and line, as llvm-symbolizer prints it: --verbose, its JSON, requests FRAME and
# DATA, discriminators, files of the symbol table.  All addresses of programs built in many ways have its answers, and tables of rows
# hold on machines without it.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/addresses.sh"

data=$ROOT/testdata/symbolize
cd "$WORK"
mkdir links
for name in llvm-symbolizer llvm-addr2line addr2line; do
    ln -s "$(command -v fxtsym)" links/$name
done

# ---- As llvm-symbolizer ----

# GCC writes the file of a declaration into its abbreviations, where llvm-symbolizer does not look.
comparable() {
    sed 's/^  Function start filename: .*//; s/"StartFileName":"[^"]*"/"StartFileName":""/g' "$1"
}

same() { # same OBJECT WHAT ARGUMENT...: both programs answer the lines of requests alike
    object=$1
    what=$2
    shift 2
    links/llvm-symbolizer -e "$object" "$@" <requests >ours 2>/dev/null
    llvm-symbolizer -e "$object" "$@" <requests >theirs
    comparable ours >ours.compared
    comparable theirs >theirs.compared
    if ! cmp -s ours.compared theirs.compared; then
        fail "$what: $*"
        diff ours.compared theirs.compared | head -n 20 || :
    fi
}

if command -v llvm-symbolizer >/dev/null; then
    for build in 'gcc -O0 -gdwarf-4' 'gcc -O2 -gdwarf-5' 'clang -O0 -gdwarf-5' 'clang -O2 -gdwarf-4' \
        'clang -O2 -gdwarf-5 -fdebug-info-for-profiling'; do
        # shellcheck disable=SC2086 # a row is a command line
        $build -o program "$data/main.c" "$data/inlines.c"
        text_addresses program 1 | sed 's/^/0x/' >addresses
        cp addresses requests
        for options in --verbose '--verbose --no-inlines' --output-style=JSON '--output-style=JSON --no-inlines' \
            '--output-style=GNU -i'; do
            # shellcheck disable=SC2086
            same program "$build" $options
        done
        sed 's/^/FRAME /' addresses >requests
        same program "$build, FRAME"
        same program "$build, FRAME" --output-style=JSON
    done
else
    echo 'SKIP: llvm-symbolizer is not here'
fi

# ---- Rows ----

cat >locals.c <<'END'
struct pair { char name[3]; int number; };
typedef const struct pair *pairs[2];
static int counter;
int *shared = &counter;
__attribute__((noinline)) int work(int argument, char **rest)
{
    struct pair pair = { "ab", argument };
    pairs table = { &pair, &pair };
    volatile char grid[12][24];
    static long kept;
    grid[0][0] = (char)argument;
    kept += table[1]->number + grid[0][0] + counter;
    return (int)kept + (rest != 0);
}
int main(int argc, char **argv)
{
    return work(argc, argv);
}
END
gcc -O0 -g -o locals locals.c
start=$(nm locals | awk '$3 == "work" { print $1 }')
inside=$((0x$start + 20))

prints_not() { # prints_not TEXT
    ! grep -qF -e "$1" out || fail "on standard output: $1"
}

answers() { # answers ARGUMENT...: stdout in out
    links/llvm-symbolizer "$@" >out 2>err </dev/null || fail "$*: status $?"
}

# The size of each variable; where it is in the frame is the compiler's.
answers -se locals "FRAME $inside"
paste -d ' ' - - - - <out | sed 's/ -[0-9]* / here /' >locals.found
cat >locals.expected <<'END'
work argument locals.c:5 here 4 ??
work rest locals.c:5 here 8 ??
work pair locals.c:7 here 8 ??
work table locals.c:8 here 16 ??
work grid locals.c:9 here 288 ??
work kept locals.c:10 ?? 8 ??
END
sed '/^ *$/d' locals.found | cmp -s - locals.expected || {
    fail 'FRAME'
    cat locals.found
}
answers -se locals 'FRAME work'
paste -d ' ' - - - - <out | sed '/^ *$/d; s/ -[0-9]* / here /' | cmp -s - locals.expected || fail 'FRAME of a symbol'
answers -ae locals 'FRAME 0x1'
prints '0x1'
prints '??'
answers -se locals --output-style=JSON "FRAME $inside"
prints '"FunctionName":"work","Name":"grid","Size":"0x120","TagOffset":""'

# Variables: of a file, of a function, by symbol, and in JSON.
for row in counter:3 shared:4; do
    answers -se locals "DATA ${row%:*}"
    [ "$(sed -n 1p out) $(sed -n 3p out)" = "${row%:*} locals.c:${row#*:}" ] || fail "DATA ${row%:*}"
done
kept=$(nm locals | awk '$3 ~ /^kept\./ { print $1 }')
answers -sae locals "DATA 0x$kept" "DATA 0x1"
[ "$(sed -n 4p out)" = locals.c:10 ] || fail 'DATA of a variable of a function'
[ "$(tail -n 5 out | head -n 4)" = '0x1
??
0 0
??:?' ] || fail 'DATA of nothing'
answers -e locals --output-style=JSON 'DATA counter' 'DATA nosuch'
prints '"Data":{"Name":"counter","Size":"0x4","Start":"0x'
prints '"SymName":"counter"},{"Data":{"Name":"","Size":"0x0","Start":"0x0"},"ModuleName":"locals","SymName":"nosuch"}]'

# --verbose: a block of lines a frame; addr2line's style says no address.
answers -se locals --verbose "0x$start"
cat >expected <<END
work
  Filename: locals.c
  Function start filename: locals.c
  Function start line: 5
  Function start address: 0x$(printf '%x' "0x$start")
  Line: 6
END
head -n 6 out | cmp -s - expected || {
    fail '--verbose'
    cat out
}
run 0 fxtsym --verbose -fse locals "$start"
prints_not 'Function start address'
prints '  Function start line: 5'
answers -fse locals --output-style=JSON "0x$start" nosuch
prints '[{"Address":"0x'
prints '"StartFileName":"locals.c","StartLine":5}]},{"Loc":[],"ModuleName":"locals","SymName":"nosuch"}]'
printf '%s\n' "0x$start" work '' 9x | links/llvm-symbolizer -se locals --output-style=JSON >out 2>err
[ "$(wc -l <out) $(grep -c '^{.*}$' out)" = '4 4' ] || fail 'JSON: one object a line for requests of lines'
prints '"SymName":"work"}'
status=0
links/llvm-symbolizer -e missing --output-style=JSON 1 2 >out 2>err || status=$?
[ "$status $(cat out)" = '1 {"Address":"0x0","Error":{"Message":"No such file or directory"},"ModuleName":"missing"}' ] ||
    fail 'JSON of a missing object'
answers --output-style=JSON 'missing 1' 'DATA missing Z'
[ "$(cat out)" = '[{"Address":"0x1","Error":{"Message":"No such file or directory"},"ModuleName":"missing"},'\
'{"Error":{"Message":"No such file or directory"},"ModuleName":"missing","SymName":"Z"}]' ] || fail 'JSON of missing objects'
run 2 fxtsym --json --output-style JSON -e locals 1

# Discriminators, as the assembler was told.
cat >blocks.s <<'END'
	.file 1 "dir/blocks.c"
	.text
	.globl blocks
	.type blocks, @function
blocks:
	.loc 1 5 3
	nop
	.loc 1 5 3 discriminator 7
	nop
	.loc 1 6 9
	nop
	.size blocks, . - blocks
END
gcc -g -c blocks.s
rows() { # rows PROGRAM ARGUMENT...: its answers for the three addresses, one a line
    program=$1
    shift
    "$program" -se blocks.o "$@" 0 1 2 | tr '\n' ' '
}
[ "$(rows links/addr2line)" = 'blocks.c:5 blocks.c:5 (discriminator 7) blocks.c:6 ' ] || fail "addr2line: $(rows links/addr2line)"
[ "$(rows links/llvm-addr2line)" = 'blocks.c:5 blocks.c:5 (discriminator 7) blocks.c:6 ' ] || fail 'llvm-addr2line'
[ "$(rows fxtsym)" = 'blocks.c:5 blocks.c:5 blocks.c:6 ' ] || fail 'fxtsym itself has no discriminators'
case $(rows links/llvm-symbolizer --verbose) in
*'Line: 5   Column: 3 '*'Line: 5   Column: 3   Discriminator: 7 '*'Line: 6   Column: 9 '*) ;;
*) fail 'discriminators of --verbose' ;;
esac
for options in --relativenames '-s --relativenames'; do
    # shellcheck disable=SC2086
    answers $options -e blocks.o 0
    prints dir/blocks.c:5
done
answers --relativenames -s -e blocks.o 0
prints_not dir/

# Local functions without a line have the file of the symbol table, but not those behind its nameless end, nor global ones.
cat >files.s <<'END'
	.file "first.c"
	.text
	.type local, @function
local:	nop
	.size local, . - local
	.globl global
	.type global, @function
global:	nop
	.size global, . - global
END
gcc -c files.s
answers -e files.o 0 1
[ "$(tr '\n' ' ' <out)" = 'local first.c:0:0  global ??:0:0  ' ] || fail 'files of symbols'
links/addr2line -fe files.o 0 >out
prints 'first.c:?'
run 0 fxtsym -fe files.o 0
prints '??:?'

# A link to a debug file is followed below --fallback-debug-path, too.
mkdir -p "root$WORK" # the folder of the program, below another root
gcc -g -o linked locals.c -Wl,--build-id=none
objcopy --only-keep-debug linked "root$(pwd -P)/linked.debug"
objcopy --strip-debug --add-gnu-debuglink="root$(pwd -P)/linked.debug" linked
answers --fallback-debug-path="$(pwd -P)/root" -se linked main
prints 'locals.c:16'

# Tags in the addresses of data.
printf '\t.globl tagged\n\t.type tagged, @object\n\t.size tagged, 4\ntagged = 0x2a00000000000010\n\t.data\n\t.quad 0, 0, 0\n' >tags.s
gcc -c tags.s
answers -e tags.o 'DATA 0x12'
prints tagged
answers --no-untag-addresses -e tags.o 'DATA 0x12'
prints_not tagged
# An object without code has its data at 0, as it has for nm and for llvm-symbolizer.
printf '\t.data\n\t.globl foo\n\t.type foo, @object\n\t.size foo, 4\nfoo = . + 0x1100000000000000\n\t.quad 1\n' >data.s
gcc -c data.s
ln -sf "$(command -v fxtsym)" llvm-addr2line
ln -sf "$(command -v fxtsym)" llvm-symbolizer
for case in 'foo 0 4:./llvm-symbolizer' '?? 0 0:./llvm-symbolizer --no-untag-addresses' '?? 0 0:./llvm-addr2line' \
    'foo 0 4:./llvm-addr2line --untag-addresses'; do
    # shellcheck disable=SC2086 # a command and its option
    run 0 ${case#*:} -e data.o 'DATA 0'
    [ "$(head -n 2 out | tr '\n' ' ')" = "${case%%:*} " ] || fail "$case: $(cat out)"
done
finish
