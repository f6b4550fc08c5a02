#!/bin/sh
# --stats and --verify count most records without looking into them; --offset 0 makes --stats look into
# every one, and all of them must say the same.
set -eu
cd "$WORK"

check() { # check FILE
    "$O/bin/fxtdump" --stats --json "$1" >quick 2>quick.err && quick=0 || quick=$?
    "$O/bin/fxtdump" --stats --json --offset 0 "$1" >slow 2>slow.err && slow=0 || slow=$?
    if [ "$quick" -ne "$slow" ] || ! cmp quick slow || ! cmp quick.err slow.err; then
        echo "$1: counted and read, the statistics differ"
        exit 1
    fi
    "$O/bin/fxtdump" --verify --json "$1" >verify 2>verify.err && verify=0 || verify=$?
    if [ "$verify" -ne "$slow" ] || [ "$(sed 's/.*"damage"/"damage"/' slow)" != "$(sed 's/.*"damage"/"damage"/' verify)" ]; then
        echo "$1: --verify finds other damage than --stats"
        cat verify slow
        exit 1
    fi
}

"$O/tests/tools/fxt_every_kind" >every.fxt
"$O/bench/fxtgen" --kind events --count 20000 >events.fxt
"$O/bench/fxtgen" --kind spans --count 20000 >spans.fxt
"$O/bench/fxtgen" --kind sampler --count 2000 >sampler.fxt
for file in every.fxt events.fxt spans.fxt sampler.fxt; do
    check $file
    # Damaged in many places, and cut.
    awk -v n="$(wc -c <$file)" 'BEGIN { srand(7); for (i = 0; i < 100; i++) print int(64 + rand() * (n - 64)) }' |
        while read -r at; do printf '\377' | dd of=$file bs=1 seek="$at" conv=notrunc 2>/dev/null; done
    check $file
    head -c "$(($(wc -c <$file) - 5))" $file >cut.fxt
    check cut.fxt
done
