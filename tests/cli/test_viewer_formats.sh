#!/bin/sh
# Formats for viewers: what they add up, by function and thread, is what pprof adds up; times, files and lines are those of the trace.
set -eu

. "$ROOT/tests/cli/fail.sh"

totals() { python3 "$ROOT/tests/tools/viewer_totals.py" "$@"; }
fxtgen=$(dirname "$(command -v fxt2pprof)")/../bench/fxtgen
cd "$WORK"

same() { # same TRACE OPTION...: all formats that can hold it agree with pprof
    trace=$1
    shift
    fxt2pprof -q --no-symbolize "$@" "$trace" -o "$trace.pprof" || fail "$trace: pprof: status $?"
    totals pprof "$trace.pprof" >want
    [ -s want ] || fail "$trace: nothing in it"
    for format in speedscope firefox perfetto; do
        status=0
        fxt2pprof -q --no-symbolize -f $format "$@" "$trace" -o "$trace.$format" 2>err || status=$?
        if [ "$format" = perfetto ] && [ "$trace" != cpu.fxt ]; then
            [ $status -eq 2 ] || fail "$trace $*: status $status for $format, not 2"
            says 'these samples have no times'
            [ ! -e "$trace.$format" ] || fail "$trace: a file is left"
            continue
        fi
        [ $status -eq 0 ] || fail "$trace $*: $format: status $status: $(cat err)"
        totals $format "$trace.$format" >got || fail "$trace $*: $format cannot be read"
        if [ "$format" = speedscope ]; then # has names of threads, not their numbers
            grep -v '^thread ' want >named
            cmp -s named got || fail "$trace $*: $format adds up to other sums: $(diff named got | head -5)"
        else
            cmp -s want got || fail "$trace $*: $format adds up to other sums: $(diff want got | head -5)"
        fi
    done
}
"$fxtgen" --count 4000 --processes 2 --threads 3 --stacks 300 >cpu.fxt
"$fxtgen" --kind heap --count 2000 >heap.fxt
"$fxtgen" --kind spans --count 2000 >spans.fxt
same cpu.fxt
same spans.fxt
same heap.fxt --profile heap
same heap.fxt --profile heap --sample-type alloc_objects
same heap.fxt --profile heap-free

# A store gives the same as its trace, and an imported profile, too.
for trace in cpu heap; do
    fxtq import -q $trace.fxt -o $trace.fxtq
    fxtq export -q pprof $trace.fxtq -o store.pprof
    totals pprof store.pprof >want
    for format in firefox perfetto speedscope; do
        status=0
        fxtq export -q $format $trace.fxtq -o store.$format 2>err || status=$?
        if [ $format = perfetto ] && [ $trace = heap ]; then
            [ $status -eq 2 ] || fail "$trace.fxtq: status $status for perfetto, not 2"
            says 'these samples have no times'
            continue
        fi
        [ $status -eq 0 ] || fail "$trace.fxtq: $format: status $status: $(cat err)"
        totals $format store.$format >got
        [ $format != speedscope ] || sed -i '/^thread /d' want # last: see same()
        [ $trace = cpu ] || sed -i '/^thread /d' want got      # the heap of a store has no threads
        cmp -s want got || fail "$trace.fxtq: $format adds up to other sums: $(diff want got | head -5)"
    done
done
totals --times firefox cpu.fxt.firefox >want
fxtq export -q firefox cpu.fxtq -o store.firefox
totals --times firefox store.firefox >got
cmp -s want got || fail "cpu.fxtq: times: $(diff want got | head -5)"
for source in cpu.fxt.pprof folded; do
    [ -e "$source" ] || fxt2pprof -q --no-symbolize -f folded --root none cpu.fxt -o "$source"
    for format in speedscope firefox; do
        fxtq export -q $format "$source" -o imported.$format || fail "$source: $format: status $?"
        totals $format imported.$format | sed '/^thread /d' >got
        totals pprof cpu.fxt.pprof | sed '/^thread /d' >want
        cmp -s want got || fail "$source: $format adds up to other sums: $(diff want got | head -5)"
    done
done
fxtq export -q firefox --focus 'libgen1' --comm 'no such thread' cpu.fxtq -o nothing.json 2>err || fail "nothing: status $?"
says 'the export is empty'

