#!/bin/sh
# The commands of docs/tracing.md, one after another, as they stand there; a session of ten seconds takes less.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE FXT_TRACE_SOCKET
export XDG_RUNTIME_DIR="$WORK/run"
mkdir -m 700 run
mkdir bin
printf '#!/bin/sh\necho "-I%s/include %s/lib/libfxttrace.a -lpthread"\n' "$ROOT" "$O" >bin/pkg-config
printf '#!/bin/sh\nexec g++ "$@"\n' >bin/c++
chmod +x bin/*
PATH=$WORK/bin:$PATH
ln -s "$ROOT/examples" examples

awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$ROOT/docs/tracing.md" | sed 's/-d 10 /-d 0.2 /' >commands
[ "$(wc -l <commands)" -ge 10 ] || fail "the page has no commands"
while read -r line; do
    sh -ec "$line" >out 2>err </dev/null || {
        fail "$line: status $?"
        cat out err
    }
done <commands
for trace in server.fxt slow.fxt; do
    run 0 fxtdump --verify $trace
done
fxtdump server.fxt >dump
for kind in duration_complete flow_begin flow_end async_begin async_end counter large_blob; do
    grep -q "$kind" dump || fail "the example has no $kind"
done
[ "$(grep -c 'name=serve ' dump)" -eq 20 ] || fail "not 20 requests"

run 0 fxtq server.db "SELECT COUNT(*) FROM slice WHERE name = 'serve'"
prints 20

# The same in C++, with plain values.
run 0 sampler-capture trace -q -o pipeline.fxt -- ./pipeline
run 0 fxtdump pipeline.fxt
prints '{name: "stage 9", kind: 1, first: false}'
prints 'name=failed scope=thread {what: "stage 0"}'
finish
