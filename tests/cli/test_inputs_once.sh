#!/bin/sh
# Every program opens each input file once (cmd/cli/cli_input.h); standard input, pipes and files give the same output.
set -eu

. "$ROOT/tests/cli/fail.sh"

cd "$WORK"
fxtgen=$(dirname "$(command -v fxt2pprof)")/../bench/fxtgen
"$fxtgen" --count 300 --stacks 20 --processes 2 >a.fxt
"$fxtgen" --count 300 --stacks 20 --processes 2 --seed 2 >b.fxt
gzip -nc a.fxt >a.fxt.gz
zstd -qc b.fxt >b.fxt.zst
for run in a b; do
    fxt2pprof -q --no-symbolize $run.fxt -o $run.pb.gz
    fxt2pprof -q --no-symbolize -f folded $run.fxt -o $run.folded
done
cp "$ROOT/testdata/fuzz/fuzz_perf_data/file" whole.data
cp "$ROOT/testdata/fuzz/fuzz_perf_data/pipe" piped.data
printf '{{{reset}}}\n{{{module:0:app:elf:0a}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n{{{bt:0:0x1010:pc}}}\n' >log.markup

# ---- Files are opened once ----

strace -o trace true 2>/dev/null || {
    echo "SKIP: strace does not run here"
    exit 0
}
once() { # once COMMAND...: each operand that is a file of this folder
    rm -f out out.*
    status=0
    strace -f -q -e trace=open,openat -o trace "$@" >/dev/null 2>err || status=$?
    [ $status -le 1 ] || [ $status -eq 5 ] || fail "$*: status $status: $(cat err)"
    files=0
    for operand in "$@"; do
        case $operand in *.fxt | *.gz | *.zst | *.folded | *.markup | *.data | *.elf | *.syms | *.kept | *.rules) ;; *) continue ;; esac
        [ -f "$operand" ] || continue
        files=$((files + 1))
        opened=$(grep -v ' = -1 ' trace | grep -cF "\"$operand\"") || :
        [ "$opened" -eq 1 ] || fail "$*: opens $operand $opened times: $(grep -F "\"$operand\"" trace)"
    done
    [ $files -gt 0 ] || fail "$*: has no input"
}
for input in a.fxt a.fxt.gz b.fxt.zst; do
    once fxtdump "$input"
    once fxtdump --stats "$input"
    once fxtdump --json "$input"
    once fxtcat compress -o out "$input"
    once fxtcat cut --time +0s, -o out "$input"
    once fxtcat convert --layout profiler -o out "$input"
    once fxtcat recover -o out "$input"
    once fxt2pprof -q --no-symbolize -o out "$input"
    once fxt2pprof -q --no-symbolize -f firefox -o out "$input"
    once fxt2pprof -q --no-symbolize -f top "$input"
    once fxtq report top "$input"
    once fxtq export -q csv -o out "$input"
    once fxtq flamegraph -o out "$input"
    once fxtq "$input" 'SELECT count(*) FROM cpu_sample'
    once fxtq import -q -o out "$input"
done
once fxtcat merge -o out a.fxt b.fxt
once fxt2pprof -q --no-symbolize -o out a.fxt b.fxt
once fxtq export -q folded a.fxt b.fxt.zst
for input in a.pb.gz a.folded log.markup; do
    once fxtq report top "$input"
    once fxtq export -q folded -o out "$input"
    once fxtq import -q -o out "$input"
done
for input in whole.data piped.data; do
    once fxtdump "$input"
    once fxtdump --stats "$input"
    once fxtdump --json "$input"
done
# What perf recorded, and instruction traces, are read by every program as any trace is.
for input in fp.data pipe.data zstd.data dwarf.data; do
    cp "$ROOT/testdata/perf/$input" .
done
traces="fp.data pipe.data zstd.data dwarf.data"
if sampler-capture insn --help >/dev/null 2>&1; then
    ${CC:-cc} -O2 -static -no-pie -o calls "$ROOT/testdata/insn/calls.c"
    sampler-capture insn --simulate -q -o insn.fxt -- ./calls >/dev/null || [ $? -eq 7 ] || fail "insn: status $?"
    traces="$traces insn.fxt"
fi
for input in $traces; do
    once fxtdump "$input"
    case $input in *.data) once fxtcat convert -o out "$input" ;; esac
    once fxt2pprof -q -o out "$input"
    once fxt2pprof -q -f top "$input"
    once fxtq report top "$input"
    once fxtq import -q -o out "$input"
    once fxtq "$input" 'SELECT count(*) FROM frame'
