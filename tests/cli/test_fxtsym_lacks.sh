#!/bin/sh
# What fxtsym says of objects without what it looks for: true of each, and with a remedy only where one helps.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"
HOME=$WORK
export HOME
unset DEBUGINFOD_URLS XDG_CACHE_HOME
cc=${CC:-cc}

cat >code.c <<'SOURCE'
static __attribute__((noinline)) int hidden(int x) { return x * 3; }
int shown(int x) { return hidden(x) + 1; }
SOURCE
echo 'const int table[100] = { 1, 2, 3 };' >data.c
for debug in -g -g0; do
    "$cc" $debug -fPIC -shared -nostdlib -Wl,--build-id=sha1 -o code$debug.so code.c
    "$cc" $debug -fPIC -shared -nostdlib -Wl,--build-id=sha1 -o data$debug.so data.c
    "$cc" $debug -c -o data$debug.o data.c
done
"$cc" -g0 -fPIC -shared -nostdlib -fvisibility=hidden -Wl,--build-id=sha1 -o nothing.so code.c
strip code-g0.so -o stripped.so
strip nothing.so
strip data-g0.so -o data-stripped.so
objcopy --only-keep-debug code-g.so code.debug

# The object, and what is said: nothing, or a problem, and a remedy.
while IFS='|' read -r object problem remedy; do
    fxtsym -e "$object" 0x1000 >out 2>err || fail "$object: status $?: $(cat err)"
    if [ -z "$problem" ]; then
        [ ! -s err ] || fail "$object: $(cat err)"
    elif [ -z "$remedy" ]; then
        [ "$(cat err)" = "fxtsym: warning: $object: $problem" ] || fail "$object: $(cat err)"
    else
        grep -q "^fxtsym: warning: $object: $problem; $remedy" err || fail "$object: $(cat err)"
    fi
done <<'END'
code-g.so||
code.debug||
code-g0.so|no debug information|install the package
stripped.so|stripped, only exported functions have names|install the package
nothing.so|no symbols|install the package
data-g.so||
data-g.o||
data-g0.so|it has no code, only data, so it has no functions|
data-g0.o|it has no code, only data, so it has no functions|
data-stripped.so|it has no code, only data, so it has no functions|
END
