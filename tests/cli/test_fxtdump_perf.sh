#!/bin/sh
# fxtdump shows perf.data files: both byte orders, both forms, compressed or not, in files and pipes.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/common.sh"
files=$ROOT/testdata/fuzz/fuzz_perf_data

# The same records from all of them; offsets and what perf says to itself differ.
comparable() { sed -E 's/"offset":[0-9]+,//' "$1" | grep -vE '"type":"(ATTR|FEATURE)"'; }
run 0 fxtdump --json "$files/file"
comparable out >expected
for file in file-big file-zstd pipe pipe-big pipe-big-zstd; do
    run 0 fxtdump --json "$files/$file"
    comparable out >records
    cmp records expected || fail "$file has other records"
    fxtdump --json - <"$files/$file" >redirected || fail "$file, standard input"
    cmp out redirected || fail "$file is another one in standard input"
    # shellcheck disable=SC2002 # a pipe is the point
    cat "$files/$file" | fxtdump --json - >piped || fail "$file in a pipe"
    cmp out piped || fail "$file is another one in a pipe"
done
grep -q '"type":"MMAP2","ts_ns":100,"pid":7,"tid":7,"cpu":1,"start":"0x400000","length":"0x1000","file_offset":"0x2000","data":false,"build_id":"61626364","name":"/bin/app"}' expected ||
    fail "no mapping with its build ID: $(cat expected)"
python3 -c 'import json, sys; [json.loads(line) for line in open("expected")]'

run 0 fxtdump "$files/file"
prints "COMM cpu=1 name=worker exec"
prints "SAMPLE cpu=1 event=second:u period=500 ip=0x401010 chain 0xfffffffffffffe00 0x401010 0x4000"
prints "SWITCH_CPU_WIDE cpu=1 out preempted other=3/4"
run 0 fxtdump --stats "$files/file-zstd"
prints "              1  samples of second:u"
prints "             42  lost"
prints "           host  machine"
prints "        command  perf record"
prints "            110  ns, from 100 to 210"
run 0 fxtdump --stats --json "$files/pipe-big"
prints '"build_ids":[{"name":"/bin/app","build_id":"30313233343536373839616263646566","kernel":false}]'

# Choosing.
run 0 fxtdump --tid 8 --time 120,200 --json "$files/file"
[ "$(grep -c . out)" = 4 ] || fail "thread 8 from 120 up to 200: $(cat out)"
run 0 fxtdump --offset 0x2c0 --hex "$files/file"
prints "000002"
run 2 fxtdump --type event "$files/file"
says "is a perf.data file"
run 2 fxtdump --follow "$files/file"
says "is a perf.data file"

# Damage is said in one sentence; what is whole is shown.
head -c 900 "$files/file" >cut.data
run 3 fxtdump --json cut.data
says "cut.data: damaged: the file is cut"
[ "$(grep -c ts_ns out)" -ge 6 ] || fail "what is whole is not there: $(cat out)"
run 0 fxtdump --verify "$files/file"
[ ! -s out ] || fail "--verify of a good file prints: $(cat out)"
head -c 60 "$files/file" >header.data
run 3 fxtdump header.data
says "header.data: the header is cut"

# Against perf: as many records of each kind, and the same samples.
if perf record -q -o live.data -F 2000 -g -e cpu-clock:u -e page-faults:u -- python3 -c 'print(sum(range(3000000)))' >/dev/null 2>&1; then
    perf report --stats -i live.data 2>/dev/null | awk '/stats:$/ { n++ } n == 1' | sed -n 's/^ *\([A-Z0-9_]*\) events: *\([0-9]*\).*/\1 \2/p' | grep -v -e TOTAL -e COMPRESSED | sort >theirs
    fxtdump --stats live.data | sed -n 's/^ *\([0-9,]*\)  \([A-Z0-9_]*\)$/\2 \1/p' | tr -d , | sort >ours
    cmp ours theirs || fail "other counts than perf's: $(diff ours theirs)"
    perf script -i live.data -F tid,time,period,event,ip -G --ns 2>/dev/null | sed -E 's/^ *([0-9]+) +([0-9]+)\.([0-9]+): +([0-9]+) +([^ ]*): +([0-9a-f]+).*/\1 \2\3 \4 \5 \6/' | sort >theirs
    fxtdump --json live.data | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    if r["type"] == "SAMPLE":
        print(r["tid"], r["ts_ns"], r["period"], r["event"], r["ip"][2:])' | sort >ours
    [ -s ours ] || fail "no samples"
    cmp ours theirs || fail "other samples than perf's: $(diff ours theirs | head)"
fi
finish
