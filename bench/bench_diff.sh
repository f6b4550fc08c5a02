#!/bin/sh
# What fxtdiff takes for 20 runs of a million samples each, of a program of 50,000 functions; beside fxt2pprof, which reads the same
# traces into one profile, one after another.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
RUNS=${RUNS:-10} # a side
SAMPLES=${SAMPLES:-1000000}

diffruns --symbols >kallsyms
base='' new=''
for i in $(seq "$RUNS"); do
    diffruns --samples "$SAMPLES" --seed "$i" >"base-$i.fxt"
    diffruns --samples "$SAMPLES" --seed "$((100 + i))" --regressed 20 >"new-$i.fxt"
    base="$base base-$i.fxt" new="$new new-$i.fxt"
done
cat ./*.fxt >/dev/null

status=0
# shellcheck disable=SC2086 # lists of files
meter figure fxtdiff --no-cache --symbols kallsyms $base -- $new >report || status=$?
[ $status -eq 1 ] || {
    echo "fxtdiff: status $status, not 1"
    exit 1
}
grep -q 'regressed.*function_number_3$' report
# shellcheck disable=SC2086
meter peer fxt2pprof --quiet --no-cache --symbols kallsyms -o all.pb.gz $base $new

line "20 runs x 1 M samples x 50,000 functions" "$(calc "$(field figure seconds)") s" "fxt2pprof $(calc "$(field peer seconds)") s" \
    "$(calc "$(field figure seconds) / $(field peer seconds)")" "< 10 s" "$(field figure seconds) < 10"
line "memory of that" "$(calc "$(field figure max_rss_kib) / 1024") MiB" "fxt2pprof $(calc "$(field peer max_rss_kib) / 1024") MiB" \
    "$(calc "$(field figure max_rss_kib) / $(field peer max_rss_kib)")" "< 512 MiB" "$(field figure max_rss_kib) < 512 * 1024"
exit $missed
