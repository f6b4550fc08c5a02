#!/bin/sh
# fxtdump: golden outputs, the JSON contract of docs/fxtdump.md, messages and exit statuses.
set -eu

. "$ROOT/tests/cli/fail.sh"
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

def decimal(v): # a number up to 2^53, digits beyond
    if isinstance(v, str):
        return re.fullmatch(r'-?[1-9][0-9]*', v) and abs(int(v)) > 2 ** 53
    return small(v) and abs(v) <= 2 ** 53
def address(v): return isinstance(v, str) and re.fullmatch(r'0x(0|[1-9a-f][0-9a-f]*)', v)
def small(v): return isinstance(v, int) and not isinstance(v, bool)
def text(v): return isinstance(v, str)
def hexadecimal(v): return isinstance(v, str) and re.fullmatch(r'([0-9a-f]{2})*', v)
def addresses(v): return isinstance(v, list) and all(address(a) for a in v)
def counts(v): return isinstance(v, dict) and all(text(k) and small(n) for k, n in v.items())
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
def pieces(v): return isinstance(v, list) and all(list(p) == ['address', 'size'] and address(p['address']) and decimal(p['size']) for p in v)
MEMORY = {'registers': addresses, 'pieces': pieces}
STACKS = [{**TIME, **THREAD, **LARGE, **state, **MEMORY, **damaged, 'args': arguments}
          for state in ({}, {'machine': name_or_number('x86-64', 'arm64', 'riscv64'), 'pc': address, 'sp': address})
          for damaged in ({}, {'damaged': lambda v: v is True})]

