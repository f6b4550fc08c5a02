#!/bin/sh
# Profiles in a store - pprof, folded stacks - and pprof out of it: sums, stacks and names as fxt2pprof and Go's pprof have them.
set -eu

failed=0
fail() {
    echo "FAIL: $*"
    failed=1
}
run() { # run STATUS COMMAND...: to out and err
    expected=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq "$expected" ] || fail "$*: status $status, not $expected: $(cat err)"
}
says() { # says TEXT: in err
    grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"
}
same() { # same A B WHAT
    cmp -s "$1" "$2" || fail "$3: $(diff "$1" "$2" | head -n 6)"
}
raw() { go tool pprof -symbolize=none -raw "$1" 2>/dev/null; }
sums() { python3 "$ROOT/tests/tools/pprof_meaning.py" "$1" stacks; }
ask() { fxtq --format csv --no-header "$@"; }

cd "$WORK"
HOME=$WORK
PPROF_TMPDIR=$WORK
export HOME PPROF_TMPDIR
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH

# ---- A trace, and its profile as other programs have it ----

"$O/bench/fxtgen" --kind profiler --stacks 200 --depth 30 --count 3000 >cpu.fxt
fxt2pprof -q -o cpu.pb.gz cpu.fxt
fxt2pprof -q --format folded --root none -o cpu.folded cpu.fxt
run 0 fxtq import cpu.pb.gz -o profile.fxtq
says "cpu.pb.gz: imported a profile into profile.fxtq"
run 0 fxtq import -q cpu.fxt -o trace.fxtq

# The same profile out of the trace's store, and out of its own.
for store in trace profile; do
    run 0 fxtq export pprof -q $store.fxtq -o out.pb.gz
    raw cpu.pb.gz >want
    raw out.pb.gz >got
    same want got "pprof of the $store"
    run 0 fxtq export folded -q --root none $store.fxtq
    same cpu.folded out "folded stacks of the $store"
done

# Reports do not tell one from the other; threads and processes are known from labels.
for report in top tree 'callers main' 'top --pid 1000' 'top --focus libgen1' 'top --ignore libgen3'; do
    # shellcheck disable=SC2086 # words
    fxtq report $report --json trace.fxtq >want 2>/dev/null || true
    # shellcheck disable=SC2086
    fxtq report $report --json profile.fxtq >got 2>/dev/null || true
    [ -s want ] || [ "$report" = 'callers main' ] || fail "report $report: nothing"
    same want got "report $report"
done
by_thread="SELECT pid, tid, p.name, t.name FROM thread t JOIN process p ON p.id = t.upid ORDER BY 1, 2"
ask trace.fxtq "$by_thread" >want
ask profile.fxtq "$by_thread" >got
same want got "threads"

# Filters of the export are pprof's.
for filter in '--focus libgen1' '--ignore libgen3'; do
    # shellcheck disable=SC2086
    run 0 fxtq export pprof -q $filter profile.fxtq -o ours.pb.gz
    # shellcheck disable=SC2086
    run 0 fxtq export pprof -q $filter trace.fxtq -o traces.pb.gz
    # shellcheck disable=SC2046,SC2086
    go tool pprof -symbolize=none -proto -output theirs.pb.gz $(echo $filter | sed 's/--\(.*\) /-\1=/') cpu.pb.gz >/dev/null 2>&1
    sums ours.pb.gz >got
    sums theirs.pb.gz >want
    same want got "$filter, as pprof has it"
    sums traces.pb.gz >got
    same want got "$filter of a trace"
    [ -s want ] || fail "$filter: nothing"
