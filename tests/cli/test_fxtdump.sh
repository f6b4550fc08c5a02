#!/bin/sh
# fxtdump: golden outputs, the JSON contract of docs/fxtdump.md, messages and exit statuses.
set -eu

fail() {
    echo "$1" >&2
    exit 1
}
cd "$ROOT"
mkdir "$WORK/out" "$WORK/traces"
testdata/fxtdump/make "$WORK/out" "$WORK/traces"
for golden in testdata/fxtdump/*.txt testdata/fxtdump/*.json testdata/fxtdump/*.err; do
    diff -u "$golden" "$WORK/out/$(basename "$golden")" || fail "$golden differs"
done
[ "$(find "$WORK/out" -type f | wc -l)" -eq 10 ] || fail "a golden output is missing"

# ---- The contract: what stands for what, in every line ----

cat >"$WORK/contract.py" <<'EOF'
import json, re, sys

def decimal(v): return isinstance(v, str) and re.fullmatch(r'-?(0|[1-9][0-9]*)', v)
def address(v): return isinstance(v, str) and re.fullmatch(r'0x(0|[1-9a-f][0-9a-f]*)', v)
def small(v): return isinstance(v, int) and not isinstance(v, bool)
def text(v): return isinstance(v, str)
def hexadecimal(v): return isinstance(v, str) and re.fullmatch(r'([0-9a-f]{2})*', v)
def addresses(v): return isinstance(v, list) and all(address(a) for a in v)
def name_or_number(*names): return lambda v: v in names if isinstance(v, str) else small(v)
def number_or_name(v): return v in ('NaN', 'Infinity', '-Infinity') if isinstance(v, str) else isinstance(v, (int, float))

VALUES = {'null': lambda v: v is None, 'int32': small, 'uint32': small, 'int64': decimal, 'uint64': decimal, 'double': number_or_name,
          'string': text, 'pointer': address, 'koid': decimal, 'bool': lambda v: isinstance(v, bool), 'blob': hexadecimal,
          'unknown': lambda v: v is None}

def arguments(v):
    for a in v:
        assert list(a) == ['name', 'type', 'value'], a
        assert text(a['name']) and VALUES[a['type']](a['value']), a
        seen.add('argument ' + a['type'])
    return True

TIME = {'ts': decimal, 'ts_ns': decimal}
THREAD = {'pid': decimal, 'tid': decimal}
STATE = name_or_number('new', 'running', 'suspended', 'blocked', 'dying', 'dead')
SWITCH = {**TIME, 'cpu': small, 'state': STATE, 'outgoing_tid': decimal, 'incoming_tid': decimal}
EVENT = {**TIME, **THREAD, 'category': text, 'name': text, 'event': text}
LARGE = {'category': text, 'name': text, 'format': small, 'size': small}

RECORDS = {
    'magic': [{'magic': address}],
    'provider_info': [{'name': text}],
    'provider_section': [{}],
    'provider_event': [{'event': small}],
    'init': [{'ticks_per_second': decimal}, {'ticks_per_second': decimal, 'base_ticks': decimal, 'base_time_ns': decimal}],
    'string': [{'index': small, 'text': text}],
    'thread': [{**THREAD, 'index': small}],
    'blob': [{'name': text, 'blob_type': small, 'size': small}],
    'userspace_object': [{'pid': decimal, 'name': text, 'pointer': address, 'args': arguments}],
    'kernel_object': [{'name': text, 'object_type': small, 'koid': decimal, 'args': arguments}],
    'context_switch': [{**SWITCH, 'args': arguments}],
    'legacy_context_switch': [{**SWITCH, 'outgoing_pid': decimal, 'incoming_pid': decimal, 'outgoing_priority': small,
                               'incoming_priority': small}],
    'thread_wakeup': [{**TIME, 'cpu': small, 'tid': decimal, 'args': arguments}],
    'log': [{**TIME, **THREAD, 'message': text}],
    'module': [{**TIME, 'pid': decimal, 'name': text, 'module_id': small, 'build_id': hexadecimal}],
    'mapping': [{**TIME, 'pid': decimal, 'module_id': small, 'start': address, 'length': decimal, 'vaddr': address, 'flags': small}],
    'backtrace': [{**TIME, **THREAD, 'frames': addresses}],
    'large_blob': [LARGE, {**TIME, **THREAD, **LARGE, 'args': arguments}, {**TIME, **THREAD, **LARGE, 'pcs': addresses, 'args': arguments}],
    'unknown': [{'record_type': small, 'subtype': small, 'size': small}],
}
EVENTS = {
    'instant': [{}, {'scope': name_or_number('thread', 'process', 'global')}],
    'counter': [{'id': decimal}],
    'duration_begin': [{}],
    'duration_end': [{}],
    'duration_complete': [{'end': decimal, 'end_ns': decimal}],
    'async_begin': [{'id': decimal}],
    'async_instant': [{'id': decimal}],
    'async_end': [{'id': decimal}],
    'flow_begin': [{'id': decimal}],
    'flow_step': [{'id': decimal}],
    'flow_end': [{'id': decimal}],
    'unknown': [{'event_type': small, 'words': addresses}],
}

seen = set()
def check(line):
    record = json.loads(line, parse_constant=lambda c: sys.exit('not JSON: ' + c))
    keys = dict(record)
    assert small(keys.pop('offset')) and small(keys.pop('provider')), line
    kind = keys.pop('type')
    forms = RECORDS.get(kind)
    if kind == 'event':
        forms = [{**EVENT, **form, 'args': arguments} for form in EVENTS[record['event']]]
        seen.add('event ' + record['event'])
    seen.add(kind)
    form = [f for f in forms if list(f) == list(keys)]
    assert form, line
    for key, value in keys.items():
        assert form[0][key](value), (key, line)

complete = sys.argv[1] == 'complete'
for path in sys.argv[2:]:
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            check(line)
wanted = set(RECORDS) | {'event'} | {'event ' + e for e in EVENTS} | {'argument ' + a for a in VALUES}
assert not complete or seen == wanted, wanted - seen
EOF
python3 "$WORK/contract.py" complete "$WORK/out/every-kind.json"
python3 "$WORK/contract.py" some "$WORK/out/damaged.json"

# Statistics are one object, and every byte is in a record or in the damage.
python3 - "$WORK/out" <<'EOF'
import json, sys
for name, size in (('every-kind', 2008), ('damaged', 235)):
    with open('%s/%s.stats.json' % (sys.argv[1], name)) as lines:
        stats = json.load(lines)
    records = [json.loads(line) for line in open('%s/%s.json' % (sys.argv[1], name))]
    assert list(stats) == ['records', 'providers', 'first_ns', 'last_ns', 'bytes', 'damage'], stats
    assert stats['bytes'] == size, stats
    assert sum(stats['records'].values()) == len(records)
    for kind, count in stats['records'].items():
        assert sum(r['type'] == kind for r in records) == count, kind
    times = [int(r['ts_ns']) for r in records if 'ts_ns' in r]
    assert stats['first_ns'] == str(min(times)) and stats['last_ns'] == str(max(times))
    for kind in stats['damage'].values():
        assert list(kind) == ['count', 'first_offset', 'bytes'] and kind['first_offset'] < size, kind
EOF

# ---- Messages and exit statuses ----

cd "$WORK/traces"
expect() { # expect STATUS 'stderr' ARGUMENT...: what fxtdump ARGUMENT... says and returns; stdout to out
    wanted=$1
    message=$2
    shift 2
    status=0
    fxtdump "$@" >out 2>err || status=$?
    [ $status -eq "$wanted" ] || fail "fxtdump $*: status $status, not $wanted: $(cat err)"
    [ "$(cat err)" = "$message" ] || fail "fxtdump $*: $(cat err)"
}
magic='\020\000\004\106\170\124\026\000'
# shellcheck disable=SC2059 # bytes
printf "$magic" >good.fxt
expect 0 '' good.fxt
expect 0 '' --strict good.fxt
expect 0 '' - <good.fxt
gzip -c every-kind.fxt >every-kind.fxt.gz
cut_size=$(($(wc -c <every-kind.fxt.gz) - 5))
expect 0 "$(sed -e 's/every-kind.fxt/&.gz/' -e '/^exit status/d' "$ROOT/testdata/fxtdump/every-kind.err")" every-kind.fxt.gz
cmp out "$ROOT/testdata/fxtdump/every-kind.txt"
expect 3 "$(sed '/^exit status/d' "$ROOT/testdata/fxtdump/every-kind.err")" --strict every-kind.fxt
head -c $cut_size every-kind.fxt.gz >cut.fxt.gz
expect 3 "fxtdump: cut.fxt.gz: damaged: cut off in its last record (at offset 2008)
$(sed -e 's/every-kind.fxt/cut.fxt.gz/' -e '/^exit status/d' "$ROOT/testdata/fxtdump/every-kind.err")" cut.fxt.gz
cmp out "$ROOT/testdata/fxtdump/every-kind.txt"
{ gzip -c good.fxt && printf 'garbage'; } >behind.fxt.gz
expect 3 'fxtdump: behind.fxt.gz: damaged: bytes behind the end of the gzip data are not gzip (at offset 8)' behind.fxt.gz
# shellcheck disable=SC2059
printf "$magic"'\000\000\005\000\000\000\000\000' >size-zero.fxt
expect 3 'fxtdump: size-zero.fxt: damaged: record of size 0, unreadable from there (at offset 8)' size-zero.fxt
[ "$(wc -l <out)" -eq 1 ] || fail 'the record before the one of size 0'
# shellcheck disable=SC2059
printf "$magic"'abc' >stray.fxt
expect 3 'fxtdump: stray.fxt: damaged: stray bytes at the end (at offset 8, 3 bytes)' stray.fxt
# Several files: all are read, the worst counts.
expect 3 'fxtdump: stray.fxt: damaged: stray bytes at the end (at offset 8, 3 bytes)' stray.fxt good.fxt
[ "$(wc -l <out)" -eq 2 ] || fail 'the file behind the damaged one'
expect 4 'fxtdump: missing.fxt: No such file or directory' missing.fxt good.fxt
[ "$(wc -l <out)" -eq 1 ] || fail 'the file behind the missing one'
expect 4 'fxtdump: .: is a directory, not a trace' .

# What is no trace says so; --force reads it all the same.
: >empty.fxt
expect 3 'fxtdump: empty.fxt: empty, not an FXT trace' empty.fxt
expect 3 'fxtdump: ../contract.py: text, not an FXT trace' ../contract.py
printf '\000\026\124\170\106\004\000\020' >big-endian.fxt
expect 3 'fxtdump: big-endian.fxt: a big-endian FXT trace; only little-endian ones can be read' big-endian.fxt
printf '{{{reset}}}\n{{{module:0:a:elf:00}}}\n' >markup.txt
expect 3 'fxtdump: markup.txt: symbolizer markup text, not FXT' markup.txt
# shellcheck disable=SC2059
printf '\023\000\001\000\000\000\000\000'"$magic" >no-magic.fxt
expect 3 'fxtdump: no-magic.fxt: not an FXT trace: no magic number, and the first record makes no sense' no-magic.fxt
expect 3 'fxtdump: no-magic.fxt: damaged: contradictory record, dropped (at offset 0, 8 bytes)
fxtdump: warning: no-magic.fxt: no magic record first (at offset 0)' --force no-magic.fxt
[ "$(cat out)" = '         8                - -             magic 0x16547846' ] || fail '--force'

# The command line.
expect 2 "fxtdump: no trace given
Try 'fxtdump --help'."
expect 2 "fxtdump: unknown option --jsn
Try 'fxtdump --help'." --jsn good.fxt
fxtdump --help | grep -q '^  -j, --json ' || fail '--help'
fxtdump --version | grep -q '^fxtdump (FXT toolchain) [0-9]' || fail '--version'

# A reader that has seen enough is no failure, where SIGPIPE does not end it all; a full disk is.
set -- every-kind.fxt every-kind.fxt every-kind.fxt every-kind.fxt
cat "$@" "$@" "$@" "$@" >long.fxt
(
    trap '' PIPE
    fxtdump --json long.fxt 2>err || echo $? >status
) | head -n 1 >/dev/null
[ ! -e status ] || fail "closed pipe: status $(cat status)"
! grep -q 'Broken pipe' err || fail "closed pipe: $(cat err)"
status=0
fxtdump long.fxt >/dev/full 2>err || status=$?
[ $status -eq 4 ] || fail "full disk: status $status"
grep -q '^fxtdump: standard output: No space left on device$' err || fail "full disk: $(cat err)"
