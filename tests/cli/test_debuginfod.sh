#!/bin/sh
# Debug information from a debuginfod server on loopback: asked only when that is allowed, sections rather than files, within a
# budget, cached, and found in the cache without a server.
set -eu

. "$ROOT/tests/cli/fail.sh"

if ! debuginfod --version >/dev/null 2>&1; then
    echo 'SKIP: debuginfod is not here'
    exit 0
fi
if symbolize_cli -r -D "$0" 2>&1 | grep -q 'not installed' || ! fxt2pprof --version | grep -q '[^o] libdebuginfod'; then
    echo 'SKIP: libdebuginfod is not here'
    exit 0
fi

cd "$WORK"
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
HOME=$WORK/home
export HOME
mkdir home served
cat >program.c <<'EOF'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
__attribute__((noinline)) int outer(int x)
{
    return inner(x) + 1;
}
int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc);
}
EOF
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
# make NAME BUILD-ID: full.NAME, bare.NAME, and served/NAME.debug.
make() {
    gcc -O1 -g -Wl,--build-id="$2" -o "full.$1" program.c
    objcopy --only-keep-debug "full.$1" "served/$1.debug"
    strip -o "bare.$1" "full.$1"
}
make plain sha1
make packed 0x0123456789abcdef0123456789abcdef01234567
objcopy --compress-debug-sections=zlib served/packed.debug
address=$(nm full.plain | awk '$3 == "outer" { print $1 }')