done
once fxtdiff fp.data pipe.data
once fxtdiff baseline create out.baseline fp.data zstd.data
printf '{"protocol_declarations": [{"name": "a/A", "methods": [{"ordinal": 1, "name": "M"}]}]}' >ir.json
once fxtcat symbolize-fidl --ir ir.json -o out a.fxt
once fxtcat convert --perfetto --no-symbolize -o out a.fxt
once fxtdiff --no-symbolize a.fxt b.fxt
once fxtdiff baseline create out.baseline a.pb.gz b.pb.gz
once fxtdiff a.pb.gz b.pb.gz
once fxtdiff a.folded b.folded
once fxtdiff --no-symbolize a.fxt.gz b.fxt.zst
fxtdiff baseline create runs.kept a.pb.gz b.pb.gz >/dev/null
once fxtdiff runs.kept -- a.pb.gz b.pb.gz
once fxtdiff baseline show runs.kept
once fxtdiff baseline accept runs.kept a.pb.gz b.pb.gz
printf 'function * self < 100%%\n' >limits.rules
once fxtdiff --budget limits.rules a.folded b.folded
# Objects, whatever their names come from, and with the symbol cache or without.
printf 'int twice(int x) { return 2 * x; }\nint main(int count, char **words) { (void)words; return twice(count) - 2; }\n' >prog.c
${CC:-cc} -g -O1 -o whole.elf prog.c
strip --strip-debug -o symtab.elf whole.elf
gzip -nc whole.elf >packed.elf
printf 'MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 prog\nFUNC 1000 10 0 main\n' >pad.syms
place=0x$(nm whole.elf | sed -n 's/ T main$//p')
for input in whole.elf symtab.elf packed.elf pad.syms; do
    once fxtsym --no-cache -e "$input" "$place"
    once fxtsym -e "$input" "$place"
    once fxtsym -e "$input" "$place"
    case $input in *.elf) once fxtsym --json -e "$input" main ;; esac
done
once fxtsym --verify whole.elf
status=0
strace -f -q -e trace=open,openat -o trace fxt2pprof -q a.folded -o out >/dev/null 2>err || status=$?
[ $status -eq 3 ] || fail "no trace: status $status"
says 'looks like folded stacks'
[ "$(grep -cF '"a.folded"' trace)" -eq 1 ] || fail "opened to say what it is: $(grep -F '"a.folded"' trace)"

# ---- No look at a store drops its locks ----

# The kernel drops all POSIX locks of a file when any of its descriptors is closed: only SQLite, which waits with that, may close one.
fxtq import -q a.fxt -o a.fxtq
locked() { # locked COMMAND...
    strace -f -q -y -e trace=close,fcntl -o trace "$@" >/dev/null 2>err || fail "$*: status $?: $(cat err)"
    awk '/^[0-9 ]*fcntl\([0-9]+<[^>]*\/a\.fxtq>, F_SETLK/ { n = $0; sub(/.*fcntl\(/, "", n); sub(/<.*/, "", n); sqlite[n] = 1; any = 1 }
         /^[0-9 ]*close\([0-9]+<[^>]*\/a\.fxtq>/ { n = $0; sub(/.*close\(/, "", n); sub(/<.*/, "", n); if (any && !sqlite[n]) { print; bad = 1 } }
         END { exit bad || !any }' trace >dropped || fail "$*: closes a store that SQLite has open: $(cat dropped)"
}
locked fxtq a.fxtq 'SELECT 1'
locked fxtq report top a.fxtq
locked fxtq flamegraph -o out --diff ./a.fxtq a.fxtq
status=0
fxtq a.fxtq '.read a.fxtq' 2>err || status=$?
[ $status -eq 4 ] || fail ".read STORE: status $status"
says 'a.fxtq: an SQLite database, not a file of SQL'

# ---- However they come ----

same() { # same INPUT COMMAND...: @ is the input
    input=$1
    shift
    shaped() { # shaped OPERAND COMMAND...
        operand=$1
        shift
        for word in "$@"; do
            shift
            [ "$word" != @ ] || word=$operand
            set -- "$@" "$word"
        done
        "$@"
    }
    shaped "$input" "$@" >from.file 2>err || fail "$* $input: status $?: $(cat err)"
    [ -s from.file ] || fail "$* $input: nothing"
    shaped - "$@" <"$input" >from.stdin 2>err || fail "$* <$input: status $?: $(cat err)"
    # shellcheck disable=SC2002 # a pipe is wanted
    cat "$input" | shaped - "$@" >from.pipe 2>err || fail "cat $input | $*: $(cat err)"
    rm -f fifo
    mkfifo fifo
    cat "$input" >fifo &
    shaped fifo "$@" >from.fifo 2>err || fail "$* fifo: status $?: $(cat err)"
    wait
    for way in stdin pipe fifo; do
        cmp from.file from.$way || fail "$* $input: $way gives something else"
    done
}
for input in a.fxt a.fxt.gz b.fxt.zst; do
    same "$input" fxtdump @
    same "$input" fxt2pprof -q --no-symbolize -f folded @
    same "$input" fxt2pprof -q --no-symbolize -f speedscope @
    same "$input" fxtq export -q folded @
done
for input in a.pb.gz a.folded log.markup; do
    same "$input" fxtq export -q folded @
    same "$input" fxtq report top @
done
for input in whole.data piped.data; do
    same "$input" fxtdump --json @
done
same a.fxt fxtdump --stats @
for input in a.fxt a.fxt.gz b.fxt.zst; do
    same "$input" fxtcat cut --time +0s, -o - @
    same "$input" fxtcat recover -o - @
done
