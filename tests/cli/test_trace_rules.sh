#!/bin/sh
# Programs that break a rule of <fxt/trace_engine.h>, or do what is seldom done, and command lines that cannot mean what they say: each is told, counted or
# made harmless, and what comes after is recorded.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export XDG_RUNTIME_DIR="$WORK/run"
mkdir -m 700 run
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/testdata/trace/rules.c" "$O/lib/libfxttrace.a" -lpthread -o rules || exit 1
. "$ROOT/tests/cli/wait.sh"

# A blob that its thread did not end is dropped with the thread: the next recording begins.  What is too large is counted.
run 0 env FXT_TRACE_FILE=blobs.%p.fxtb ./rules blobs
run 0 fxtdump --verify blobs.*-2.fxtb
run 0 fxtdump blobs.*-2.fxtb
says '3 records that the provider dropped'
prints 'category=rules name=after blobs'

# An observer is told of start and stop; one that would block is left out.
run 0 env FXT_TRACE_FILE=observers.%p.fxtb ./rules observers
prints 'told 1 at the start, 1 at the stop'

mkfifo control
start() { # start ARGUMENT...: the program, until descriptor 3 is closed
    ./rules "$@" >told 2>err <control &
    rules=$!
    exec 3>control
}
listed() { # listed TEXT: the program is, under this name; a first session it may notice late
    sampler-capture trace providers >out 2>err && grep -qF "$1" out
}
recorded() { # recorded TEXT OPTION...: it was, in a session of a second
    text=$1
    shift
    sampler-capture trace -d 1 --print-stats --stats-json stats -o out.fxt "$@" 2>err && grep -qF "$text" stats
}
end() {
    exec 3>&-
    wait $rules || fail "the program did not end as it should"
}

# The alert of an earlier recording ends no session; the one that comes now does.
FXT_TRACE_FILE=alerts.fxtb start alerts
wait_for grep -q 'done' told
wait_for recorded '"name":"alerts again"' --trigger stale:stop
grep -q '"alerts":0' stats || fail "an alert of an earlier recording: $(cat stats)"
end

# Names keep to their line and their column, and one that cannot be sent takes no others with it.
start categories "$(printf 'red\033[31m\tand\nlines')"
wait_for listed '\x1b'
[ "$(cat out)" = "$(printf '%s\t%s' $rules 'red\x1b[31m\tand\nlines')" ] || fail "providers: $(cat out)"
run 0 sampler-capture trace categories
cat >expected <<'END'
red\x1b[31m\tand\nlines	first	
red\x1b[31m\tand\nlines	\x1b[31mred\tand\nlines	a\tb\n\x07
red\x1b[31m\tand\nlines	last	the last one
END
cmp -s expected out || fail "categories: $(cat out)"
wait_for recorded '"name":"red\u001b'
says 'red\x1b[31m\tand\nlines ('
end
# A name that is no UTF-8 is sent as far as it is; an empty one is told apart.
start categories "$(printf 'caf\351')"
wait_for listed "$rules"
[ "$(cat out)" = "$(printf '%s\tcaf?' $rules)" ] || fail "a name that is not UTF-8: $(cat out)"
end
start categories ''
wait_for listed "$rules"
[ "$(cat out)" = "$(printf '%s\t(no name)' $rules)" ] || fail "an empty name: $(cat out)"
end

# A program that uses up its descriptors for a while is recorded when it has some again.
start descriptors
wait_for listed descriptors
echo u >&3
wait_for grep -q u told
run 0 sampler-capture trace providers
[ ! -s out ] || fail "the descriptors are not used up"
echo f >&3
wait_for grep -q f told
wait_for recorded '"name":"descriptors"'
end

# A program that closes all its descriptors, idle or while it is recorded, is recorded by later sessions; what it opens then under their numbers is its own.
closes() {
    echo c >&3
    wait_for grep -q c told
}
is_recorded() {
    echo s >&3
    [ "$(tail -n 1 told)" = recorded ]
}
start closed
wait_for listed closed
closes
wait_for recorded '"name":"closed"'
end
if grep 'used by others' told; then fail "the library uses descriptors of the program: $(cat told)"; fi
start closed
wait_for listed closed
run 0 sampler-capture trace --background -o session.fxt
wait_for is_recorded
closes
run 0 sampler-capture stop
run 0 fxtdump session.fxt
wait_for recorded '"name":"closed"'
end
if grep 'used by others' told; then fail "the library uses descriptors of the program: $(cat told)"; fi

# Command lines.
usage() { # usage TEXT OPTION...
    text=$1
    shift
    run 2 sampler-capture trace "$@"
    says "$text"
}
usage "--stop-timeout: '0' is not a duration" -o out.fxt --stop-timeout 0
usage "--categories: '' names no category; * is all of them" -o out.fxt -c ''
usage "--categories: ',,' names no category" -o out.fxt -c ,,
usage 'the name of a category is not UTF-8' -o out.fxt -c "$(printf 'a,\377')"
usage 'the names of 3000 categories take more than 64 KiB' -o out.fxt -c "$(seq -s, 3000)"
usage 'the names of 3000 categories take more than 64 KiB' -o out.fxt --provider "a::$(seq -s, 3000)"
usage '--provider: a is there twice' -o out.fxt --provider a:1M:x --provider a::y
usage 'standard output is used for the trace' -o - --stats-json -
usage 'a background session has no standard output' -o - --background
for option in '-m streaming' '-b 1M' '-c x' '-o x.fxt' '--provider a' --compress -q; do
    # shellcheck disable=SC2086
    usage 'providers and categories accept no option but --duration' providers $option
done

# A session that could not write does not say that no program was there; categories of --provider are looked for, too.
run 125 sampler-capture trace -o /nowhere/out.fxt -- true
run 4 sampler-capture trace -d 0.1 -o /dev/full
if grep -q 'no program registered' err; then fail "a session that failed says why there is nothing: $(cat err)"; fi
run 0 sampler-capture trace --provider "rules::no such" -o spec.fxt -- sh -c './rules categories rules </dev/null'
says 'no event in the trace has the category no such'
finish
