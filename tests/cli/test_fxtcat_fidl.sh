#!/bin/sh
# fxtcat symbolize-fidl: names of FIDL methods in events of kernel:ipc, flows of two-way calls, and FIDL IR that is none.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

# IR as fidlc writes it, as far as it says something about methods; the ordinals of Echo are those of a real file.
mkdir -p ir/below
cat >ir/echo.fidl.json <<'END'
{"name": "fidl.examples.echo", "attributes": [{"name": "x", "methods": [{"ordinal": 7, "name": "NotThis"}]}],
 "protocol_declarations": [{
   "name": "fidl.examples.echo/Echo", "composed_protocols": [],
   "methods": [
     {"ordinal": 2936880781197466513, "name": "EchoString", "location": {"line": 34, "name": "no"}, "has_request": true,
      "maybe_request": [{"type": {"kind": "string"}, "name": "value"}], "maybe_request_payload": {"ordinal": 9}},
     {"name": "EchoHandle", "has_error": false, "ordinal": 9059114273465311787},
     {"ordinal": 1120886698987607603, "name": "OnPong", "maybe_response": []}]}],
 "struct_declarations": [{"name": "fidl.examples.echo/S", "members": [{"name": "methods", "ordinal": 4}]}]}
END
# The name of a protocol may come after its methods; a name may be missing, or be none; all 64 bits of an ordinal count.
cat >ir/below/odd.json <<'END'
{"protocol_declarations": [
   {"methods": [{"ordinal": 18446744073709551615, "name": "Last"}, {"ordinal": 18446744073709551616, "name": "TooLarge"},
                {"ordinal": -1, "name": "Negative"}, {"ordinal": 5}, {"ordinal": "6", "name": "Text"}, {"name": "None"},
                {"ordinal": 1120886698987607603, "name": "Other"}, {"ordinal": 77, "name": "Two Words"}, 3], "name": "odd/Late"},
   {"methods": {"ordinal": 8, "name": "NoArray"}}, null, [], {"methods": [{"name": "Nobody", "ordinal": 42}]}]}
END
echo 'not JSON' >ir/readme.txt
# As older versions of fidlc wrote it: the form and the ordinal are those of its golden file driver_one_way.json.
mkdir older
cat >older/driver_one_way.json <<'END'
{"version": "0.0.1", "name": "test.driveroneway", "library_dependencies": [], "enum_declarations": [],
 "interface_declarations": [{
   "name": "test.driveroneway/OneWay", "location": {"filename": "driver_one_way.test.fidl", "line": 12, "column": 10, "length": 6},
   "maybe_attributes": [{"name": "transport", "arguments": [{"name": "value", "type": "string", "value": {"kind": "literal", "value": "Driver"}}]}],
   "composed_protocols": [],
   "methods": [{"ordinal": 7942965975761529343, "name": "Send", "has_request": true,
     "maybe_request_payload": {"kind": "identifier", "identifier": "test.driveroneway/OneWaySendRequest", "nullable": false},
     "has_response": false, "is_composed": false, "has_error": false}]}],
 "declarations": {"test.driveroneway/OneWay": "interface"}}
END

cat >make.py <<'END'
import sys
sys.path.insert(0, sys.argv[1] + "/tests")
from fxt_records import *

def ipc(kind, ts, *args, last=None, name="ipc", category="kernel:ipc"):
    return event(kind, ts, 1, 2, name, [argument(*a) for a in args], last, category)

ECHO, HANDLE = 2936880781197466513, 9059114273465311787
out = word(0x0016547846040010) + word(1 | 2 << 4) + word(10**9)
out += ipc(BEGIN, 1, (UINT64, "ordinal", ECHO), (INT32, "other", 3))
out += ipc(END, 2)
out += ipc(COMPLETE, 3, (UINT64, "ordinal", HANDLE), last=4)
out += ipc(BEGIN, 5, (UINT64, "ordinal", 2**64 - 1))
out += ipc(BEGIN, 6, (UINT64, "ordinal", 42))
out += ipc(BEGIN, 7, (UINT64, "ordinal", 999), name="unknown")
out += ipc(BEGIN, 8, (INT64, "ordinal", 42), name="signed")
out += ipc(BEGIN, 9, (UINT64, "ordinal", ECHO), name="elsewhere", category="other")
out += ipc(BEGIN, 10, *[(UINT32, "a%d" % i, i) for i in range(14)], (UINT64, "ordinal", ECHO))
out += ipc(BEGIN, 11, (UINT64, "ordinal", 1120886698987607603))
older = ipc(BEGIN, 1, (UINT64, "ordinal", 7942965975761529343))
open("older.fxt", "wb").write(word(0x0016547846040010) + word(1 | 2 << 4) + word(10**9) + older)
two_way, one_way, kernel, late = 1 << 31 | 5, 6, 3 << 31 | 1, 5 << 31
for at, (kind, flow) in enumerate([(FLOW_BEGIN, two_way), (FLOW_BEGIN, one_way), (FLOW_END, two_way), (FLOW_BEGIN, two_way), (FLOW_END, one_way),
                                   (FLOW_END, two_way), (FLOW_BEGIN, kernel), (FLOW_STEP, kernel), (FLOW_STEP, kernel), (FLOW_END, kernel),
                                   (FLOW_END, late), (FLOW_BEGIN, late), (FLOW_END, late), (FLOW_BEGIN, two_way)]):
    out += ipc(kind, 20 + at, last=flow, name="flow")
