#!/bin/sh
# Code without symbols is told apart by the bounds of its functions: the ranges are those of readelf, names are the same in every run and
# in every program, coverage does not count them, and names that are found later replace them.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
HOME=$WORK
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
cat >program.c <<'END'
static __attribute__((noinline)) int first(int x) { return x * x + 1; }
static __attribute__((noinline)) int second(int x) { return x * 3 + first(x); }
__attribute__((noinline)) int shown(int x) { return second(x) - 1; }
int main(int argc, char **argv) { (void)argv; return shown(argc); }
END
build() { # build ID FILE OPTION...
    id=$1
    file=$2
    shift 2
    gcc -O1 -g -Wl,--build-id=0x"$id" "$@" -o "$file.full" program.c
    strip -o "$file" "$file.full"
}
build 0102030405060708 program
at() { nm program.full | awk -v name="$1" '$3 == name { print $1 }'; }
first=$(at first)
second=$(at second)
name_of() { printf '[program+0x%x]' $((0x$1)); }
sample() { # sample FILE ID VADDR: a trace
    python3 "$ROOT/tests/tools/one_sample.py" "$WORK/$1" "$2" "$3"
}
sample program 0102030405060708 "$first" >one.fxt
sample program 0102030405060708 "$(printf '%x' $((0x$first + 3)))" >two.fxt
sample program 0102030405060708 "$second" >three.fxt

# ---- fxt2pprof ----

for trace in one two; do
    run 0 fxt2pprof --format folded --root none $trace.fxt
    prints "$(name_of "$first") 1"
    says '0.0 % have a name'
done
run 0 fxt2pprof -q --format folded --root none --no-symbolize one.fxt
prints '[program] 1'
run 0 fxt2pprof -q --format folded --root none three.fxt
prints "$(name_of "$second") 1"
run 0 fxt2pprof -q --format folded --root none --symbols program.full one.fxt
prints 'first 1'
run 0 fxt2pprof -q -o one.pb.gz one.fxt
run 0 fxtq import -q one.pb.gz -o pprof.fxtq
run 0 fxtq report top pprof.fxtq
prints "$(name_of "$first")"

# ---- fxtq ----

run 0 fxtq import -q one.fxt three.fxt -o run.fxtq
run 0 fxtq symbolize run.fxtq
says 'symbols: 0.0 % of the sampled frames have a function'
! grep -q 'better names' err || fail 'bounds are called names'
run 6 fxtq coverage --require-symbols 1 run.fxtq
run 0 fxtq report top run.fxtq
prints "$(name_of "$first")"
prints "$(name_of "$second")"
run 0 fxtq flamegraph run.fxtq -o page.html
python3 -c 'import base64, json, re, zlib
page = open("page.html", encoding="utf-8").read()
data = json.loads(re.search("id=\"data\">(.*?)</script>", page, re.S).group(1))
print(zlib.decompress(base64.b64decode(data["strings"])).decode())' >out
prints "$(name_of "$second")"
run 0 fxtq symbolize run.fxtq # nothing new
[ "$(sqlite3 run.fxtq 'SELECT count(*) FROM symbol WHERE quality = 0')" = 2 ] || fail 'not two functions by bounds'
run 0 fxtq symbolize --symbols program.full run.fxtq
says '2 of 2 frames have better names'
[ "$(sqlite3 run.fxtq 'SELECT count(*) FROM symbol WHERE quality = 0')" = 0 ] || fail 'names do not replace bounds'
run 0 fxtq report top --cache one.fxt
prints "$(name_of "$first")"

# ---- fxtdiff ----

# The same build: function by function.  Another one of the same name: addresses mean nothing, the module is one.
run 5 fxtdiff --json one.fxt two.fxt
prints "$(name_of "$first")"
mkdir other
build 0807060504030201 other/program
sample other/program 0807060504030201 "$(nm other/program.full | awk '$3 == "second" { print $1 }')" >other.fxt
run 5 fxtdiff --json one.fxt other.fxt
prints '"[program]"'
! grep -qF '+0x' out || fail 'addresses of two builds are compared'

# ---- What is not told ----

# Exported functions keep their names; between functions there is none; without tables neither.
build 0102030405060709 exported -rdynamic
sample exported 0102030405060709 "$(nm exported.full | awk '$3 == "shown" { print $1 }')" >exported.fxt
run 0 fxt2pprof -q --format folded --root none exported.fxt
prints 'shown 1'
sample program 0102030405060708 fffff >outside.fxt
run 0 fxt2pprof -q --format folded --root none outside.fxt
prints '[program] 1'
objcopy -R .eh_frame -R .eh_frame_hdr program bare
sample bare 0102030405060708 "$first" >bare.fxt
run 0 fxt2pprof -q --format folded --root none bare.fxt
prints '[bare] 1'
finish