done
run 0 fxtq export pprof -q --hide 'libgen[12]' profile.fxtq -o ours.pb.gz
run 0 fxtq export pprof -q --hide 'libgen[12]' trace.fxtq -o traces.pb.gz
sums ours.pb.gz >got
sums traces.pb.gz >want
same want got "hide"
[ "$(raw ours.pb.gz | grep -c 'libgen1')" -lt "$(raw cpu.pb.gz | grep -c 'libgen1')" ] || fail "hide: locations are there"
run 0 fxtq export pprof -q --pid 1000 profile.fxtq -o ours.pb.gz
run 0 fxt2pprof -q --pid 1000 -o theirs.pb.gz cpu.fxt
sums ours.pb.gz >got
sums theirs.pb.gz >want
same want got "--pid"
run 2 fxtq export pprof --time +1s,+2s profile.fxtq -o ours.pb.gz
says "have no time"
run 2 fxtq export pprof --sample-type nothing profile.fxtq -o ours.pb.gz
says "there are no samples of type 'nothing'"

# ---- The heap ----

"$O/bench/fxtgen" --kind heap --count 2000 >heap.fxt
run 0 fxtq import -q heap.fxt -o heap.fxtq
for kind in heap heap-free; do
    type=inuse_space
    [ $kind = heap ] || type=free_space
    run 0 fxt2pprof -q --profile $kind -o theirs.pb.gz heap.fxt
    run 0 fxtq export pprof -q --sample-type $type heap.fxtq -o ours.pb.gz
    sums ours.pb.gz >got
    sums theirs.pb.gz >want
    # fxt2pprof has the threads apart, and rounds for each.
    python3 - want got <<'END' || fail "$kind: not the same sums"
import ast
import sys
want, got = ({line.rsplit(" [", 1)[0]: ast.literal_eval("[" + line.rsplit(" [", 1)[1]) for line in open(name)} for name in sys.argv[1:])
assert want.keys() == got.keys() and want
for key in want:
    assert all(abs(a - b) <= 4 for a, b in zip(want[key], got[key])), key
END
    raw ours.pb.gz | head -n 2 >got
    raw theirs.pb.gz | head -n 2 >want
    same want got "$kind: period"
    fxt2pprof -q --profile $kind -o heap.pb.gz heap.fxt
    rm -f again.fxtq
    run 0 fxtq import -q heap.pb.gz -o again.fxtq
    run 0 fxtq export pprof -q again.fxtq -o ours.pb.gz
    raw heap.pb.gz >want
    raw ours.pb.gz >got
    same want got "$kind, there and back"
done

# ---- Traces of others ----

for trace in "${FXT_SHARED_DATA:-$ROOT/../shared/data}"/fxt/*.fxt* "${FXT_SHARED_DATA:-$ROOT/../shared/data}"/fxt/*/*.fxt; do
    [ -e "$trace" ] || continue
    fxt2pprof -q -o real.pb.gz "$trace" 2>/dev/null || true
    [ -s real.pb.gz ] || continue
    rm -f real.fxtq
    run 0 fxtq import -q real.pb.gz -o real.fxtq
    run 0 fxtq export pprof -q real.fxtq -o ours.pb.gz
    raw real.pb.gz >want
    raw ours.pb.gz >got
    same want got "$trace"
done

# ---- Names for a profile that has none ----

# Where code is in its file is not where it is loaded: the segments of the file say.
cat >program.c <<'END'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
END
gcc -O1 -g -no-pie -Wl,--build-id=sha1 -o program program.c
id=$(readelf -n program | sed -n 's/.*Build ID: //p')
vaddr=$(nm program | awk '$3 == "outer" { print $1 }')
load=$(readelf -lW program | awk '$1 == "LOAD" && $0 ~ / R E / { print $2, $3 }')
python3 - "$id" "$vaddr" "$load" >plain.txt <<'END'
import sys
id_, vaddr, load = sys.argv[1], int(sys.argv[2], 16), [int(x, 16) for x in sys.argv[3].split()]
base = 0x70000000
print('sample_type { type: 1 unit: 2 } sample { location_id: 1 value: 5 }')
print('mapping { id: 1 memory_start: %d memory_limit: %d file_offset: %d filename: 3 build_id: 4 }' % (base, base + 0x100000, load[0]))
print('location { id: 1 mapping_id: 1 address: %d }' % (base + vaddr - load[1]))
print('string_table: "" string_table: "samples" string_table: "count" string_table: "/nowhere/program" string_table: "%s"' % id_)
END
protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto <plain.txt >plain.pb
run 0 fxtq import -q plain.pb -o plain.fxtq
run 6 fxtq coverage --require-symbols 50 plain.fxtq
run 0 fxtq symbolize -q --symbols program plain.fxtq
run 0 fxtq coverage --require-symbols 100 plain.fxtq
run 0 fxtq export folded -q --root none plain.fxtq
[ "$(cat out)" = 'outer;inner 5' ] || fail "names for a profile: $(cat out)"
run 0 fxtq export pprof -q plain.fxtq -o named.pb.gz
raw named.pb.gz >got
grep -q 'inner .*program.c:1' got || fail "names in the profile: $(cat got)"
grep -q '/nowhere/program .*\[FN\]' got || fail "pprof would look names up again: $(cat got)"

