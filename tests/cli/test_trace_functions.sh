#!/bin/sh
# Every function of <fxt/trace_engine.h>, called by a Python program without macros and without a compiler: each answer, and each record as it is in the archive.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
case $(nm "$O/lib/libfxttrace.a" | grep -oE '__(asan|tsan)_' | head -n 1) in
__*)
    echo 'SKIP: a library with a sanitizer cannot be loaded by python3'
    exit 77
    ;;
esac

run 0 sampler-capture trace -c python --trigger stop:stop --print-stats -o functions.fxt -- python3 -B "$ROOT/testdata/trace/functions.py" "$O/lib/libfxttrace.so"
says 'Alerts: 1'
says 'Records dropped: 0'
# The program prints what it has called: all that the library exports, but for what only the macros call.
nm -D --defined-only "$O/lib/libfxttrace.so" | awk '$2 == "T" && $3 !~ /^trace_internal_/ { print $3 }' | LC_ALL=C sort -u >exported
[ "$(wc -l <exported)" -gt 40 ] || fail "the library exports almost nothing"
LC_ALL=C sort -u out | LC_ALL=C comm -23 exported - >uncalled
[ ! -s uncalled ] || fail "functions that the program does not call: $(cat uncalled)"

run 0 fxtdump --verify functions.fxt
fxtdump functions.fxt | awk '$4 !~ /^(magic|provider_info|init|string)$/ && !/name=(session|python3)/' >dump
pid=$(awk '/name=here/ { split($3, ids, "/"); print ids[1] }' dump)
time=$(awk '/name=here/ { print $2 }' dump)
sed -E "s/^ *[0-9]+ +//; s/$time/T/; s/\\<$pid\\>/SELF/g; s/end=[0-9]+/end=$((time + 1000 == $(sed -n 's/.*end=\([0-9]*\).*/\1/p' dump)))/; s/  +/ /g" dump >records
cat >expected <<'END_OF_RECORDS'
- SELF/SELF thread 1
- 4001/4002 thread 2
- 4001/9223372036854775813 thread 3
- - kernel_object type=2 koid=9223372036854775813 name=virtual {process: koid:4001}
- 4004/4005 thread 240
T 4001/4002 event instant category=python name=an instant scope=thread {null: null, int32: -1, uint32: 2, int64: -3, uint64: 4, double: 0.5, string: "a text", pointer: 0x7000, koid: koid:8, bool: true}
T SELF/SELF event instant category=python name=here scope=thread
T 4001/4002 event counter category=python name=a counter id=11 {int32: -1}
T 4001/4002 event duration_complete category=python name=a duration end=1 {uint32: 2}
T 4001/4002 event duration_begin category=python name=a begin
T 4001/4002 event duration_end category=python name=an end {int64: -3}
T 4001/4002 event async_begin category=python name=the async_begin id=20 {uint64: 4}
T 4001/4002 event async_instant category=python name=the async_instant id=21 {uint64: 4}
T 4001/4002 event async_end category=python name=the async_end id=22 {uint64: 4}
T 4001/4002 event flow_begin category=python name=the flow_begin id=23 {uint64: 4}
T 4001/4002 event flow_step category=python name=the flow_step id=24 {uint64: 4}
T 4001/4002 event flow_end category=python name=the flow_end id=25 {uint64: 4}
T 4001/9223372036854775813 event instant category=python name=on a virtual thread scope=thread
- - kernel_object type=1 koid=4001 name=a process
- - kernel_object type=2 koid=4002 name=a thread {process: koid:4001}
- - kernel_object type=14 koid=4003 name=a socket {double: 0.5}
- - kernel_object type=19 koid=3 name=pipe {string: "a text"}
T - legacy_context_switch cpu=3 out=4002 (blocked) in=SELF priorities=16,17
T 4001/4002 log a line of a log
- - blob name=a blob type=1 size=7
T 4001/4002 large_blob category=python name=a large blob format=0 size=11 {pointer: 0x7000}
- - large_blob category=python name=an attachment format=1 size=13
T 4004/4005 event instant category=python name=own string scope=thread
- - blob name=a blob in place type=3 size=9 (no packets of Perfetto)
END_OF_RECORDS
sed -E 's/koid=[0-9]+ name=pipe:\[[0-9]+\]/koid=3 name=pipe/' records >found
cmp -s expected found || {
    fail "other records"
    diff expected found
}
finish