# Every sample has its time, the same in both formats that show it.
totals --times firefox cpu.fxt.firefox >firefox.times
[ "$(wc -l <firefox.times)" -eq 4000 ] || fail "$(wc -l <firefox.times) samples, not 4000"
totals --times perfetto cpu.fxt.perfetto >perfetto.times
cmp -s firefox.times perfetto.times || fail "times differ: $(diff firefox.times perfetto.times | head -5)"

# Inlined functions, files and lines.
. "$ROOT/tests/cli/inlined.sh"
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
outer=$(nm full | awk '$3 == "outer" { print $1 }')
python3 "$ROOT/tests/tools/one_sample.py" "$WORK/full" "$id" "$outer" >one.fxt
for format in pprof speedscope firefox perfetto; do
    fxt2pprof -q -f $format one.fxt -o one.$format || fail "one.fxt: $format: status $?"
    totals --places $format one.$format | sed "s,$WORK/,," >places.$format
done
[ "$(cut -f1 places.pprof | tr '\n' ' ')" = 'inner outer ' ] || fail "$(cat places.pprof)"
cmp -s places.pprof places.firefox || fail "places: $(diff places.pprof places.firefox)"
cmp -s places.pprof places.perfetto || fail "places: $(diff places.pprof places.perfetto)"
printf 'inner\tprogram.c:1\nouter\tprogram.c:2\n' >want
cmp -s want places.speedscope || fail "functions do not begin in lines 1 and 2: $(cat places.speedscope)"

# An empty profile is a file that viewers open, and a format says what it needs.
"$fxtgen" --kind spans --count 100 >other.fxt
for format in speedscope firefox perfetto; do
    fxt2pprof -q --profile cpu -f $format other.fxt -o empty.$format 2>err || fail "empty: $format: status $?"
    says 'the profile is empty'
    totals $format empty.$format >got || fail "empty: $format cannot be read"
    [ ! -s got ] || fail "empty: $format: $(cat got)"
done

# Memory follows stacks and threads, not samples.
cat >peak.py <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit("%d KiB: %s" % (peak, sys.argv[2:]) if peak > int(sys.argv[1]) else 0)
PY
if ! nm "$(command -v fxt2pprof)" | grep -q __asan_init; then
    "$fxtgen" --count 1000000 --stacks 500 --depth 12 >large.fxt
    for format in speedscope firefox perfetto; do
        python3 peak.py 65536 fxt2pprof -q --no-symbolize -f $format large.fxt -o large.out || fail "more than 64 MiB for $format"
    done
    rm -f large.fxt large.out
fi

# ---- The viewers themselves ----

packages=$(dirname "$(command -v fxt2pprof)")/../viewers
if [ ! -e "$packages/node_modules/speedscope" ]; then
    mkdir -p "$packages"
    HOME=$WORK timeout 90 npm install --silent --no-audit --no-fund --fetch-retries=1 --prefix "$packages" \
        speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 >npm.log 2>&1 || rm -rf "$packages/node_modules"
fi
if [ ! -e "$packages/node_modules/speedscope" ]; then
    echo "SKIP: packages of viewers cannot be installed here"
    exit 0
fi
"$fxtgen" --count 3000 --processes 1 --threads 1 --stacks 60 >single.fxt
for viewer in firefox speedscope; do
    fxt2pprof -q --no-symbolize -f $viewer single.fxt -o single.$viewer
    totals $viewer single.$viewer | grep -v '^thread ' >want
    case $viewer in
    firefox) python=python3 ;;
    *)
        python=
        for candidate in python3 /usr/bin/python3; do # Debian's may not be the first in PATH
            "$candidate" -c 'import selenium' 2>/dev/null && python=$candidate && break
        done
        if [ -z "$python" ] || ! command -v chromedriver >/dev/null; then
            echo "SKIP: chromium is not here"
            exit 0
        fi
        ;;
    esac
    HOME=$WORK "$python" "$ROOT/tests/tools/viewer_import.py" $viewer single.$viewer "$packages/node_modules" >got ||
        fail "$viewer does not open it"
    # speedscope shows three digits.
    awk -F '\t' -v viewer=$viewer '
        NR == FNR { own[$1] = $2 / 1e6; total[$1] = $3 / 1e6; next }
        function off(a, b) { return a - b > b * 0.006 + 0.006 || b - a > b * 0.006 + 0.006 }
        !($1 in own) || off($2, own[$1]) || off($3, total[$1]) { print viewer ": " $0; bad = 1 }
        { seen++ }
        END { if (seen < 5) print viewer ": only " seen " functions"; exit bad || seen < 5 }' want got || fail "$viewer adds up to other sums"
done
