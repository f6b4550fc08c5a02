#!/bin/sh
# Profiles of gperftools, Go, Java, perf script and Austin: what go tool pprof reads of them is what fxtq and fxtdiff read, and what it
# cannot read is what the program that wrote it meant; damage is counted.
set -eu

. "$ROOT/tests/cli/common.sh"
cd "$WORK"
PATH=$O/bin:$PATH
HOME=$WORK
PPROF_TMPDIR=$WORK
export HOME PPROF_TMPDIR
unset XDG_CACHE_HOME DEBUGINFOD_URLS

mkdir made
python3 "$ROOT/testdata/fuzz/profiles.py" made

# ---- As go tool pprof reads them ----

if command -v go >/dev/null; then
    for file in made/cpu-* made/heap-v* made/growth made/contention made/java-* made/threads; do
        run 0 fxtq export pprof -q "$file" -o out.pb.gz
        run 0 python3 "$ROOT/tests/tools/pprof_raw_same.py" "$file" out.pb.gz
    done
    # Go's tool passes by the names that Go prints.
    for file in made/heap-go made/contention-go made/goroutines; do
        run 0 fxtq export pprof -q "$file" -o out.pb.gz
        run 0 python3 "$ROOT/tests/tools/pprof_raw_same.py" --addresses "$file" out.pb.gz
    done
else
    echo "skipped: go is not installed; not compared with go tool pprof"
fi
# Both byte orders and word sizes are one profile.
fxtq export folded -q --root none made/cpu-32-little >want
for file in made/cpu-32-big made/cpu-64-little made/cpu-64-big; do
    run 0 fxtq export folded -q --root none $file
    cmp -s want out || fail "$file is another profile"
done

# ---- What they say ----

while IFS='|' read -r file type stacks; do
    run 0 fxtq export folded -q --root none --sample-type "$type" "made/$file"
    [ "$(sort out | paste -sd '|')" = "$stacks" ] || fail "$file, $type: $(sort out | paste -sd '|')"
done <<'TABLE'
goroutines|goroutine|[unknown];main.main;main.inner 1|[unknown];main.wait 2
heap-go|alloc_objects|[unknown] 2135|main.main;main.f 4098
contention-go|delay|[unknown];sync.(*Mutex).Unlock 2000
java-contention|delay|[unknown];com.example.Word.count 100
perf-script|cycles|[libc.so.6];std::vector<int>::push_back(int const&);work 250000|f 1|work;inner 250000
perf-script|samples|[libc.so.6];std::vector<int>::push_back(int const&);work 1|f 1|native_write_msr 1|work;inner 1
austin|wall|<module>;:GC: 50000|<module>;work 1250000
austin-full|wall|<module> 50000|<module>;work 1250000
austin-full|cpu|<module>;work 1250000
TABLE
# Threads, times, files and lines.
run 0 fxtq import -q made/perf-script made/austin-full -o text.fxtq
run 0 fxtq --format csv --no-header text.fxtq "
    SELECT p.pid, t.tid, t.name, a.value FROM profile_sample AS s LEFT JOIN thread AS t ON t.id = s.utid
    LEFT JOIN process AS p ON p.id = s.upid
    LEFT JOIN arg AS a ON a.arg_set_id = s.arg_set_id AND a.key_id = (SELECT id FROM string WHERE text = 'timestamp')
    WHERE s.capture_id = 1 ORDER BY s.id"
[ "$(tr -d '\r' <out | tr '\n' '|')" = '0,4711,"my program 12",1234567890000|0,0,swapper,1234567999000|4711,4712,prog,1235000001000|0,9,perf,1236500000000|0,10,one,1236600000000|' ] ||
    fail "threads and times of perf script: $(cat out)"