# A port of its own: the kernel's choice for somebody who lets go of it.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
debuginfod -F -p "$port" -d "$WORK/index.sqlite" served >log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || :; wait $server 2>/dev/null || :' EXIT
# Ready when it has indexed both files.
python3 - "$port" "$(id_of full.plain)" "$(id_of full.packed)" <<'EOF' || fail "the server does not answer: $(cat log)"
import sys, time, urllib.request
for name in sys.argv[2:]:
    for attempt in range(100):
        try:
            urllib.request.urlopen("http://127.0.0.1:%s/buildid/%s/section/.debug_abbrev" % (sys.argv[1], name), timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    else:
        sys.exit(1)
EOF
requests() { grep -c 'UA:elfutils.*GET /buildid' log || :; }

DEBUGINFOD_URLS=http://127.0.0.1:$port
export DEBUGINFOD_URLS

# Without leave nobody is asked.
symbolize_cli -r bare.plain "$address" >out
grep -q '^quality 0' out || fail "quality without a server: $(cat out)"
[ "$(requests)" -eq 0 ] || fail "the server was asked without leave"
symbolize_cli -t bare.plain | grep -q '^debuginfod-server skipped .*not allowed' || fail "the trail does not say that nobody was asked"

# Sections are enough where the code is here.
symbolize_cli -D -r bare.plain "$address" >out 2>err
grep -q '^quality 4' out || fail "no DWARF from the server: $(cat out) $(cat log)"
grep -q '^inner$' out || fail "no inlined frames: $(cat out)"
grep -q 'program.c:4' out || fail "no lines: $(cat out)"
grep -q "/section/.debug_info 200" log || fail "no section was asked for: $(cat log)"
! grep -q "/debuginfo 200" log || fail "the whole file was fetched: $(cat log)"

# What was fetched is here without a server.
before=$(requests)
(unset DEBUGINFOD_URLS; symbolize_cli -r bare.plain "$address") >out
grep -q '^quality 4' out || fail "the cache is not read without servers: $(cat out)"
grep -q "^debug $HOME/.cache/debuginfod_client/$(id_of full.plain)/section-.debug_info" out || fail "another cache: $(cat out)"
[ "$(requests)" -eq "$before" ] || fail "the server was asked for what is here"

# Packed sections arrive packed.
symbolize_cli -D -r bare.packed "$address" >out
grep -q '^inner$' out || fail "packed sections: $(cat out)"

# Without the code the whole file is fetched.
symbolize_cli -D -r -i "$(id_of full.packed)" '' "$address" >out
grep -q '^inner$' out || fail "no whole file: $(cat out)"
grep -q "/debuginfo 200" log || fail "no file was asked for: $(cat log)"

# Caches where the environment says.
mkdir xdg named
(unset DEBUGINFOD_URLS; XDG_CACHE_HOME=$WORK/xdg symbolize_cli -r bare.plain) | grep -q '^quality 0' || fail "XDG_CACHE_HOME is not looked at"
cp -R home/.cache/debuginfod_client xdg
(unset DEBUGINFOD_URLS; HOME=/nowhere XDG_CACHE_HOME=$WORK/xdg symbolize_cli -r bare.plain) | grep -q '^quality 4' || fail "no cache in XDG_CACHE_HOME"
mv xdg/debuginfod_client/* named
(unset DEBUGINFOD_URLS; HOME=/nowhere DEBUGINFOD_CACHE_PATH=$WORK/named symbolize_cli -r bare.plain) | grep -q '^quality 4' ||
    fail "no cache in DEBUGINFOD_CACHE_PATH"
mkdir legacy
cp -R named legacy/.debuginfod_client_cache
(unset DEBUGINFOD_URLS; HOME=$WORK/legacy symbolize_cli -r bare.plain) | grep -q '^quality 4' || fail "no cache where it used to be"

# fxtsym asks when it is told to, and only then.
DEBUGINFOD_CACHE_PATH=$WORK/fxtsym-cache
export DEBUGINFOD_CACHE_PATH
before=$(requests)
fxtsym --no-cache -ife bare.plain "$address" >out 2>err
grep -q '^??$' out || fail "fxtsym has names without the server: $(cat out)"
[ "$(requests)" -eq "$before" ] || fail "fxtsym asked the server without leave"
fxtsym --no-cache --explain bare.plain >out || :
grep -q 'skipped *debuginfod-servers asking servers was not allowed' out || fail "fxtsym does not say that nobody was asked: $(cat out)"
fxtsym --no-cache --debuginfod -ife bare.plain "$address" >out 2>err || fail "fxtsym --debuginfod: $(cat err)"
printf '%s\n' inner "$WORK/program.c:1" outer "$WORK/program.c:4" | cmp -s - out || fail "fxtsym --debuginfod: $(cat out err)"
[ "$(requests)" -gt "$before" ] || fail "fxtsym --debuginfod did not ask"
[ ! -s err ] || fail "fxtsym --debuginfod says: $(cat err)"
rm -rf "$DEBUGINFOD_CACHE_PATH"
fxtsym --no-cache --debuginfod --build-id "$(id_of full.packed)" -f "$address" >out 2>err || fail "fxtsym --debuginfod --build-id: $(cat err)"
grep -q '^inner$' out || fail "fxtsym --debuginfod --build-id: $(cat out err)"
fxtsym --no-cache --debuginfod --explain bare.packed >out || :
grep -q "used *debuginfod-cache .*$(id_of full.packed)/" out || fail "fxtsym --explain behind --debuginfod: $(cat out)"
unset DEBUGINFOD_CACHE_PATH

# What no server has is said, and the budget kept.
symbolize_cli -D -t -i 00112233445566778899aabbccddeeff00112233 '' >out
grep -q '^debuginfod-server absent .*the servers do not have it' out || fail "a miss: $(cat out)"
DEBUGINFOD_CACHE_PATH=$WORK/empty
export DEBUGINFOD_CACHE_PATH
symbolize_cli -D -b 100 -t bare.plain >out
grep -q '^debuginfod-server absent .*larger than what may still be fetched' out || fail "the budget: $(cat out)"
DEBUGINFOD_CACHE_PATH=$WORK/empty2
symbolize_cli -D -t bare.plain >out
grep -q '^debuginfod-server used 4 .*section-.debug_info' out || fail "the same with a budget that suffices: $(cat out)"
(DEBUGINFOD_URLS='' symbolize_cli -D -t -i 00112233445566778899aabbccddeeff00112233 '') >out
grep -q '^debuginfod-server absent .*DEBUGINFOD_URLS names no server' out || fail "no servers: $(cat out)"

# fxt2pprof asks too, when it may.
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/bare.plain" "$(id_of full.plain)" "$address" >trace.fxt
DEBUGINFOD_CACHE_PATH=$WORK/empty4
fxt2pprof -q --format folded --root none trace.fxt >out
grep -qx '\[bare\.plain+0x[0-9a-f]*\] 1' out || fail "fxt2pprof asked without leave: $(cat out)"
fxt2pprof -q --format folded --root none --debuginfod trace.fxt >out
[ "$(cat out)" = 'outer;inner 1' ] || fail "fxt2pprof --debuginfod: $(cat out)"

# So does fxtsym.
DEBUGINFOD_CACHE_PATH=$WORK/empty5
[ "$(fxtsym --debuginfod -f -i -e bare.plain "$address" | head -n 1)" = inner ] || fail "fxtsym --debuginfod"
fxtsym --debuginfod --explain bare.plain | grep -q 'used *debuginfod-cache *.*section-.debug_info: for symbols and debug information' || fail "fxtsym --explain"

# A server that is gone costs its names, and a word of it.
kill $server
wait $server 2>/dev/null || :
DEBUGINFOD_CACHE_PATH=$WORK/empty3
symbolize_cli -D -t bare.plain >out
grep -q '^debuginfod-server absent' out || fail "no server any more: $(cat out)"
exit 0
