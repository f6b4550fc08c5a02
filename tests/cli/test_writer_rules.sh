#!/bin/sh
# The rules for writers (docs/formats/fxt.md section 5), held against all that our programs write by a checker that shares no code with
# them; and reading, writing and reading again.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
rules=$ROOT/tests/fxt_rules.py
fxtgen=$O/bench/fxtgen

# ---- The checker sees each rule broken ----

cat >broken.py <<'EOF'
import sys
sys.path.insert(0, sys.argv[1] + '/tests')
sys.dont_write_bytecode = True
from struct import pack
from fxt_rules import violations

def words(*values): return b''.join(pack('<Q', v) for v in values)
def stream(data): return data + b'\0' * (-len(data) % 8)
def record(kind, fields, *parts):
    body = b''.join(parts)
    return words(kind | (1 + len(body) // 8) << 4 | fields) + body
MAGIC = words(0x0016547846040010)
def info(id, name): return record(0, 1 << 16 | id << 20 | len(name) << 52, stream(name))
def section(id): return record(0, 2 << 16 | id << 20)
INIT = record(1, 0, words(1000))
START = MAGIC + info(1, b'one') + INIT
def string(i, text): return record(2, i << 16 | len(text) << 32, stream(text))
def thread(i, process=1, tid=2): return record(3, i << 16, words(process, tid))
def event(type=2, ticks=5, name=0, category=0, thread=0, args=0, *parts):
    return record(4, type << 16 | args << 20 | thread << 24 | category << 32 | name << 48, words(ticks), b'' if thread else words(1, 2), *parts)
def arg(kind, high=0, name=b'arg', *parts): return record(kind, (0x8000 | len(name) if name else 0) << 16 | high << 32, stream(name), *parts)
def kernel_object(type, *args): return record(7, type << 16 | 0x8001 << 24 | len(args) << 40, words(7), stream(b'k'), *args)
PROCESS = arg(8, 0, b'process', words(3))
def module(id=0, tid=0, name=b'm'): return record(10, id << 28 | len(name) << 44 | 4 << 52, words(5, 1, tid), stream(name), stream(b'\1\2\3\4'))
def mapping(id=0): return record(10, 1 << 16 | id << 28, words(5, 1, 0, 0x1000, 0x1000, 0))
def backtrace(frames, count=None): return record(10, 2 << 16 | (len(frames) if count is None else count) << 28, words(5, 1, 2, *frames))
def blob(length, format=0, payload=None):
    payload = b'x' * length if payload is None else payload
    meta = words(5, 1, 2) if format == 0 else b''
    body = words(0) + meta + words(length) + stream(payload)
    return words(15 | (1 + len(body) // 8) << 4 | format << 40) + body

# Providers one after another may use one index for two threads: the last is the right one.
OTHER = info(2, b'two') + INIT + thread(1, 3, 4) + event(thread=1)
GOOD = START + string(1, b's') + thread(1) + event(1, 5, 1, 0x8001, 1, 2, stream(b'c'), arg(9, 1), arg(6, 0x8001, b'a', stream(b'v')), words(9)) + \
    event(4, 5, 1, 1, 1, 0, words(6)) + kernel_object(2, PROCESS) + module() + mapping() + module(1) + backtrace(range(255)) + blob(5) + \
    record(8, 1 << 60, words(5, 1, 2)) + record(9, 3 << 16, words(5, 1, 2), stream(b'log')) + record(6, 1 << 16, words(7)) + \
    record(0, 3 << 16 | 1 << 20) + record(5, 3 << 32 | 1 << 48, stream(b'abc')) + record(8, 1 << 28, words(5, 1, 2)) + OTHER
PROFILE = MAGIC + INIT + kernel_object(2, PROCESS) + backtrace([1, 2]) + module() + mapping()

BROKEN = [
    ('1', INIT, 'no magic'), ('1', MAGIC + INIT + info(1, b'one'), 'provider too late'), ('1', MAGIC + info(0, b'zero') + INIT, 'provider 0'),
    ('1', MAGIC + info(1, b'one') + record(1, 0, words(1000, 0, 0)), 'long initialization'), ('1', START + section(9), 'section of nobody'),
    ('2', START + blob(8 * 4096), 'large record'),
    ('3', START + string(1, b'a') + string(1, b'a'), 'string twice'), ('3', START + thread(1) + thread(1), 'thread twice'),
    ('4', START + event(name=1), 'string unknown'), ('4', START + event(thread=1), 'thread unknown'),
    ('4', START + string(1, b'a') + info(2, b'two') + INIT + event(name=1), 'string of another provider'),
    ('5', START + thread(1) + info(2, b'two') + INIT + thread(1, 3, 4) + section(1) + event(thread=1), 'one thread index in two providers'),
    ('6', START + record(2, 1 << 16 | 1 << 32, b'a\1\0\0\0\0\0\0'), 'padding'), ('6', START + record(3, 1 << 16 | 1 << 24, words(1, 2)), 'reserved bits of a thread'),
    ('6', START + event(name=0x8000), 'empty inline'), ('6', START + event(2, 5, 0, 0, 0, 1, arg(9, 2)), 'bool of 2'),
    ('6', START + words(15 | 7 << 4 | 1 << 44) + blob(8)[8:], 'reserved bits of a large record'),
    ('7', START + string(1, b'\xff'), 'string'), ('7', START + module(name=b'\xc3'), 'module'), ('7', MAGIC + info(1, b'\x80') + INIT, 'provider'),
    ('8', START + string(1, b'x' * 32000), 'long string'),
    ('9', START + event(2, 5, 0, 0, 0, 1, arg(1, 5, b'')), 'nameless argument'), ('9', START + event(2, 5, 0, 0, 0, 1, arg(10, 8, b'b', words(1))), 'blob argument'),
    ('9', START + event(2, 5, 0, 0, 0, 1, arg(12)), 'argument of type 12'),
    ('10', START + event(4, 5, 0, 0, 0, 0, words(4)), 'ends before it begins'), ('10', START + event(2, 2**63), 'time out of range'),
    ('10', START + record(1, 0, words(0)), '0 ticks'),
    ('11', START + kernel_object(2), 'thread without process'), ('11', START + kernel_object(2, arg(4, 0, b'process', words(3))), 'process of the wrong type'),
    ('12', START + blob(8, 1), 'format 1'), ('13', START + record(6, 0, words(7, 1)), 'inline process'),
    ('14', START + module(tid=5), 'module with thread'), ('14', START + mapping(), 'mapping before module'), ('14-id', START + module() + module(), 'module twice'),
    ('14', START + backtrace(range(256), 0), '256 frames'), ('14', START + thread(1) + record(10, 2 << 16 | 1 << 20 | 1 << 28, words(5, 1)), 'indexed thread'),
    ('15', START + record(2, 1 << 16 | 9 << 32, words(1)), 'length beyond the record'), ('15', START + event(1), 'no room for the id'),
    ('15', START + words(15 | 7 << 4, 0, 5, 1, 2, 2**64 - 1, 0), 'payload beyond the record'),
    ('rust', START + record(3, 1 << 16, words(1, 2, 3)), 'words behind the last field'), ('rust', MAGIC + info(1, b'one') + event() + INIT, 'time without clock'),
    ('rust', START + event(2, 5, 0, 0, 0, 1, arg(1, 5, b'a', words(1))), 'words behind a value'),
    ('clock', START + info(2, b'two') + record(1, 0, words(2000)), 'two clocks'),
    ('format', START + words(0), 'zero word'), ('format', START + words(0x50004), 'size 0'), ('format', START + words(11 | 1 << 4), 'unknown type'),
    ('format', START + b'abc', 'stray bytes'), ('format', START + words(3 | 3 << 4), 'cut'), ('format', START + record(2, 0), 'index 0'),
    ('format', START + event(11), 'event of type 11'), ('format', START + record(8, 3 << 60), 'scheduling of type 3'),
]
for trace, profile in ((GOOD, False), (PROFILE, True)):
    assert violations(trace, profile) == [], violations(trace, profile)
for rule, trace, what in BROKEN:
    found = violations(trace)
    assert {r for r, offset, text in found} >= {rule}, (rule, what, found)
    assert {r for r, offset, text in found} <= {rule, '1', 'rust'} , (rule, what, found)
assert {rule for rule, trace, what in BROKEN} == {str(i) for i in range(1, 16)} | {'14-id', 'rust', 'clock', 'format'}
for trace in (PROFILE + event(), PROFILE + blob(8), PROFILE + record(0, 3 << 16), GOOD):
    assert any(r == '1' for r, offset, text in violations(trace, True))
EOF
python3 broken.py "$ROOT"

# ---- What our programs write ----

kinds=$("$fxtgen" --kind '' 2>&1 | sed -n 's/.*is not one of //p' | tr -d ,)
[ -n "$kinds" ] || fail 'fxtgen has no kinds'
for kind in $kinds; do
    "$fxtgen" --kind "$kind" --count 400 >"$kind.fxt"
    case $kind in
    region) ;; # a kernel buffer as it is: no magic, unused pages
    # Like Fuchsia's CPU profiler it names threads without their process.
    profiler) python3 "$rules" --profile --allow 11 profiler.fxt || fail "fxtgen --kind profiler" ;;
    *) python3 "$rules" "$kind.fxt" || fail "fxtgen --kind $kind" ;;
    esac
done
fxtcat convert --layout profiler -o converted.fxt sampler.fxt 2>err || fail "$(cat err)"
python3 "$rules" --profile converted.fxt || fail 'fxtcat convert'
fxtcat merge -o merged.fxt events.fxt spans.fxt sampler.fxt 2>err || fail "$(cat err)"
python3 "$rules" merged.fxt || fail 'fxtcat merge'
fxtcat recover --force region.fxt 2>err | fxtcat merge -o region.merged.fxt - 2>>err || fail "$(cat err)"
python3 "$rules" --allow rust,1 region.merged.fxt || fail 'a region' # it has no clock
first=$(fxtdump --stats --json spans.fxt | sed 's/.*"first_ns":\([0-9]*\).*/\1/')
for arguments in "--time $((first + 1000)),+100ms" '--type event' '--pid 1'; do
    # shellcheck disable=SC2086 # words
    fxtcat cut $arguments -o cut.fxt merged.fxt 2>err || fail "$(cat err)"
    python3 "$rules" cut.fxt || [ "$(fxtdump --json cut.fxt | wc -l)" -eq 1 ] || fail "fxtcat cut $arguments"
done

# ---- Reading, writing and reading again: the same records in the same order ----

cat >same.py <<'EOF'
import json, subprocess, sys
def records(path):
    dump = subprocess.Popen(['fxtdump', '--json', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in dump.stdout:
        record = json.loads(line)
        del record['offset'] # shorter forms move what follows
        if record['type'] == 'unknown':
            assert record['size'] > 0
        yield record
from itertools import zip_longest
for i, (a, b) in enumerate(zip_longest(records(sys.argv[1]), records(sys.argv[2]))):
    assert a == b, 'record %d: %s became %s' % (i, a, b)
EOF
rewrite() { # rewrite TRACE: what is written again says the same, and then stays as it is
    case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac >plain.fxt
    fxt_rewrite <plain.fxt >once.fxt || fail "$1 cannot be written again"
    python3 same.py plain.fxt once.fxt || fail "$1 says something else"
    fxt_rewrite <once.fxt >twice.fxt
    cmp once.fxt twice.fxt || fail "$1 changes each time it is written"
}
fxt_every_kind >every-kind.fxt
rewrite every-kind.fxt
for kind in $kinds; do
    [ "$kind" = region ] && continue
    rewrite "$kind.fxt"
    cmp "$kind.fxt" once.fxt || fail "$kind: other bytes"
done
folder=${FXT_SHARED_DATA:-/nonexistent}/fxt
if [ ! -d "$folder" ]; then
    echo "SKIP: real FXT traces are not here"
    exit 0
fi
for trace in "$folder"/*.fxt "$folder"/*.fxt.gz "$folder"/ocaml-trace/*.fxt; do
    rewrite "$trace"
done
exit 0