open("trace.fxt", "wb").write(out)
END
python3 -B make.py "$ROOT" || exit 1

run 0 fxtcat symbolize-fidl --ir ir -o named.fxt trace.fxt
says 'trace.fxt: 6 events named, 1 event has an unknown ordinal; 3 flow events joined'
says 'left out: 6 methods of FIDL IR without a valid name or ordinal'
says '1 event has no room for the argument method'
says '1 method of FIDL IR has the ordinal of a method with another name: the name that was read first is used'
run 0 fxtdump --verify named.fxt
run 0 fxtdump trace.fxt
cp out before
run 0 fxtdump named.fxt
for text in 'name=EchoString {ordinal: 2936880781197466513, other: 3, method: "fidl.examples.echo/Echo.EchoString"}' \
    'name=EchoHandle' 'name=Last {ordinal: 18446744073709551615, method: "odd/Late.Last"}' \
    'name=Nobody {ordinal: 42, method: "Nobody"}' 'name=unknown {ordinal: 999}' 'name=signed {ordinal: 42}' 'name=elsewhere {ordinal: 2936880781197466513}' \
    'name=EchoString {a0: 0,'; do
    prints "$text"
done
grep -q 'NotThis\|TooLarge\|Negative\|Two Words\|NoArray' out && fail "names of what is no method"
# Begin, step, step, end; others as they were.
awk '/name=flow / { print $5 }' out | tr '\n' ' ' >flows
[ "$(cat flows)" = 'flow_begin flow_begin flow_step flow_step flow_end flow_end flow_begin flow_step flow_step flow_end flow_end flow_begin flow_step flow_begin ' ] ||
    fail "flows: $(cat flows)"
[ "$(wc -l <before)" -eq "$(wc -l <out)" ] || fail "records are missing, or more"

run 0 fxtcat symbolize-fidl --ir older -o older_named.fxt older.fxt
run 0 fxtdump older_named.fxt
prints 'name=Send {ordinal: 7942965975761529343, method: "test.driveroneway/OneWay.Send"}'

# A file, several of them, standard input and output; without names nothing changes.
run 0 fxtcat symbolize-fidl --ir ir/below/odd.json --ir ir/echo.fidl.json trace.fxt
mv out named2.fxt
fxtdump named2.fxt | grep -q 'name=Other ' || fail "not the first of two names"
mkdir empty
run 0 fxtcat symbolize-fidl --ir empty -o same.fxt - <trace.fxt
says 'no file *.json in the folders of --ir: nothing will be named'
fxtdump same.fxt | grep -v 'flow_' >same
grep -v 'flow_' before | cmp - same || fail "something has changed without names"

# One ordinal of two events is counted as two events; IR without methods says what to give.
cat >twice.py <<'END'
exec(open("make.py").read().split("ECHO, HANDLE")[0])
out = word(0x0016547846040010) + ipc(BEGIN, 1, (UINT64, "ordinal", 5)) + ipc(END, 2, (UINT64, "ordinal", 5))
open("twice.fxt", "wb").write(out)
END
python3 -B twice.py "$ROOT" || exit 1
run 0 fxtcat symbolize-fidl --ir ir -o named.fxt twice.fxt
says 'twice.fxt: 0 events named, 2 events have an unknown ordinal; 0 flow events joined'
echo '{"protocol_declarations": []}' >none.json
run 0 fxtcat symbolize-fidl --ir none.json -o named.fxt twice.fxt
says 'no method in 1 file of FIDL IR: nothing will be named; give --ir the *.fidl.json files of fidlc'

# IR that is none: what comes before the damage holds, and the status says so.
printf '{"protocol_declarations": [{"name": "a/B", "methods": [{"name": "M", "ordinal": 42}, {"name": "N", "ordinal": 43' >cut.json
run 3 fxtcat symbolize-fidl --ir cut.json -o damaged.fxt trace.fxt
says 'cut.json: not the JSON of FIDL IR: it ends in the middle (at offset '
fxtdump damaged.fxt | grep -q 'name=M ' || fail "what comes before the damage does not hold"
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >deep.json
run 3 fxtcat symbolize-fidl --ir deep.json -o deep.fxt trace.fxt
says 'nested more than 256 deep'
printf '[1, 2' | cat - ir/echo.fidl.json >garbage.json
run 3 fxtcat symbolize-fidl --ir garbage.json -o garbage.fxt trace.fxt
run 4 fxtcat symbolize-fidl --ir nowhere -o nothing.fxt trace.fxt
says 'nowhere: No such file or directory'
grep -q 'will be named' err && fail "a warning about a run that is given up: $(cat err)"
[ ! -e nothing.fxt ] || fail "an output in spite of a failure"
run 2 fxtcat symbolize-fidl trace.fxt
says 'no FIDL IR given; use --ir PATH'

# Memory follows neither the length of the IR nor that of its strings.
python3 - <<'END'
with open("large.json", "w") as out:
    out.write('{"pad": "' + "x" * 50_000_000 + '", "protocol_declarations": [{"name": "a/B", "methods": [{"name": "M", "ordinal": 42}]}]}')
END
cat >peak.py <<'END'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit("%d KiB, status %d" % (peak, status) if peak > int(sys.argv[1]) or status else 0)
END
if ! nm "$(command -v fxtcat)" | grep -q __asan_init; then
    python3 peak.py 32768 fxtcat symbolize-fidl --ir large.json -o large.fxt trace.fxt 2>err || fail "more than 32 MiB: $(cat err)"
fi
finish
