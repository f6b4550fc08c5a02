#!/bin/sh
# The same input gives the same bytes, whoever asks, where and when; and two runs of a program the same names, wherever the
# kernel put it.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

# ---- Same input, same bytes ----

languages="C C.UTF-8"
for language in tr_TR.utf8 tr_TR.UTF-8 de_DE.utf8 de_DE.UTF-8; do
    locale -a 2>/dev/null | grep -qx "$language" && languages="$languages $language"
done

# Every result of a trace, in one folder.
results() { # results TRACE FOLDER
    mkdir -p "$2"
    fxt2pprof "$1" -o "$2/pprof.pb.gz" 2>/dev/null
    gzip -dc "$2/pprof.pb.gz" >"$2/pprof.pb"
    fxt2pprof -q --no-symbolize "$1" >"$2/bare.pb.gz" 2>/dev/null
    for from in process thread none; do
        fxt2pprof -q --format folded --root $from "$1" >"$2/folded-$from" 2>/dev/null
    done
    fxt2pprof -q --format folded --no-inlines "$1" >"$2/folded-real" 2>/dev/null
    fxt2pprof -q --format top --rows 0 "$1" >"$2/top" 2>/dev/null
    fxt2pprof --format folded -o "$2/again" "$1" 2>"$2/summary"
    fxtdump "$1" >"$2/dump"
    fxtdump --json "$1" >"$2/dump.json"
    fxtdump --stats "$1" >"$2/stats"
}
same() { # same FOLDER HOW: everything in it is as in first/
    for file in first/*; do
        [ -s "$file" ] || fail "$trace: nothing in $file"
        # The summary names the file that it wrote.
        sed "s,$1/,first/,g" "$1/${file#first/}" >"$1/renamed"
        cmp "$file" "$1/renamed" >&2 || fail "$(basename "$file") differs: $trace, $2"
    done
    rm -rf "$1"
}
check() { # check TRACE
    trace=$1
    rm -rf first
    (TZ=UTC && export TZ && results "$trace" first)
    results "$trace" second
    same second "second run"
    for language in $languages; do
        for zone in Asia/Tokyo America/St_Johns; do
            [ $zone = Asia/Tokyo ] || [ "$language" = C ] || continue
            (
                LC_ALL=$language LANG=$language TZ=$zone
                export LC_ALL LANG TZ
                results "$trace" second
            )
            same second "LC_ALL=$language TZ=$zone"
        done
    done
    # Another folder, another home, another user's terminal, memory that is not zero.
    mkdir -p elsewhere
    cp "$trace" elsewhere/
    (
        cd elsewhere
        HOME=/nonexistent COLUMNS=40 TERM=xterm MALLOC_PERTURB_=165 TMPDIR=$PWD
        export HOME COLUMNS TERM MALLOC_PERTURB_ TMPDIR
        results "$trace" second
        mv second ..
    )
    same second "another folder and environment"
    [ "$(ls elsewhere)" = "$trace" ] || fail "something was left behind: $(ls elsewhere)"
    rm -rf elsewhere
    # The same trace from a pipe and compressed.
    fxt2pprof -q - <"$trace" 2>/dev/null | cmp - first/pprof.pb.gz || fail "$trace: a pipe gives another profile"
    gzip -c "$trace" | fxt2pprof -q - 2>/dev/null | cmp - first/pprof.pb.gz || fail "$trace: gzip gives another profile"
}
for kind in sampler profiler spans; do
    "$O/bench/fxtgen" --kind $kind --count 2000 --stacks 200 >$kind.fxt
    check $kind.fxt
done

. "$ROOT/tests/cli/perf.sh"
${CXX:-g++} -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread -fPIE -pie \
    -o busy "$ROOT/testdata/demo/busy.cpp"
for run in one two; do
    sampler-capture cpu -F 4000 -o $run.fxt -- ./busy 500 >/dev/null 2>err || fail "status $?: $(cat err)"
done
check one.fxt

# ---- Two address layouts, the same names ----

start() { # start TRACE: where the program's code was mapped
    fxt2pprof -q "$1" | gzip -dc | protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/schemas" profile.proto |
        sed -n '/^mapping/,/^}/s/^ *memory_start: //p' | head -n 1
}
if [ "$(cat /proc/sys/kernel/randomize_va_space)" = 0 ]; then
    echo "SKIP: address space layout randomization is off"
    exit 0
fi
[ "$(start one.fxt)" != "$(start two.fxt)" ] || fail "both runs were mapped at $(start one.fxt)"

# All stacks of the three functions that hold a percent of the samples in one run are in the other, by the same text.
for option in '' --no-inlines '--root none'; do
    for run in one two; do
        # shellcheck disable=SC2086 # none, one or two words
        fxt2pprof -q --format folded $option $run.fxt | grep -E 'decode_blocks|index_rows|flush_log' >$run.stacks
        # Functions without names are called by their place in their module, which is no address.
        ! sed 's/\[[^];]*+0x[0-9a-f]*\]//g' $run.stacks | grep -E '0x[0-9a-f]{4}' || fail "addresses in folded text"
        awk '{ value = $NF; sub(/ [0-9]+$/, ""); print $0 "\t" value }' $run.stacks >$run.table
    done
    awk -F '\t' '
        { run = FILENAME; value[run, $1] = $2; sum[run] += $2; stacks[$1] = 1 }
        END {
            for (stack in stacks) {
                for (run in sum) if (value[run, stack] * 100 > sum[run]) hot[stack] = 1
            }
            for (stack in hot) {
                count++
                for (run in sum) if (!((run, stack) in value)) { print "not in " run ": " stack; bad = 1 }
            }
            if (count < 3) { print count + 0 " hot stacks"; bad = 1 }
            exit bad
        }' one.table two.table || fail "two layouts, two profiles"
done
