#!/bin/sh
# fxtcat: what comes out says what went in, judged by a reader of JSON that knows nothing of tables.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
mkdir traces out
"$ROOT/testdata/fxtdump/make" out traces
cd traces

# ---- Traces made by hand: what a table means depends on where one stands ----

cat >make.py <<'EOF'
from struct import pack

def words(*values): return b''.join(pack('<Q', v & (1 << 64) - 1) for v in values)
def stream(data): return data + b'\0' * (-len(data) % 8)
def record(kind, fields, *parts):
    body = b''.join(parts)
    return words(kind | (1 + len(body) // 8) << 4 | fields) + body
MAGIC = words(0x0016547846040010)
def info(id, name): return record(0, 1 << 16 | id << 20 | len(name) << 52, stream(name))
def section(id): return record(0, 2 << 16 | id << 20)
def lost(id): return record(0, 3 << 16 | id << 20)
def init(ticks, *more): return record(1, 0, words(ticks, *more))
def string(i, text): return record(2, i << 16 | len(text) << 32, stream(text))
def thread(i, process, tid): return record(3, i << 16, words(process, tid))
def instant(ticks, thread, category, name, *parts): return record(4, thread << 24 | category << 32 | name << 48, words(ticks), *parts)
def log(ticks, thread, text): return record(9, len(text) << 16 | thread << 32, words(ticks), stream(text))
def process(koid, name): return record(7, 1 << 16 | (0x8000 | len(name)) << 24, words(koid), stream(name))
def thread_object(koid, name, owner):
    return record(7, 2 << 16 | (0x8000 | len(name)) << 24 | 1 << 40, words(koid), stream(name), words(8 | 3 << 4 | 0x8007 << 16), stream(b'process'), words(owner))
def switch(ticks, cpu, out, into): return record(8, 1 << 60 | cpu << 20 | 3 << 36, words(ticks, out, into))
def module(ticks, id, koid, name, build): return record(10, id << 28 | len(name) << 44 | len(build) << 52, words(ticks, koid, 0), stream(name), stream(build))
def mapping(ticks, id, koid, start): return record(10, 1 << 16 | id << 28 | 5 << 44, words(ticks, koid, 0, start, 0x1000, 0))
def sample(ticks, process, tid, *pcs):
    return words(15 | (6 + len(pcs)) << 4, 0, ticks, process, tid, 8 * len(pcs), *pcs)
def heap(ticks, process, ordinal):
    return words(15 | (13) << 4, 0x8006 | 0x8016 << 16) + stream(b'memory') + stream(b'fuchsia.memory.sampler') + words(ticks, process, 1, 24, 1 << 56 | 2 << 32, ordinal, 0)

def write(name, *records): open(name, 'wb').write(b''.join(records))

# Tables and clock before the first provider, overwritten indexes, a provider introduced twice, one never.
write('tables.fxt', MAGIC, string(1, b'default'), thread(1, 10, 11), init(1000), instant(1, 1, 1, 1),
      info(5, b'five'), instant(2, 1, 1, 1), string(1, b'own'), thread(1, 20, 21), instant(3, 1, 1, 1), string(1, b'other'),
      instant(4, 1, 1, 0x8006, stream(b'inline')), init(2000), instant(5, 1, 1, 1),
      info(6, b'six'), string(2, b'two'), instant(6, 1, 2, 1), section(5), instant(7, 1, 2, 1),
      info(5, b'five'), instant(8, 1, 1, 1), section(9), instant(9, 1, 1, 3), lost(6), lost(77), instant(10, 7, 1, 1))
# Another clock, the same ids.
write('clock.fxt', MAGIC, info(5, b'clock'), init(24000000, 24000000, 1700000000000000000), string(1, b'late'), thread(1, 10, 12),
      instant(48000000, 1, 1, 1), instant(24000000, 1, 1, 1), MAGIC, section(6), instant(3, 0, 0, 0, words(1, 2)), info(0, b'zero'), log(9, 0, b''))
# Nothing but a default context, without magic.
write('bare.fxt', init(10), string(7, b'seven'), instant(5, 0, 7, 0, words(3, 4)))
# A capture: names, maps and samples of two processes and the kernel, and what goes with them.
CAPTURE = [MAGIC, info(9, b'tool'), init(1000000000),
      instant(1000, 0, 0x800b, 0x8007, words(0, 0), stream(b'fxt.capture'), stream(b'session')),
      process(10, b'app'), thread_object(11, b'main', 10), process(20, b'other'), thread_object(21, b'more', 20),
      module(1000, 1, 10, b'libapp.so', b'\1\2\3\4'), mapping(1000, 1, 10, 0x1000), module(1000, 1, 20, b'libother.so', b'\5'),
      mapping(1000, 1, 20, 0x1000), module(1000, 2, 0, b'kernel', b'\6'), mapping(1000, 2, 0, 1 << 63),
      sample(1100, 10, 11, 0x1010, 0x1020), sample(1200, 20, 21, 0x1030), switch(1300, 0, 11, 21), switch(1300, 0, 98, 99),
      heap(1400, 10, 0x68a0557106e51783), heap(1500, 10, 0x6b0add9f7769824d), lost(9), string(1, b'unused'), log(1600, 0, b''),
      sample(2000, 10, 11, 0x1040)]
CAPTURE[-2] = record(9, 5 << 16, words(1600, 10, 11), stream(b'hello'))
write('capture.fxt', *CAPTURE)
EOF
sed -i 's/log(9, 0, b.*)$/record(9, 2 << 16, words(9, 1, 2), stream(b"zz")))/' make.py
python3 make.py
"$O/bench/fxtgen" --kind sampler --count 300 >sampler.fxt
"$O/bench/fxtgen" --kind profiler --count 300 >profiler.fxt
"$O/bench/fxtgen" --kind spans --count 300 >spans.fxt
"$O/bench/fxtgen" --kind events --count 300 >events.fxt
for trace in tables clock bare capture sampler profiler spans events; do
    fxtdump --verify $trace.fxt >"$trace.verify" || fail "$trace.fxt is damaged"
done

# What the records say, one a line: without where they stand and what only serves to read them.
cat >meaning.py <<'EOF'
import json, subprocess, sys

TABLES = {'magic', 'provider_info', 'provider_section', 'init', 'string', 'thread'}

def records(path):
    lines = subprocess.run(['fxtdump', '--json', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.splitlines()
    return [json.loads(line) for line in lines]

def meaning(record, keep_provider=False):
    said = {k: v for k, v in record.items() if k != 'offset' and (keep_provider or k != 'provider')}
    return said

def meanings(path, keep_provider=False):
    return [meaning(r, keep_provider) for r in records(path) if r['type'] not in TABLES]

def same(a, b, what):
    for i, (x, y) in enumerate(zip(a, b)):
        assert x == y, '%s: record %d: %s is not %s' % (what, i, y, x)
    assert len(a) == len(b), '%s: %d records, not %d' % (what, len(b), len(a))
EOF

# ---- cut ----

cat >cut.py <<'EOF'
import sys
from meaning import *

path, kind, low, high, pid = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
def is_wanted(r):
    if r['type'] == 'provider_event' or (r['type'] == 'kernel_object' and r['object_type'] in (1, 2)) or r.get('category') == 'fxt.capture':
        return True # no record of the traces here has another process in these
    return (kind == 'all' or r['type'] == kind) and ('ts_ns' not in r or low <= int(r['ts_ns']) < high) and (pid == 'all' or str(r.get('pid')) == pid)
same([meaning(r, True) for r in records(path) if r['type'] not in TABLES and is_wanted(r)], meanings('cut.fxt', True), 'cut ' + ' '.join(sys.argv[1:]))
EOF
good_cut() { # good_cut TRACE TYPE FROM TO PID ARGUMENT...: the cut by the arguments is what the first ones say
    input=$1 kind=$2 from=$3 to=$4 pid=$5
    shift 5
    fxtcat cut "$@" -o cut.fxt "$input" 2>err || fail "cut $*: $(cat err)"
    python3 cut.py "$input" "$kind" "$from" "$to" "$pid" || fail "cut $* $input"
    fxtdump --verify cut.fxt | sed 's/.*  \([a-z_]*\):.*/\1/' >cut.verify || fail "cut $* $input: damage"
    while read -r notice; do # none that was not there
        grep -q "$notice" "$input.all" || fail "cut $* $input: $notice"
    done <cut.verify
}
end=9223372036854775807
for trace in tables clock bare sampler profiler spans events; do
    { cat $trace.verify; echo kind; } >$trace.fxt.all
    good_cut $trace.fxt all -$end $end all --time -9223372036854775807,
    good_cut $trace.fxt event -$end $end all --type event
    first=$(fxtdump --stats --json $trace.fxt 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["first_ns"])')
    last=$(fxtdump --stats --json $trace.fxt 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["last_ns"])')
    middle=$((first / 2 + last / 2 + 1))
    case $trace in sampler | profiler) ;; # maps are kept whatever the time: below
    *)
        good_cut $trace.fxt all "$first" $middle all --time "$first,$middle"
        good_cut $trace.fxt all $middle $end all --time "$middle,"
        ;;
    esac
done
good_cut tables.fxt all -$end $end 20 --pid 20
good_cut tables.fxt event 3500000 5000000 10 --pid 10 --time 3500us,5ms --type event
# A cut holds what it needs and no more: of six strings the one that is used.
fxtcat cut --time 4ms,5ms tables.fxt 2>/dev/null | fxtdump --stats --json - >stats.json 2>/dev/null
python3 -c 'import json; r = json.load(open("stats.json"))["records"]; assert r["string"] == 1 and r["init"] == 1 and r["thread"] == 1, r'

listed() { # listed 'TYPE ...' ARGUMENT...: the types of the records of the cut of capture.fxt by the arguments, in order
    wanted=$1
    shift
    fxtcat cut "$@" -o cut.fxt capture.fxt || fail "cut $*"
    types=$(fxtdump --json cut.fxt 2>/dev/null | python3 -c 'import json, sys; print(*[json.loads(line)["type"] for line in sys.stdin])')
    [ "$types" = "$wanted" ] || fail "cut $*: $types"
}
start='magic provider_info init event'
# By time: samples, but all names and maps, also those in messages of the heap sampler.
listed "$start kernel_object kernel_object kernel_object kernel_object module mapping module mapping module mapping large_blob large_blob provider_event" --time 1200ns,1400ns --type large_blob
listed "$start kernel_object kernel_object kernel_object kernel_object module mapping module mapping module mapping large_blob provider_event large_blob" --time +1us,
# By process: its own names, maps and switches, and the kernel's map.
listed "$start kernel_object kernel_object module mapping module mapping large_blob context_switch large_blob large_blob provider_event log large_blob" --pid 10
# By thread: its own name, but all processes and maps.
listed "$start kernel_object kernel_object kernel_object module mapping module mapping module mapping large_blob context_switch large_blob provider_event" --tid 21
# By type.
listed "$start kernel_object kernel_object kernel_object kernel_object provider_event log" --type log
listed "magic" --provider 8
sampled() { # how many samples fxt2pprof finds
    fxt2pprof --no-symbolize --format folded "$1" 2>&1 >/dev/null | sed -n 's/^cpu: \([0-9,]*\) samples.*/\1/p'
}
fxtcat cut --time +0,+1us -o cut.fxt capture.fxt
[ "$(sampled capture.fxt) $(sampled cut.fxt)" = '3 2' ] || fail "a cut of samples: $(sampled cut.fxt)"

# ---- merge ----

cat >merge.py <<'EOF'
import sys
from meaning import *
output, inputs = sys.argv[1], sys.argv[2:]
same([m for path in inputs for m in meanings(path)], meanings(output), 'merge ' + ' '.join(inputs))
# Providers that were apart are apart, those that were one are one, all are introduced, none is 0.
said = [r for r in records(output) if r['type'] not in TABLES]
pairs, at = set(), 0
for i, path in enumerate(inputs):
    provider_seen = False
    for r in records(path):
        provider_seen |= r['type'] in ('provider_info', 'provider_section')
        if r['type'] not in TABLES:
            pairs.add(((i, r['provider'], provider_seen or r['type'] == 'provider_event'), said[at]['provider']))
            at += 1
assert len({a for a, b in pairs}) == len({b for a, b in pairs}) == len(pairs), pairs
known = set()
for r in records(output):
    known |= {r['provider']} if r['type'] == 'provider_info' else set()
    assert r['type'] in ('magic', 'provider_event') or r['provider'] in known and r['provider'] > 0, r
assert [r['type'] for r in records(output)].count('magic') == 1
EOF
merged() { # merged FILE...: one trace of these says what they say
    fxtcat merge -o merged.fxt "$@" 2>/dev/null || fail "merge $*"
    python3 merge.py merged.fxt "$@"
    cat "$@" >/dev/null
    fxtdump --verify merged.fxt >/dev/null || fail "merge $*: damage"
}
merged tables.fxt
merged tables.fxt clock.fxt bare.fxt capture.fxt
merged bare.fxt bare.fxt clock.fxt tables.fxt clock.fxt
merged sampler.fxt profiler.fxt spans.fxt events.fxt sampler.fxt
fxtcat merge -o merged.fxt bare.fxt clock.fxt bare.fxt 2>/dev/null
fxtdump --json --type provider_info merged.fxt 2>/dev/null |
    python3 -c 'import json, sys; print(*["%d=%s" % (r["provider"], r["name"]) for r in map(json.loads, sys.stdin)])' >names
[ "$(cat names)" = '1=bare.fxt 5=clock 6=clock.fxt 2=zero 3=bare.fxt' ] || fail "merge: $(cat names)"
fxtcat merge tables.fxt - <clock.fxt >merged.fxt 2>/dev/null
python3 merge.py merged.fxt tables.fxt clock.fxt
fxtdump --type provider_info merged.fxt 2>/dev/null | grep -q 'name=standard input$' || fail 'merge with a pipe'
# Samples of several traces add up.
fxtcat merge -o merged.fxt sampler.fxt profiler.fxt
[ "$(sampled merged.fxt)" = 600 ] || fail "merge: $(sampled merged.fxt) samples"

# ---- recover ----

for trace in tables clock bare capture sampler profiler spans events; do
    fxtcat recover -o recovered.fxt $trace.fxt 2>err || fail "recover $trace: $(cat err)"
    [ $trace = bare ] || cmp $trace.fxt recovered.fxt || fail "recover $trace: other bytes"
    grep -q "$trace.fxt: .* records, nothing was damaged" err || fail "recover $trace: $(cat err)"
done
# Compressed data that ends after a whole record, without its end: no byte of the trace is missing, but the file is damaged.
gzip -c events.fxt | python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[:-8])' >cut.fxt.gz
status=0
fxtcat recover -o recovered.fxt cut.fxt.gz 2>err || status=$?
[ $status -eq 3 ] || fail "recover of cut data: status $status"
if grep -q 'nothing was damaged' err; then fail "recover of cut data: $(cat err)"; fi
status=0
fxtcat recover -o recovered.fxt damaged.fxt 2>err || status=$?
[ $status -eq 3 ] || fail "recover: status $status"
[ "$(tail -n 1 err)" = 'damaged.fxt: 7 records recovered, 99 bytes left out, 2 records mended' ] || fail "recover: $(cat err)"
fxtdump --verify recovered.fxt >verify || fail "recovered: $(cat verify)"
[ "$(sed -n 's/.*  \([a-z_]*\): .*/\1/p' verify | tr '\n' ' ')" = 'unknown_record unresolved_string unresolved_thread provider_loss ' ] ||
    fail "recovered: $(cat verify)"
python3 - <<'EOF'
from meaning import *
damaged = meanings('damaged.fxt')
assert damaged[0]['end'] == 99
damaged[0]['end'] = damaged[0]['ts'] # what readers take it for
same(damaged, meanings('recovered.fxt'), 'recover')
EOF
# Cut anywhere: all whole records come back, once and for all.
size=$(wc -c <capture.fxt)
for cut in 1 7 9 25 100 333 $((size - 1)) $((size - 9)); do
    head -c "$cut" capture.fxt >cut.fxt
    fxtcat recover -o recovered.fxt cut.fxt 2>/dev/null || [ $? -eq 3 ]
    if [ "$cut" -ge 8 ]; then
        fxtdump --verify --strict recovered.fxt >verify 2>&1 || grep -q provider_loss verify || fail "recover of $cut bytes: $(cat verify)"
    fi
    rm -f recovered.fxt
done
# Nothing but records that say nothing: a trace without records.
python3 -c 'exec(open("make.py").read().split("# Tables and clock")[0]); write("void.fxt", init(0), string(0, b"nothing"))'
fxtcat recover --force -o recovered.fxt void.fxt 2>err || fail "recover of nothing: $(cat err)"
[ "$(fxtdump --verify --json recovered.fxt)" = '{"bytes":8,"damaged":false,"damage":{}}' ] || fail 'recover of nothing'
# Two joined regions without magic; the second is full, which is a notice.
"$O/bench/fxtgen" --kind region --size 64k --cpus 2 >region.fxt
fxtcat recover -o recovered.fxt region.fxt 2>/dev/null
fxtdump --verify recovered.fxt >verify || fail "recovered region: $(cat verify)"
[ "$(sed 1d verify | grep -vc provider_loss)" -eq 0 ] || fail "recovered region: $(cat verify)"
[ "$(sampled recovered.fxt)" = "$(sampled region.fxt)" ] || fail 'recovered region'

# Several regions, or a folder of them, are one trace.
mkdir regions
for cpu in 0 1 2; do "$O/bench/fxtgen" --kind region --size 16k --cpus 1 --seed $cpu >regions/cpu-$cpu.bin; done
fxtdump --json regions >regions.json 2>/dev/null
for arguments in recover merge 'cut --type large_blob'; do
    for inputs in regions 'regions/cpu-0.bin regions/cpu-1.bin regions/cpu-2.bin'; do
        # shellcheck disable=SC2086 # words
        fxtcat $arguments -o joined.fxt $inputs 2>err || fail "$arguments of regions: $(cat err)"
        python3 - <<'EOF'
import json
from meaning import *
of_regions = [meaning(json.loads(line)) for line in open('regions.json')]
same([m for m in of_regions if m['type'] not in TABLES], meanings('joined.fxt'), 'regions')
EOF
    done
done
[ "$(fxtdump --stats --json joined.fxt 2>/dev/null | sed 's/.*"providers":\(\[[^]]*\]\).*/\1/')" = '[1,2,3]' ] || fail 'providers of regions'

# ---- compress ----

for level in 1 3 19; do
    fxtcat compress --level $level --frame-size 4k -o packed.zst sampler.fxt
    zstd -dc packed.zst | cmp - sampler.fxt || fail "compress --level $level"
    zstd -lv packed.zst >listing
    frames=$(sed -n 's/.*Frames: *//p; s/# Zstandard Frames: *//p' listing | head -n 1)
    [ "$frames" = $((($(wc -c <sampler.fxt) + 4095) / 4096)) ] || fail "compress: $frames frames: $(cat listing)"
    grep -q XXH64 listing || fail 'compress: no checksum'
    fxtdump --json packed.zst 2>/dev/null | cmp - "$(fxtdump --json sampler.fxt >sampler.json && echo sampler.json)" || fail 'a packed trace reads otherwise'
done
gzip -c sampler.fxt | fxtcat compress - | zstd -dc | cmp - sampler.fxt || fail 'compress of gzip'
fxtcat compress damaged.fxt | zstd -dc | cmp - damaged.fxt || fail 'compress of damage'
# The second frame unpacks without the first.
fxtcat compress --frame-size 4k -o packed.zst sampler.fxt
python3 - <<'EOF'
import subprocess
packed, plain = open('packed.zst', 'rb').read(), open('sampler.fxt', 'rb').read()
second = packed.index(b'\x28\xb5\x2f\xfd', 4)
assert subprocess.run(['zstd', '-dc'], input=packed[second:], stdout=subprocess.PIPE).stdout == plain[4096:]
EOF
gzip -c sampler.fxt | head -c 2000 >cut.gz
status=0
fxtcat compress -o packed.zst cut.gz 2>err || status=$?
[ $status -eq 3 ] || fail "compress of cut gzip: status $status"
grep -q 'cut.gz: damaged: the compressed data are cut off' err || fail "compress of cut gzip: $(cat err)"
zstd -dc packed.zst | cmp - sampler.fxt 2>&1 | grep -q 'EOF on -' || fail 'compress of cut gzip: not what could be read'

# ---- convert ----

for trace in sampler profiler capture; do
    fxtcat convert --layout profiler -o converted.fxt $trace.fxt 2>err || fail "convert $trace: $(cat err)"
    fxtdump --verify --strict converted.fxt || fail "convert $trace"
    fxtdump --json converted.fxt | python3 -c '
import json, sys
records = [json.loads(line) for line in sys.stdin]
types = [r["type"] for r in records]
assert types[:2] == ["magic", "init"] and not {"magic", "init"} & set(types[2:]), types[:9]
assert records[1]["ticks_per_second"] == 1000000000 and "base_ticks" not in records[1]
assert set(types[2:]) <= {"kernel_object", "backtrace", "module", "mapping"}, set(types)
assert all(r["provider"] == 0 for r in records)
modules = {}
for r in records:
    if r["type"] == "module":
        assert r["module_id"] == len(modules), r
        modules[r["pid"], r["module_id"]] = r
    elif r["type"] == "mapping":
        assert (r["pid"], r["module_id"]) in modules, r
' || fail "convert $trace: the layout"
    # Samples without a period count 1 each: what is looked up and where it lies is the same.
    fxtcat cut --type large_blob,backtrace,module,mapping -o counted.fxt $trace.fxt
    python3 -c '
from meaning import *
import sys
def samples(path):
    return sorted((r["ts_ns"], r["pid"], r["tid"], r.get("frames") or r["pcs"]) for r in records(path) if "frames" in r or "pcs" in r)
def maps(path):
    modules, found = {}, set()
    for r in records(path):
        if r["type"] == "module": modules[r["pid"], r["module_id"]] = r["name"], r["build_id"]
        if r["type"] == "mapping": found.add((r["pid"], modules[r["pid"], r["module_id"]], r["start"], r["length"], r["vaddr"], r["flags"]))
    return found
same(samples(sys.argv[1]), samples("converted.fxt"), "convert")
assert maps(sys.argv[1]) == maps("converted.fxt")
names = lambda path: [(r["object_type"], r["koid"], r["name"]) for r in records(path) if r["type"] == "kernel_object"]
assert names(sys.argv[1]) == names("converted.fxt")
' $trace.fxt || fail "convert $trace: the samples"
    grep -q "$trace.fxt: .* samples, .* modules, .* mappings; .* other records left out" err || fail "convert: $(cat err)"
done
# In the kernel sampler's stacks of arm64 the second address is that of the call; in a backtrace it would be looked up 1 below.
python3 - <<'EOF'
import re
exec(open('make.py').read().split('# Tables and clock')[0])
session = record(4, 1 << 20 | 0x800b << 32 | 0x8007 << 48, words(1, 0, 0), stream(b'fxt.capture'), stream(b'session'),
                 words(6 | 3 << 4 | 0x8004 << 16 | 0x8007 << 32), stream(b'arch'), stream(b'aarch64'))
samples = sample(5, 1, 2, 0x1000, 0x2000, 0x3000) + sample(6, 1, 2, 0x1000)
write('arm64.fxt', MAGIC, init(1000000000), session, samples)
write('raw.fxt', MAGIC, samples)
EOF
fxtcat convert --layout profiler arm64.fxt 2>/dev/null | fxtdump --type backtrace - | awk '{ print $5, $6, $7 }' >frames
[ "$(cat frames)" = "0x1000 0x2001 0x3000
0x1000  " ] || fail "convert of arm64: $(cat frames)"
fxtcat convert --layout profiler --arch arm64 raw.fxt 2>/dev/null | fxtdump --type backtrace - | awk '{ print $5, $6, $7 }' | cmp - frames
fxtcat convert --layout profiler raw.fxt 2>/dev/null | fxtdump --type backtrace - | grep -q '0x1000 0x2000 0x3000' || fail 'convert of x86_64'
# More frames than 8 bits count: the leaf's side stays.
python3 - <<'EOF'
exec(open('make.py').read().split('# Tables and clock')[0])
write('deep.fxt', MAGIC, sample(5, 1, 2, *range(1, 301)), mapping(5, 3, 1, 0x1000))
EOF
fxtcat convert --layout profiler -o converted.fxt deep.fxt 2>err
fxtdump --json --type backtrace converted.fxt | python3 -c 'import json, sys; r = json.load(sys.stdin); assert r["frames"] == ["0x%x" % i for i in range(1, 256)], r'
grep -q 'more than 255 frames in 1 stack: ' err || fail "convert: $(cat err)"
grep -q 'left out: 1 mapping whose module is missing or comes later' err || fail "convert: $(cat err)"
# A record before time 0 is counted once, and only if it is written: samples of both forms, and mappings with and without a module.
python3 - <<'EOF'
exec(open('make.py').read().split('# Tables and clock')[0])
start = MAGIC, info(9, b'tool'), init(1000000000, 100, 0)
write('early0.fxt', *start, sample(100, 1, 2, 0x1000), sample(200, 1, 2, 0x1000), mapping(5, 3, 1, 0x1000))
write('early1.fxt', *start, sample(5, 1, 2, 0x1000), sample(200, 1, 2, 0x1000))
write('early3.fxt', *start, sample(5, 1, 2, 0x1000), module(6, 3, 1, b'lib', b'\1'), mapping(7, 3, 1, 0x1000), sample(200, 1, 2, 0x1000))
EOF
while IFS='|' read -r early said; do
    fxtcat convert --layout profiler -o converted.fxt "early$early.fxt" 2>err || fail "convert early$early.fxt: $(cat err)"
    [ "$(grep 'time 0' err)" = "${said:+fxtcat convert: warning: $said before time 0, which the layout does not have: written as time 0}" ] ||
        fail "early$early.fxt: $(cat err)"
done <<'END'
0|
1|1 record was
3|3 records were
END

# ---- Damage, messages, exit statuses ----

expect() { # expect STATUS 'last line of stderr' ARGUMENT...
    wanted=$1
    message=$2
    shift 2
    status=0
    fxtcat "$@" >out 2>err || status=$?
    [ $status -eq "$wanted" ] || fail "fxtcat $*: status $status, not $wanted: $(cat err)"
    [ "$(tail -n 1 err)" = "$message" ] || fail "fxtcat $*: $(cat err)"
}
usage() { # usage COMMAND 'message' ARGUMENT...
    first="$1: $2"
    second="Try '$1 --help'."
    shift 2
    expect 2 "$second" "$@"
    [ "$(head -n 1 err)" = "$first" ] || fail "fxtcat $*: $(cat err)"
}
usage fxtcat 'no command given; the commands are: cut, merge, recover, compress, convert, symbolize-fidl'
usage fxtcat "unknown command 'paste'; the commands are: cut, merge, recover, compress, convert, symbolize-fidl" paste
usage 'fxtcat cut' 'no records selected; use --time, --pid, --tid, --type or --provider' cut tables.fxt
usage 'fxtcat cut' "one trace at a time; 'fxtcat merge' makes one of several" cut --pid 1 tables.fxt clock.fxt
usage 'fxtcat merge' 'no trace given' merge
usage 'fxtcat convert' 'no output format given; use --layout profiler or --perfetto' convert tables.fxt
usage 'fxtcat convert' "--layout: 'perf' is not one of profiler, capture" convert --layout perf tables.fxt
usage 'fxtcat compress' '--level: 20 is not between 1 and 19' compress --level 20 tables.fxt
usage 'fxtcat compress' '--frame-size: 1k is not between 4,096 and 67,108,864 bytes' compress --frame-size 1k tables.fxt
for name in cut merge recover compress convert; do
    fxtcat $name --help | grep -q "^Usage: fxtcat $name " || fail "$name --help"
    fxtcat $name --help | grep -q '^  -o, --output=FILE ' || fail "$name --help"
done
for arguments in 'cut --type event' merge recover 'convert --layout profiler'; do
    # Damaged input: all that can be read is written, and the status says so.
    status=0
    # shellcheck disable=SC2086 # words
    fxtcat $arguments -o result.fxt damaged.fxt 2>err || status=$?
    [ $status -eq 3 ] || fail "$arguments: status $status for damage"
    grep -q 'damaged.fxt: damaged: cut off in its last record (at offset 224, 11 bytes)' err || fail "$arguments: $(cat err)"
    fxtdump --verify result.fxt >/dev/null || fail "$arguments: damage in the output"
    rm result.fxt
    # No trace, no file: nothing is left behind.
    for input in make.py missing.fxt; do
        status=0
        # shellcheck disable=SC2086
        fxtcat $arguments -o result.fxt $input 2>err || status=$?
        case $input in make.py) wanted=3 ;; *) wanted=4 ;; esac
        [ $status -eq $wanted ] || fail "$arguments $input: status $status"
        [ -z "$(find . -name 'result.fxt*')" ] || fail "$arguments $input: a file is left"
    done
    # A full disk.
    status=0
    # shellcheck disable=SC2086
    fxtcat $arguments tables.fxt >/dev/full 2>err || status=$?
    [ $status -eq 4 ] || fail "$arguments: status $status for a full disk"
    if grep -q 'nothing was damaged' err; then fail "$arguments: a full disk, and $(cat err)"; fi
