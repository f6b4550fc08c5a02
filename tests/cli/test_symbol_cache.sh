#!/bin/sh
# The symbol cache through fxt2pprof: the same output with it and without, whatever happens to it.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
HOME=$WORK/home
export HOME
unset XDG_CACHE_HOME FXT_SYMBOL_CACHE_BYTES DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
cat >program.c <<'EOC'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
EOC
gcc -O1 -g -Wl,--build-id=sha1 -o program program.c
id=$(readelf -n program | sed -n 's/.*Build ID: //p')
outer=$(nm program | awk '$3 == "outer" { print $1 }')
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/program" "$id" "$outer" >trace.fxt
cache=$HOME/.cache/fxt/symbols
file=$cache/$id.sym

convert() { # convert OUT OPTION...
    out=$1
    shift
    fxt2pprof -q "$@" -o "$out" trace.fxt >stdout 2>stderr || fail "$*: status $?: $(cat stderr)"
    [ ! -s stderr ] || fail "$*: $(cat stderr)"
    gzip -dc "$out" >"$out.raw"
}
same() { # same WHAT
    cmp want.pb.gz.raw got.pb.gz.raw || fail "another profile: $1"
}

convert want.pb.gz --no-cache
made=$(find "$HOME" -path '*fxt*' 2>/dev/null || :) # a compiler cache may be there
[ -z "$made" ] || fail "--no-cache made $made"
fxt2pprof -q --no-cache --format folded --root none trace.fxt >got.folded
[ "$(cat got.folded)" = "outer;inner 1" ] || fail "folded: $(cat got.folded)"

for visit in first second third; do
    convert got.pb.gz
    same "$visit visit"
    [ -s "$file" ] || fail "no $file after the $visit visit"
done
[ "$(stat -c %a "$cache")" = 700 ] || fail "mode of $cache"

# It is the cache that answers: the debug information may be unreadable, as long as the file looks the same.
touch -r program stamp
size=$(stat -c %s program)
offset=$(readelf -SW program | sed -n 's/.* \.debug_info *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
cp program sound
printf '\377\377\377\377' | dd of=program bs=1 seek=$((0x$offset)) conv=notrunc 2>dd.log
touch -r stamp program
[ "$(stat -c %s program)" = "$size" ] || fail "size of the program"
convert got.pb.gz
same "from the cache alone"
convert got.pb.gz --no-cache
cmp -s want.pb.gz.raw got.pb.gz.raw && fail "--no-cache answers from the cache"
cp sound program
touch -r stamp program

# The same file serves fxtsym.
fxtsym --no-cache -ifCe program "$outer" >want.txt || fail "fxtsym --no-cache"
fxtsym -ifCe program "$outer" >got.txt || fail "fxtsym"
cmp want.txt got.txt || fail "another answer of fxtsym"
fxtsym --explain "$WORK/program" | grep -q "^ *cache *$file" || fail "explain: $(fxtsym --explain "$WORK/program")"

# Damage, deletion, places without room or rights.
printf 'rubbish' >"$file"
convert got.pb.gz
same "rubbish in the cache"
[ "$(stat -c %s "$file")" -gt 100 ] || fail "rubbish was not replaced"
rm -rf "$HOME/.cache"
convert got.pb.gz
same "deleted"
rm -rf "$HOME/.cache"
mkdir "$HOME/.cache"
: >"$HOME/.cache/fxt"
convert got.pb.gz
same "a file in the way"
rm -rf "$HOME/.cache"
FXT_SYMBOL_CACHE_BYTES=0
export FXT_SYMBOL_CACHE_BYTES
convert got.pb.gz
same "turned off"
[ ! -e "$file" ] || fail "a limit of 0 bytes keeps $file"
unset FXT_SYMBOL_CACHE_BYTES HOME
convert got.pb.gz
same "no home"
XDG_CACHE_HOME=$WORK/elsewhere
export XDG_CACHE_HOME
convert got.pb.gz
same "elsewhere"
[ -s "$WORK/elsewhere/fxt/symbols/$id.sym" ] || fail "nothing in XDG_CACHE_HOME"

# A full disk, where one can be made.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    mkdir -m 700 small/fxt small/fxt/symbols
    dd if=/dev/zero of=small/filler bs=1k 2>dd.log || :
    XDG_CACHE_HOME=$WORK/small
    convert got.pb.gz
    rest=$(find small/fxt/symbols -name '*.tmp')
    umount small
    same "a full disk"
    [ -z "$rest" ] || fail "left behind: $rest"
fi