# ---- How profiles come ----

gzip -dc cpu.pb.gz >bare.pb
zstd -q bare.pb -o cpu.pb.zst
for file in bare.pb cpu.pb.zst; do
    run 0 fxtq import $file -o profile.fxtq
    says "already in profile.fxtq, as capture 1"
done
fxtq import - -o profile.fxtq <cpu.pb.gz 2>err || fail "standard input: $(cat err)"
says "standard input: already in profile.fxtq, as capture 1"
gzip -dc cpu.pb.gz | fxtq import - -o profile.fxtq 2>err || fail "a pipe: $(cat err)"
says "standard input: already in profile.fxtq, as capture 1"
# shellcheck disable=SC2002 # a pipe is meant
cat cpu.fxt | fxtq import - -o pipe.fxtq 2>err || fail "a trace from a pipe: $(cat err)"
[ "$(ask pipe.fxtq 'SELECT count(*) FROM cpu_sample')" = 3000 ] || fail "a trace from a pipe: $(cat err)"
[ "$(ask cpu.pb.gz 'SELECT sum(value) FROM profile_value WHERE ordinal = 0')" = 3000 ] || fail "SQL over a profile"
run 0 fxtq report top cpu.pb.gz
run 0 fxtq flamegraph cpu.pb.gz -o page.html
[ -s page.html ] || fail "no flame graph"
run 0 fxtq report threads cpu.pb.gz
run 0 fxtq report cpu cpu.pb.gz
run 0 fxtq import -q cpu.fxt cpu.pb.gz cpu.folded -o all.fxtq
[ "$(ask all.fxtq 'SELECT group_concat(format) FROM (SELECT format FROM capture ORDER BY id)')" = '"fxt,pprof,folded"' ] ||
    fail "three formats in a store: $(ask all.fxtq 'SELECT format FROM capture')"
run 2 fxtq export pprof all.fxtq -o ours.pb.gz
says "choose one by its id"
run 0 fxtq export pprof -q --capture 2 all.fxtq -o ours.pb.gz
raw cpu.pb.gz >want
raw ours.pb.gz >got
same want got "one capture of three"