run 0 fxtq --format csv --no-header text.fxtq "SELECT DISTINCT name, file, line FROM frame_name WHERE file IS NOT NULL ORDER BY 1"
[ "$(tr -d '\r' <out | tr '\n' '|')" = "<module>,/app/main.py,12|work,/app/main.py,7|" ] || fail "places of Austin: $(cat out)"
run 0 fxtq --format csv --no-header text.fxtq "SELECT v.value FROM profile_value AS v JOIN sample_type AS t ON t.id = v.sample_type_id WHERE t.type = 'memory' ORDER BY 1"
[ "$(tr -d '\r' <out | tr '\n' '|')" = "-16384|65536|" ] || fail "memory of Austin: $(cat out)"

# ---- By the other programs, compressed, from a pipe ----

gzip -c made/heap-v2 >heap.gz
run 0 fxtq export folded -q heap.gz
cp out want
fxtq export folded -q - <made/heap-v2 >out || fail "from standard input"
cmp -s want out || fail "compressed, or from a pipe: another profile"
sed 's/1: 3072 \[ 1: 3072\]/9: 27648 [ 9: 27648]/' made/heap-v2 >larger
fxtdiff --json made/heap-v2 larger >out 2>err || [ $? != 3 ] || fail "fxtdiff: $(cat err)"
grep -q space out || fail "fxtdiff does not compare heap profiles as text: $(head -n 3 out)"
run 3 fxt2pprof made/heap-v2
says "made/heap-v2 is a heap profile as text: 'fxtq export pprof made/heap-v2 -o FILE' converts it"

# ---- Damage ----

# What makes no sense is counted, with the place of the first; the rest is read.
awk '{ print } /mode/ { print "P1;T2;f:g:1 no number" ; print "what is this" }' made/austin >odd
run 3 fxtq export folded -q --root none odd
says "odd: 2 unreadable entries"
[ "$(sort out | tr '\n' '|')" = "<module>;:GC: 50000|<module>;work 1250000|" ] || fail "the rest of odd: $(cat out)"
run 3 fxtq import -q odd -o odd.fxtq
[ "$(sqlite3 odd.fxtq "SELECT count, first_offset FROM damage WHERE kind = 'bad_entries'")" = "2|$(grep -b 'no number' odd | cut -d: -f 1)" ] ||
    fail "damage of odd: $(sqlite3 odd.fxtq 'SELECT * FROM damage')"
# A stack deeper than the file, or than any stack.
python3 -c 'import struct, sys
open("deep", "wb").write(struct.pack("<9Q", 0, 3, 0, 10000, 0, 3, 1, 0x400100, 1) + struct.pack("<2Q", 1 << 60, 7))
open("short", "wb").write(struct.pack("<10Q", 0, 3, 0, 10000, 0, 3, 1, 0x400100, 1, 5))'
run 3 fxtq import -q deep -o deep.fxtq
says "deep: 1 unreadable entry"
run 3 fxtq import -q short -o short.fxtq
says "short: cut short at byte 64"
# More events than a file can have: their samples count, and it is said.
for event in $(seq 70); do
    printf 'prog 1 [000] %d.000000: %d event%d: \n\t  400100 work+0x0 (/bin/prog)\n\n' "$event" 5 "$event"
done >many
run 3 fxtq export folded -q --sample-type samples --root none many
says "many: 7 samples of a 64th and further events, without their periods"
[ "$(cat out)" = "work 70" ] || fail "the samples of many events: $(cat out)"
run 3 fxtq import -q many -o many.fxtq
[ "$(sqlite3 many.fxtq "SELECT count FROM damage WHERE kind = 'more_events'")" = 7 ] || fail "damage of many: $(sqlite3 many.fxtq 'SELECT * FROM damage')"
# Cut anywhere: a sentence, and never more than is there.
for file in made/*; do
    size=$(wc -c <"$file")
    for part in 1 2 3 4 5 6 7; do
        head -c $((size * part / 8)) "$file" >half
        status=0
        fxtq export folded -q half >out 2>err || status=$?
        case $status in 0 | 3) ;; *) fail "$file, $part of 8: status $status, $(cat err)" ;; esac
    done
done
# What is none of them says what to do.
printf 'heap profile: what\n' >foreign
run 3 fxtq export folded -q foreign
finish
