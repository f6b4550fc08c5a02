#!/bin/sh
# The same program under perf and under sampler-capture: functions, and who called them, have the same shares.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"
if ! perf record -q -e task-clock:u -F 4000 -g -o probe.data -- true >err 2>&1; then
    echo "SKIP: perf record does not run here"
    exit 0
fi

${CXX:-g++} -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o busy "$ROOT/testdata/demo/busy.cpp"

# One line a sample: "CALLER;FUNCTION", both real functions, not inlined ones.  The two tools have different names for what
# is not of the program, and say them only where symbols are: all that is "other".
pairs() {
    awk '
        function plain(name) {
            return match(name, /::(decode_blocks|index_rows|flush_log|serve)/) ? substr(name, RSTART + 2, RLENGTH - 2) : "other"
        }
        BEGIN { FS = "\t" }
        { print plain($2) ";" plain($1) }'
}
ours() {
    sampler-capture cpu -F 4000 --unwind fp -o busy.fxt -- ./busy 1500 >/dev/null 2>err || fail "status $?: $(cat err)"
    fxt2pprof -q --no-inlines --root none --format folded busy.fxt >stacks 2>err || fail "status $?: $(cat err)"
    awk '{
        count = $NF / 250000
        sub(/ [0-9]+$/, "")
        n = split($0, frame, ";")
        for (i = 0; i < count; i++) print frame[n] "\t" frame[n - 1]
    }' stacks | pairs >ours
}
theirs() {
    perf record -q -e task-clock:u -F 4000 -g -o perf.data -- ./busy 1500 >/dev/null 2>err || fail "perf record: $(cat err)"
    perf script -i perf.data -F ip,sym --no-inline >samples 2>err || fail "perf script: $(cat err)"
    # A paragraph a sample; a line a frame, leaf first: address and name.
    awk 'BEGIN { RS = ""; FS = "\n" }
        {
            for (i = 1; i <= 2; i++) sub(/^[ \t]*[0-9a-f]+ /, "", $i)
            print $1 "\t" $2
        }' samples | pairs >theirs
}
compare() {
    ours
    theirs
    for side in ours theirs; do
        [ "$(wc -l <$side)" -ge 20000 ] || fail "$side: $(wc -l <$side) samples, fewer than 20,000"
        [ "$(grep -c '^serve;' $side)" -ge 15000 ] || fail "$side: callers are missing: $(sort $side | uniq -c)"
    done
    for part in 's/.*;//' ''; do
        sed "$part" ours >ours.cells
        sed "$part" theirs >theirs.cells
        awk 'NR == FNR { n[$1]++; next } { m[$1]++ }
            END {
                for (k in m) n[k] += 0
                for (k in n) print k, n[k], m[k] + 0
            }' ours.cells theirs.cells | LC_ALL=C sort >cells
        [ "$(wc -l <cells)" -ge 4 ] || fail "functions: $(cat cells)"
        awk -f "$ROOT/tests/tools/chi2.awk" -v mode=two cells || return 1
    done
}
# As in test_truth.sh, a hypervisor may spoil one measurement, but an error of ours would be in all.
compare || compare || compare || fail "not the functions that perf sees"
