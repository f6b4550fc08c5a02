#!/bin/sh
# A program that knows what its functions took, captured, converted, and compared with what it says.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

# The judge first: it must take what is right and refuse what is wrong.
chi2() { # chi2 fit|two FILE: status and figures of the test
    awk -f "$ROOT/tests/tools/chi2.awk" -v mode="$1" "$2"
}
printf 'a 7050 70\nb 1970 20\nc 980 10\n' >good
printf 'a 7000 70\nb 1850 20\nc 1150 10\n' >bad
chi2 fit good >figures || fail "a good fit is refused: $(cat figures)"
grep -q '^chi2 = 1.21, 2 degrees of freedom, p = 0.5469:' figures || fail "$(cat figures)"
! chi2 fit bad >figures || fail "a bad fit is taken: $(cat figures)"

. "$ROOT/tests/cli/perf.sh"

${CXX:-g++} -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread \
    -o busy "$ROOT/testdata/demo/busy.cpp"

count() { # count NAME: samples anywhere below a function of busy.cpp
    awk -v name="::$1(" 'index($0, name) { sum += $NF } END { print sum / 250000 }' stacks
}
measure() {
    sampler-capture cpu -F 4000 -o busy.fxt -- ./busy 1500 >said 2>err || fail "status $?: $(cat err)"
    fxt2pprof --format folded --root none busy.fxt >stacks 2>err || fail "status $?: $(cat err)"
    total=$(awk '{ sum += $NF } END { print sum / 250000 }' stacks)
    decode=$(count decode_blocks) index=$(count index_rows) flush=$(count flush_log)
    works=$((decode + index + flush))
    [ "$total" -ge 20000 ] || fail "$total samples, fewer than 20,000"
    [ $(((total - works) * 50)) -le "$total" ] || fail "$((total - works)) of $total samples are of other functions"

    # What the program was made for, and what it measured itself.
    printf 'decode_blocks %s 70\nindex_rows %s 20\nflush_log %s 10\n' "$decode" "$index" "$flush" >made_for
    awk 'NR == FNR { count[$1] = $2; next } { print $1, count[$1], $2 }' made_for said >measured
    [ "$(wc -l <measured)" -eq 3 ] || fail "the program said: $(cat said)"
    chi2 fit made_for && chi2 fit measured
}
# Where a hypervisor takes CPUs away in the middle, samples and clocks disagree: one good measurement of three is enough, an
# error of the tools would be in all.
measure || measure || measure || fail "not 70/20/10"

# The same with --profile and --root spelled out: naming the default changes nothing.
fxt2pprof -q --format folded --root none --profile cpu busy.fxt | cmp - stacks

# Every worker is a thread of its own, with a quarter of the time.
fxt2pprof -q --format pprof busy.fxt -o busy.pb.gz
export HOME="$WORK" PPROF_TMPDIR="$WORK"
go tool pprof -raw busy.pb.gz >raw 2>err || fail "pprof -raw: $(cat err)"
[ ! -s err ] || fail "pprof -raw complains: $(cat err)"
awk '
    /^Samples:/ { on = 1 }
    /^Locations/ { on = 0 }
    on && $1 ~ /^[0-9]+$/ { n = $1 }
    on && match($0, /tid:\[[0-9]+/) { count[substr($0, RSTART + 5, RLENGTH - 5)] += n }
    END { for (tid in count) print tid, count[tid], 1 }' raw | LC_ALL=C sort -k2,2nr >tids
head -n 4 tids >workers
[ "$(wc -l <workers)" -eq 4 ] || fail "threads: $(cat tids)"
chi2 fit workers || fail "not a quarter each"
others=$(awk 'NR > 4 { sum += $2 } END { print sum + 0 }' tids)
[ $((others * 50)) -le "$total" ] || fail "$others samples of other threads: $(cat tids)"
pid=$(sed -n 's/.* pid:\[\([0-9]*\).*/\1/p' raw | sort -u)
[ "$(echo "$pid" | wc -w)" -eq 1 ] || fail "more than one process: $pid"
grep -q 'process:\[busy\] thread:\[busy\]' raw || fail "no names: $(head -n 12 raw)"

# One thread alone is that thread's samples.
read -r tid wanted _ <workers
alone=$(fxt2pprof -q --format folded --tid "$tid" busy.fxt | awk '{ sum += $NF } END { print sum / 250000 }')
[ "$alone" = "$wanted" ] || fail "--tid $tid: $alone samples, not $wanted"
for option in --pid --tid; do
    none=$(fxt2pprof -q --format folded $option 1 busy.fxt 2>err)
    [ -z "$none" ] || fail "$option 1: $none"
    grep -q '^fxt2pprof: .*no samples' err || fail "$option 1 says: $(cat err)"
done