# A sample counts for what it stands for, whoever counts: the store's sums, threads, processes.
"$O/bench/fxtgen" --kind spans --count 2000 >spans.fxt
fxt2pprof -q -o spans.pb.gz spans.fxt
run 0 fxtq import -q spans.pb.gz -o spans.fxtq
for type in "wall spans.fxtq" "spans spans.fxtq" "samples cpu.pb.gz" "samples cpu.folded"; do
    store=${type#* }
    type=${type% *}
    counts=$(ask "$store" "SELECT (SELECT sum(count) FROM call_top WHERE type = '$type' AND per = 'process')" \
        "SELECT sum(n) FROM callsite_sum JOIN sample_type AS t ON t.id = sample_type_id WHERE t.type = '$type'" | sort -u)
    [ "$store" = cpu.folded ] || counts=$(printf '%s\n' "$counts" "$(ask "$store" "SELECT sum(count) FROM call_top WHERE type = '$type' AND per = 'thread'")" | sort -u)
    [ "$(echo "$counts" | tr -d '\r' | grep -c '^[0-9]\{3,\}$')" = "$(echo "$counts" | wc -l)" ] || fail "counts of $type in $store: $counts"
    [ "$(echo "$counts" | wc -l)" = 1 ] || fail "counts of $type in $store: $counts"
done
threads=$(fxtq report threads --json -n 0 cpu.pb.gz | python3 -c 'import json, sys; print(sum(json.loads(l)["samples"] for l in sys.stdin))')
[ "$threads" = 3000 ] || fail "report threads of a profile counts $threads samples, not 3000"

# ---- Folded stacks ----

printf 'main;a b;c 3\nmain;a b 4\n\nmain 1.5\nodd 7 2\nmain;;x 1\r\n' >odd.folded
run 0 fxtq import -q odd.folded -o odd.fxtq
[ "$(ask odd.fxtq "SELECT type, unit, sum(value) FROM callsite_sum JOIN sample_type t ON t.id = sample_type_id" | tr -d '\r')" = 'samples,count,11.5' ] ||
    fail "odd folded stacks: $(ask odd.fxtq 'SELECT * FROM callsite_sum')"
[ "$(ask odd.fxtq "SELECT sum(n), (SELECT total(count) FROM call_top WHERE per = 'process'), (SELECT total(count) FROM callsite_counts WHERE pid = 0) FROM callsite_sum" |
    tr -d '\r')" = '11.5,11.5,11.5' ] || fail "counts of odd folded stacks: $(ask odd.fxtq 'SELECT * FROM callsite_sum')"
[ "$(ask odd.fxtq "SELECT name FROM frame_name WHERE name LIKE 'odd%'" | tr -d '\r')" = '"odd 7"' ] || fail "a frame that ends in a number"
run 0 fxtq export pprof -q odd.fxtq -o odd.pb.gz
go tool pprof -symbolize=none -traces odd.pb.gz >out 2>err || fail "pprof and folded stacks: $(cat err)"
[ "$(sums odd.pb.gz | grep -c .)" = 5 ] || fail "folded stacks as pprof: $(sums odd.pb.gz)"
# What is folded again is what it was: fractions, and quotes that are part of a name.
printf "a\"b;c 0.5\nmain;<&'a T>::f 3.25\nmain;<&'a T>::f 0.25\nmain;g 2\n" >quoted.folded
run 0 fxtq import -q quoted.folded -o quoted.fxtq
run 0 fxtq export folded -q --root none quoted.fxtq -o quoted.out
printf "a\"b;c 0.5\nmain;<&'a T>::f 3.5\nmain;g 2\n" | cmp -s - quoted.out || fail "folded again: $(cat quoted.out)"
run 0 fxtq export csv -q quoted.fxtq -o quoted.csv
grep -q ',3\.25,' quoted.csv || fail "a fraction in CSV: $(cat quoted.csv)"
# Go's text is a profile with debug=1, and none with debug=2.
printf 'goroutine profile: total 1\n1 @ 0x43 0x42\n#\t0x43\tmain.main+0x1\t/x.go:3\n' >go.txt
run 0 fxtq export folded -q --root none go.txt
printf '[unknown];main.main 1\n' | cmp -s - out || fail "text of Go: $(cat out)"
printf 'goroutine 1 [running]:\nmain.main()\n\t/x.go:3 +0x1d\n' >go2.txt
run 3 fxtq import go2.txt -o go2.fxtq
says "fetch them with debug=1, or without it"
[ ! -e go2.fxtq ] || fail "a dump of goroutines became a store"
run 3 fxt2pprof quoted.folded
says "fxtq and fxtdiff read them"
run 3 fxt2pprof cpu.pb.gz
says "a pprof profile already: fxtq and fxtdiff read it"
run 3 fxt2pprof quoted.fxtq
says "fxtq report top quoted.fxtq"
printf 'main;a 3 4\nmain;b 5 0\nmain 7\n' >wide.folded
run 3 fxtq import wide.folded -o wide.fxtq
says "1 line with one count in a file of two"
[ "$(ask wide.fxtq "SELECT group_concat(type || '=' || total, ' ') FROM (SELECT type, sum(value) AS total FROM callsite_sum JOIN sample_type t ON t.id = sample_type_id GROUP BY t.id)" | tr -d '"\r')" = 'base=8 new=4' ] ||
    fail "two columns: $(ask wide.fxtq 'SELECT * FROM callsite_sum')"

# ---- Damage ----

head -c $(($(wc -c <bare.pb) - 5)) bare.pb >cut.pb
run 3 fxtq import cut.pb -o cut.fxtq
says "cut.pb: cut short at byte"
[ "$(ask cut.fxtq "SELECT kind, count, is_loss FROM damage WHERE kind = 'truncated_tail'" | tr -d '"\r')" = 'truncated_tail,1,1' ] || fail "damage is not kept"
printf '\012\004\010\001\020\002\022\011\012\001\001\022' >nothing.pb # cut in its first sample
run 3 fxtq import nothing.pb -o nothing.fxtq
says "nothing.pb: cut short before its strings"
[ ! -e nothing.fxtq ] || fail "a store of nothing"
head -c $(($(wc -c <cpu.pb.gz) / 2)) cpu.pb.gz >cut.pb.gz
run 3 fxtq import cut.pb.gz -o cutgz.fxtq
printf 'main;a 3\nno number here\nmain 4\n' >bad.folded
run 3 fxtq import bad.folded -o bad.fxtq
says "bad.folded: 1 line without a count"
[ "$(ask bad.fxtq 'SELECT count(*) FROM profile_sample' 2>/dev/null | tr -d '\r')" = 2 ] || fail "what is readable is not there"
run 3 fxtq bad.folded 'SELECT 1'
# A line over the limit: the message names the option, which lifts it.
python3 -c 'print("main;work 3"); print("main;" + "x" * (17 << 20) + " 1")' >long.folded
run 3 fxtq import long.folded -o long.fxtq
says "long.folded: 1 entry or line too long to be read"
says "'fxtq import --no-limit' lifts this limit"
run 0 fxtq import --no-limit long.folded -o longer.fxtq
says "2 samples"
cp long.folded same.folded
fxtdiff long.folded same.folded >out 2>err || :
says "same.folded: 1 entry or line too long to be read"
says "--no-limit lifts this limit"
fxtdiff --no-limit long.folded same.folded >out 2>err || :
! grep -q 'too long' err || fail "fxtdiff --no-limit: $(cat err)"
rm long.folded same.folded
run 3 fxtq import -q --force cpu.pb.gz -o forced.fxtq


# ---- What cannot be read does not spoil what can ----

# Given first, in the middle and last: nothing of a profile; strings that are none; two profiles in one file.
printf '\012\004\010\001\020\002' >nothing.pb
printf '\012\004\010\001\020\002\062\003abc' >strings.pb
{ gzip -dc cpu.pb.gz && printf '\110\001\110\001'; } >twice.pb # time_nanos, two times
for bad in nothing.pb strings.pb twice.pb; do
    for order in "$bad cpu.pb.gz cpu.fxt" "cpu.pb.gz $bad cpu.fxt" "cpu.pb.gz cpu.fxt $bad"; do
        rm -f mixed.fxtq
        # shellcheck disable=SC2086 # words
        run 3 fxtq import -q $order -o mixed.fxtq
        [ "$(wc -l <err)" = 1 ] || fail "$order: more than a sentence: $(cat err)"
        [ "$(sqlite3 mixed.fxtq 'PRAGMA integrity_check; SELECT count(*) FROM capture; SELECT count(*) FROM cpu_sample')" = "ok
2
3000" ] || fail "$order: $(sqlite3 mixed.fxtq 'PRAGMA integrity_check; SELECT id, name FROM capture')"
        fxtq export pprof -q --capture 1 mixed.fxtq -o out.pb.gz || fail "$order: no export"
    done
    # shellcheck disable=SC2086
    run 3 fxtq export folded -q --root none $bad cpu.pb.gz
    same cpu.folded out "folded stacks of $bad and a profile"
    rm -f alone.fxtq
    run 3 fxtq import -q "$bad" -o alone.fxtq
    [ ! -e alone.fxtq ] || fail "$bad alone made a store"
done

exit $failed