done
expect 4 'fxtcat compress: missing.fxt: No such file or directory' compress missing.fxt
expect 4 'fxtcat compress: .: is a directory, not a trace' compress .
: >empty.fxt
expect 3 'fxtcat compress: empty.fxt: empty, not an FXT trace' compress -o result.zst empty.fxt
[ ! -e result.zst ] || fail 'compress of nothing'
# One of several is missing: the others are merged all the same.
expect 4 'fxtcat merge: missing.fxt: No such file or directory' merge -o merged.fxt clock.fxt missing.fxt
python3 merge.py merged.fxt clock.fxt
# A trace can be written over itself.
cp tables.fxt same.fxt
fxtcat cut --type event -o same.fxt same.fxt 2>/dev/null
fxtdump --verify same.fxt >/dev/null || fail 'a cut over its own input'
# A terminal gets no trace.
status=0
python3 "$ROOT/tests/tools/terminal.py" 80 fxtcat recover tables.fxt >out || status=$?
[ $status -eq 2 ] || fail "a terminal: status $status"
grep -q 'a trace is not written to a terminal; use -o FILE' out || fail "a terminal: $(cat out)"

# ---- Memory ----

cat >peak.py <<'EOF'
import resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit("%d KiB: %s" % (peak, sys.argv[2:]) if peak > int(sys.argv[1]) else 0)
EOF
# Sanitizers keep shadows of all memory.
if ! nm "$(command -v fxtcat)" | grep -q __asan_init; then
    "$O/bench/fxtgen" --kind events --size 50M >large.fxt
    for arguments in 'cut --type event' 'cut --time +0,+100ms --pid 1' 'merge large.fxt' recover 'convert --layout profiler' compress; do
        # shellcheck disable=SC2086
        python3 peak.py 16384 fxtcat $arguments large.fxt || fail "more than 16 MiB for $arguments"
    done
    rm large.fxt
fi

# ---- Real traces ----

folder=${FXT_SHARED_DATA:-/nonexistent}/fxt
if [ ! -d "$folder" ]; then
    echo "SKIP: real FXT traces are not here"
    exit 0
fi
set -- "$folder"/ocaml-trace/*.fxt "$folder/ftfrs-sample.fxt" "$folder/c-hello-world.fxt.gz"
merged "$@"
for trace; do
    fxtcat recover -o recovered.fxt "$trace" 2>/dev/null || fail "recover $trace"
    case $trace in *.gz) gzip -dc "$trace" ;; *) cat "$trace" ;; esac | cmp - recovered.fxt
    fxtdump --verify "$trace" >cut.all || fail "$trace"
    fxtcat cut --type event -o cut.fxt "$trace" 2>/dev/null
    python3 cut.py "$trace" event -$end $end all || fail "cut $trace"
done
exit 0