RECORDS = {
    'magic': [{'magic': address}],
    'provider_info': [{'name': text}],
    'provider_section': [{}],
    'provider_event': [{'event': small}],
    'init': [{'ticks_per_second': decimal}, {'ticks_per_second': decimal, 'base_ticks': decimal, 'base_time_ns': decimal}],
    'string': [{'index': small, 'text': text}],
    'thread': [{**THREAD, 'index': small}],
    'blob': [{'name': text, 'blob_type': small, 'size': small}, {'name': text, 'blob_type': small, 'size': small, 'packets': counts}],
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
    'large_blob': [*STACKS, LARGE, {**TIME, **THREAD, **LARGE, 'args': arguments}, {**TIME, **THREAD, **LARGE, 'pcs': addresses, 'args': arguments}],
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

# Raw stacks of three machines, and with damage: a size of registers that is larger than the payload.
for machine in x86-64 arm64 riscv64; do
    trace=$ROOT/testdata/unwind/$machine-guest.fxt
    fxtdump --json "$trace" >"$WORK/raw.json"
    python3 "$WORK/contract.py" some "$WORK/raw.json"
    grep -q "\"machine\":\"$machine\",.*\"pieces\":\[{\"address\":[^]]*},{\"address\":\"0x5000\",\"size\":[0-9]*},{[^]]*}\],\"args\"" "$WORK/raw.json" ||
        fail "$machine: $(cat "$WORK/raw.json")"
    fxtdump "$trace" | grep -q " machine=$machine pc=0x[0-9a-f]* sp=0x[0-9a-f]* register_bytes=[0-9]* memory=0x[0-9a-f]*+[0-9]*,0x5000+[0-9]*,0x" ||
        fail "$machine: $(fxtdump "$trace")"
    python3 - "$trace" "$WORK/odd.fxt" "$machine" <<'EOF2'
import struct, sys
data = open(sys.argv[1], "rb").read()
size = {"x86-64": 160, "arm64": 280, "riscv64": 256}[sys.argv[3]]
at = data.index(b"stack_sample") + 48  # after the name: padding, time, process, thread, size of the payload
assert data[at:at + 8] == struct.pack("<Q", size), data[at:at + 8]
data = data[:at] + struct.pack("<Q", 1 << 40) + data[at + 8:]
open(sys.argv[2], "wb").write(data)
EOF2
    fxtdump --json "$WORK/odd.fxt" >"$WORK/raw.json"
    python3 "$WORK/contract.py" some "$WORK/raw.json"
    grep -q '"registers":\[\],"pieces":\[\],"damaged":true,"args"' "$WORK/raw.json" || fail "$machine, damaged: $(cat "$WORK/raw.json")"
    fxtdump "$WORK/odd.fxt" | grep -q 'size=[0-9]* register_bytes=0 (damaged)' || fail "$machine, damaged: $(fxtdump "$WORK/odd.fxt")"
done

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
    assert int(stats['first_ns']) == min(times) and int(stats['last_ns']) == max(times)
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
expect 3 'fxtdump: behind.fxt.gz: damaged: bytes after the end of the gzip data are not gzip (at offset 8)' behind.fxt.gz
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
mkdir empty
expect 4 'fxtdump: empty: is a directory without files' empty

# What is no trace says so; --force reads it all the same.
: >empty.fxt
expect 3 'fxtdump: empty.fxt: empty, not an FXT trace' empty.fxt
expect 3 'fxtdump: ../contract.py: text, not an FXT trace' ../contract.py
printf '\000\026\124\170\106\004\000\020' >big-endian.fxt
expect 3 'fxtdump: big-endian.fxt: a big-endian FXT trace; only little-endian ones can be read' big-endian.fxt
printf '{{{reset}}}\n{{{module:0:a:elf:00}}}\n' >markup.txt
expect 3 'fxtdump: markup.txt: symbolizer markup text, not FXT; fxtsym --markup and fxtq import read it' markup.txt
# shellcheck disable=SC2059
printf '\023\000\001\000\000\000\000\000'"$magic" >no-magic.fxt
expect 3 'fxtdump: no-magic.fxt: not an FXT trace: no magic number, and the first record makes no sense' no-magic.fxt
expect 3 'fxtdump: no-magic.fxt: damaged: contradictory record, dropped (at offset 0, 8 bytes)
fxtdump: warning: no-magic.fxt: no magic record first (at offset 0)' --force no-magic.fxt
[ "$(cat out)" = '         8                - -             magic 0x16547846' ] || fail '--force'

# The command line.
expect 2 "fxtdump: no trace given
Try 'fxtdump --help'."
expect 2 "fxtdump: unknown option --jsn: is it --json?
Try 'fxtdump --help'." --jsn good.fxt
fxtdump --help | grep -q '^  -j, --json ' || fail '--help'
fxtdump --version | grep -q '^fxtdump (FXT toolchain) [0-9]' || fail '--version'

# What does not go together is said.
expect 2 "fxtdump: --stats and --verify cannot be combined; --stats reports damage too
Try 'fxtdump --help'." --stats --verify good.fxt
expect 2 "fxtdump: --stats and --hex cannot be combined, because --stats prints no records
Try 'fxtdump --help'." --stats --hex good.fxt
expect 2 "fxtdump: --verify reads the whole trace and cannot be combined with --type, --provider, --pid, --tid, --time or --offset
Try 'fxtdump --help'." --verify --pid 5 good.fxt
expect 2 "fxtdump: --time: '2s,1s' is an empty range: TO must be after FROM
Try 'fxtdump --help'." --time 2s,1s good.fxt
expect 2 "fxtdump: --offset: '0xg' is not a number
Try 'fxtdump --help'." --offset 0xg good.fxt
expect 2 "fxtdump: --provider: 4294967296 is not between 0 and 4,294,967,295
Try 'fxtdump --help'." --provider 4294967296 good.fxt
fxtdump --type nonsense good.fxt 2>err || grep -q "'nonsense' is not one of unknown, magic, .*, large_blob$" err || fail '--type'

# ---- Which records ----

chosen() { # chosen 'OFFSET ...' ARGUMENT...: the records of every-kind.fxt that the arguments choose, in every form
    wanted=$1
    shift
    fxtdump "$@" every-kind.fxt 2>err >out || fail "fxtdump $*: $(cat err)"
    offsets=$(awk '{ printf "%s%s", sep, $1; sep = " " }' out)
    [ "$offsets" = "$wanted" ] || fail "fxtdump $*: $offsets"
    fxtdump --json "$@" every-kind.fxt 2>/dev/null >chosen.json
    offsets=$(python3 -c 'import json, sys; print(*[json.loads(line)["offset"] for line in sys.stdin])' <chosen.json)
    [ "$offsets" = "$wanted" ] || fail "fxtdump --json $*: $offsets"
    count=$(fxtdump --stats --json "$@" every-kind.fxt 2>/dev/null |
        python3 -c 'import json, sys; print(sum(json.load(sys.stdin)["records"].values()))')
    [ "$count" -eq "$(wc -l <out)" ] || fail "fxtdump --stats $*: $count"
}
chosen '0 8' --type magic,provider_info
chosen '0 8' --type magic -t provider_info
chosen '1328 1352 1616 1664 1720 1776' --pid 77
chosen '1616 1664 1720' --pid 77 --time ,8s
chosen '1392 1472 1536' --tid 72
chosen '1392 1472' --tid 0x47 --type context_switch
chosen '1968 1984 1992' --provider 8
chosen '208 600 928' --pid 20 --pid 18446744073709551615
chosen '1392 1472 1504' --time 6s,7s
chosen '1616 1664 1720 1776 1840' --time +8s,+9s
chosen '1840' --time 8333333333,
chosen '232' --time ,0
chosen '' --time 9s,10s
chosen '1840 1912 1952 1968 1976 1984 1992' --offset 1900
chosen '1992' --offset 0x7d7
expect 0 "fxtdump: warning: every-kind.fxt: nothing at offset 2010 or after it: it ends at 2008
$(sed '/^exit status/d' "$ROOT/testdata/fxtdump/every-kind.err")" --offset 2010 every-kind.fxt

# ---- Bytes, and damage alone ----

# Every byte of the trace is shown once, in order, in a record or not.
fxtdump --hex damaged.fxt 2>/dev/null >hex.txt || :
sed -n 's/^  [0-9a-f]\{8\}  \([0-9a-f ]*\)|.*/\1/p' hex.txt | tr -d ' \n' >hex.bytes
python3 -c 'import sys; sys.stdout.write(open("damaged.fxt", "rb").read().hex())' | cmp - hex.bytes
fxtdump --hex --json damaged.fxt 2>/dev/null >hex.json || :
fxtdump --verify --hex --json damaged.fxt 2>err >verify.json || [ $? -eq 3 ] || fail "--verify: $(cat err)"
[ ! -s err ] || fail "--verify says things twice: $(cat err)"
python3 - "$WORK/out" <<'EOF'
import json, sys
data = open('damaged.fxt', 'rb').read()
lines = [json.loads(line) for line in open('hex.json')]
records = [line for line in lines if 'type' in line]
plain = [json.loads(line) for line in open(sys.argv[1] + '/damaged.json')]
assert records == [dict(line, hex=shown['hex']) for line, shown in zip(plain, records)] and len(records) == len(plain)
at = 0
for line in lines:
    assert line['offset'] == at, line
    if 'damage' in line:
        assert list(line) in (['offset', 'damage', 'size', 'hex'], ['offset', 'damage', 'size']), line
    else:
        assert list(line)[-1] == 'hex', line
    shown = line.get('hex', '00' * line.get('size', 0))
    assert data[at:].hex().startswith(shown), line
    at += len(shown) // 2
assert at == len(data)
verify = [json.loads(line) for line in open('verify.json')]
assert verify[:-1] == [line for line in lines if 'damage' in line]
stats = json.load(open(sys.argv[1] + '/damaged.stats.json'))
assert verify[-1] == {'bytes': len(data), 'damaged': True, 'damage': stats['damage']}, verify[-1]
EOF
expect 3 '' --verify damaged.fxt
[ "$(sed -n '1,3p' out)" = '     count           bytes    first offset  kind
         1              11             224  truncated_tail: cut off in its last record (damage)
         1              24              64  bad_record: contradictory record, dropped (damage)' ] || fail "--verify: $(cat out)"
[ "$(wc -l <out)" -eq 14 ] || fail "--verify: $(cat out)"
expect 0 '' --verify every-kind.fxt
expect 3 '' --verify --strict every-kind.fxt
expect 0 '' --verify good.fxt
[ ! -s out ] || fail '--verify of a good trace'
expect 0 '' --verify --json good.fxt
[ "$(cat out)" = '{"bytes":8,"damaged":false,"damage":{}}' ] || fail "--verify --json: $(cat out)"
expect 3 '' --verify --json good.fxt stray.fxt
[ "$(cat out)" = '{"path":"good.fxt","bytes":8,"damaged":false,"damage":{}}
{"path":"stray.fxt","bytes":11,"damaged":true,"damage":{"stray_bytes":{"count":1,"first_offset":8,"bytes":3}}}' ] ||
    fail "--verify of several: $(cat out)"
expect 3 'fxtdump: markup.txt: symbolizer markup text, not FXT; fxtsym --markup and fxtq import read it' --verify markup.txt
# What a message about damage at an offset is about.
fxtdump --offset 70 --hex damaged.fxt 2>/dev/null >out || :
[ "$(head -n 3 out)" = '        64                - -             bad_record 24 bytes: contradictory record, dropped
  00000040  34 00 02 01 28 80 00 00  64 00 00 00 00 00 00 00  |4...(...d.......|
  00000050  73 68 6f 72 74 73 74 72                           |shortstr|' ] || fail "--offset: $(cat out)"
# shellcheck disable=SC2059 # bytes
{ printf "$magic" && head -c 100000 /dev/zero && printf "$magic"; } >zeros.fxt
fxtdump --hex zeros.fxt >out 2>/dev/null
[ "$(sed -n '3,6p' out)" = '         8                - -             zero_words 100,000 bytes: zero word between records
  00000008  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
  *
  00018698  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|' ] || fail "zeros: $(cat out)"
fxtdump --hex size-zero.fxt >out 2>/dev/null || :
[ "$(tail -n 1 out)" = '  00000008  00 00 05 00 00 00 00 00                           |........|' ] || fail "size 0: $(cat out)"
# Damage has no type: what is chosen by type stands alone.
fxtdump --hex --type thread damaged.fxt >out 2>/dev/null || :
[ "$(wc -l <out)" -eq 3 ] || fail "--hex --type: $(cat out)"

# Escapes on a terminal, unless NO_COLOR; never in a file.
escape=$(printf '\033')
if grep -q "$escape" hex.txt; then fail 'colour in a file'; fi
TERM=xterm python3 "$ROOT/tests/tools/terminal.py" 80 fxtdump good.fxt >out
grep -q "$escape\\[1mmagic" out || fail 'no colour on a terminal'
NO_COLOR=1 TERM=xterm python3 "$ROOT/tests/tools/terminal.py" 80 fxtdump good.fxt >out
if grep -q "$escape" out; then fail 'NO_COLOR'; fi
grep -q magic out || fail 'NO_COLOR: nothing shown'

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
