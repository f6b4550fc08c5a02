#!/bin/sh
# Raw regions of the kernel sampler and trace-engine buffers on the command line: which files make one trace, whose CPU they
# are of, where damage is, and that one bad file never costs another.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

# make.py writes regions and buffers as docs/formats/zx-sampler.md section 3 and trace-provider.md section 3 have them.
cat >make.py <<'PY'
import os, struct, sys

def words(*w): return struct.pack("<%dQ" % len(w), *w)
def sample(tick, *pcs): return words(15 | (6 + len(pcs)) << 4, 0, tick, 77, 78, 8 * len(pcs), *pcs)
def region(name, records, pages=4):
    data = b"".join(records)
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "wb").write(data + bytes(pages * 4096 - len(data)))

for cpu in range(12): # 11 before 2 by letters, not by numbers
    region("regions/cpu-%d.bin" % cpu, [sample(1000 * cpu + i, 0x400000 + 16 * cpu, 0x500000) for i in range(cpu + 1)])
full = [sample(i, *range(1, 59)) for i in range(8)] # 512 bytes each
region("full/cpu-0.bin", full, 1)
bad = sample(5, 0x400000) + words(0x44) + bytes(8)
for cpu in range(3):
    region("bad/cpu-%d.bin" % cpu, [sample(1000 * cpu, 0x400000), *([bad] if cpu == 1 else [])])
region("worse/cpu-0.bin", [words(0xff44), b"nothing that could be a sample  "])
region("worse/cpu-1.bin", [sample(1, 0x400000)])
region("worse/cpu-2.bin", [])
open("worse/cpu-3.bin", "wb").close()

init = words(0x21, 10**9)
def event(tick): return words(0x44, tick, 5, 6) # an instant without a name
def padded(data, room): return data + bytes(room - len(data))
def engine(name, mode, wrapped, durable, halves, ends, dropped):
    header = struct.pack("<QHBBIQQQQQQQ56x", 0x627566EE68656164, 0, mode, 0, wrapped, 4096, 256, 1856, *ends, dropped)
    assert len(header) == 128
    open(name, "wb").write(header + padded(durable, 256) + padded(halves[0], 1856) + padded(halves[1], 1856))
halves = [event(100) + event(101), event(50)]
engine("circular.buf", 1, 2, init, halves, (16, 64, 32), 0)
engine("dropped.buf", 2, 2, init, halves, (16, 64, 32), 1234)
engine("dropped1.buf", 2, 2, init, halves, (16, 64, 32), 1)
engine("killed.buf", 1, 0, init, [halves[0], b""], (0, 0, 0), 0)
engine("refused.buf", 1, 0, init, halves, (264, 0, 0), 0)
PY
python3 make.py

# show FILE...: provider, type and time of each record, by JSON
show() {
    fxtdump --json "$@" 2>stderr | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(r["provider"], r["type"], r.get("ts", ""), r.get("name", ""))'
}
expect() { # expect STATUS PROGRAM...
    wanted=$1
    shift
    status=0
    "$@" >stdout 2>stderr || status=$?
    [ $status -eq "$wanted" ] || fail "status $status, not $wanted: $*: $(cat stderr)"
}
says() { # says TEXT [LINES]: what stderr has, in so many lines
    grep -qF -- "$1" stderr || fail "no '$1' in: $(cat stderr)"
    [ "$(wc -l <stderr)" -eq "${2:-1}" ] || fail "not ${2:-1} lines: $(cat stderr)"
}

# ---- A directory, and a list ----

show regions >shown
[ ! -s stderr ] || fail "a directory of good regions: $(cat stderr)"
awk '$2 == "provider_info" { print $1, $3 }' shown >providers
i=0
while [ $i -lt 12 ]; do
    echo "$((i + 1)) cpu-$i"
    i=$((i + 1))
done | cmp - providers || fail "providers: $(cat providers)"
[ "$(grep -c large_blob shown)" -eq 78 ] || fail "$(grep -c large_blob shown) samples, not 78"
[ "$(awk '$2 == "large_blob" && $1 != int($3 / 1000) + 1' shown | wc -l)" -eq 0 ] || fail "samples of another CPU"
show regions/ | cmp - shown
show regions/cpu-?.bin regions/cpu-1?.bin | cmp - shown || fail "a list is another trace"
[ "$(fxtdump --json regions | grep -c '"type":"magic"')" -eq 1 ] || fail "more than one trace"
show regions/cpu-7.bin | grep -q '^8 provider_info  cpu-7' || fail "a region alone"

# The same samples, whatever wraps them.
mkdir packed
for i in 0 1 2 3 4 5; do gzip -c "regions/cpu-$i.bin" >"packed/cpu-$i.bin.gz"; done
for i in 6 7 8 9 10; do zstd -q -c "regions/cpu-$i.bin" >"packed/cpu-$i.bin.zst"; done
cp regions/cpu-11.bin packed/
show packed >other
sort shown >wanted
sort other | cmp - wanted || fail "packed regions are another trace"

# Numbers that do not tell the CPUs apart, and names without: their order does.
mkdir named
cp regions/cpu-3.bin named/a
cp regions/cpu-4.bin named/b
show named | awk '$2 == "provider_info" { print $3 }' | tr '\n' ' ' | grep -q '^cpu-0 cpu-1 $' || fail "names without numbers"
mkdir one two
cp regions/cpu-3.bin one/cpu3
cp regions/cpu-3.bin two/cpu3
show one/cpu3 two/cpu3 | awk '$2 == "provider_info" { print $3 }' | tr '\n' ' ' | grep -q '^cpu-0 cpu-1 $' || fail "equal numbers"

# More files than may be open at a time.
mkdir many
i=0
while [ $i -lt 100 ]; do
    cp regions/cpu-0.bin "many/cpu$i"
    i=$((i + 1))
done
prlimit --nofile=40:40 fxtdump --json many >other || fail "100 regions with 40 descriptors"
[ "$(grep -c large_blob other)" -eq 100 ] || fail "$(grep -c large_blob other) samples of 100 regions"

# A region between traces is a trace by itself, and a directory may hold traces.
"$O/bench/fxtgen" --count 10 >small.fxt
[ "$(fxtdump --json regions/cpu-0.bin small.fxt regions/cpu-1.bin | grep -c '"type":"magic"')" -eq 3 ] || fail "three traces"
mkdir mixed
cp small.fxt regions/cpu-1.bin regions/cpu-2.bin mixed/
[ "$(fxtdump --json mixed | grep -c '"type":"magic"')" -eq 2 ] || fail "two traces in a directory"

# --force: the bytes as they are.
expect 0 fxtdump --force regions/cpu-0.bin
says 'zero word between records (first at offset 64)'

# A profile of all CPUs, from one session.
expect 0 fxt2pprof --format folded --no-symbolize regions
grep -q '78 samples' stderr || fail "$(cat stderr)"
[ "$(awk '{ n += $NF } END { print n }' stdout)" -eq 78 ] || fail "$(cat stdout)"

# ---- Damage ----

expect 3 fxtdump --json bad
says 'fxtdump: bad/cpu-1.bin: damaged: a record of type 4, not a sample (at offset 112, 16,272 bytes not read)'
[ "$(grep -c large_blob stdout)" -eq 4 ] || fail "$(grep -c large_blob stdout) samples beside a damaged region"
grep -q '"type":"large_blob","provider":3' stdout || fail "nothing of the region behind the damaged one"
expect 3 fxt2pprof -q --format folded --no-symbolize bad
[ "$(awk '{ n += $NF } END { print n }' stdout)" -eq 4 ] || fail "$(cat stdout)"

expect 3 fxtdump --json worse
says 'worse/cpu-0.bin: damaged: a record of type 4, not a sample (at offset 0, 16,384 bytes not read)'
[ "$(grep -c large_blob stdout)" -eq 1 ] || fail "a region behind one that is nothing"
[ "$(grep -c provider_info stdout)" -eq 4 ] || fail "regions without samples have no provider"

expect 0 fxtdump full
says 'full/cpu-0.bin: region that is full: samples may be missing'
expect 3 fxtdump --strict full

# Damage inside a sample is the reader's, and has the file's offset.
cp -r regions inner
python3 -c '
with open("inner/cpu-5.bin", "r+b") as f:
    f.seek(3 * 64 + 40)
    f.write(b"\xff" * 8)'
expect 3 fxtdump inner
says 'inner: damaged: contradictory record, dropped (at offset 192 of inner/cpu-5.bin, 64 bytes)'

# What cannot be read does not cost the rest.
mkdir gone
cp regions/cpu-0.bin regions/cpu-1.bin regions/cpu-2.bin gone/
chmod 0 gone/cpu-1.bin
if [ "$(id -u)" -ne 0 ]; then
    expect 4 fxtdump --json gone
    says 'fxtdump: gone/cpu-1.bin: Permission denied'
    [ "$(grep -c large_blob stdout)" -eq 4 ] || fail "samples beside an unreadable region"
elif setpriv --bounding-set -dac_override,-dac_read_search true 2>/dev/null; then
    expect 4 setpriv --bounding-set -dac_override,-dac_read_search fxtdump --json gone
    says 'fxtdump: gone/cpu-1.bin: Permission denied'
    [ "$(grep -c large_blob stdout)" -eq 4 ] || fail "samples beside an unreadable region"
fi
mkdir nothing
expect 4 fxtdump nothing
says 'fxtdump: nothing: is a directory without files'
expect 4 fxt2pprof nothing -o profile
says 'fxt2pprof: nothing: is a directory without files'

# ---- Trace-engine buffers ----

ticks() { fxtdump --json "$@" 2>stderr | sed -n 's/.*"ts":\([0-9]*\).*/\1/p' | tr '\n' ' '; }
[ "$(ticks circular.buf)" = '50 100 101 ' ] || fail "order: $(ticks circular.buf)"
[ ! -s stderr ] || fail "$(cat stderr)"
[ "$(ticks - <circular.buf)" = '50 100 101 ' ] || fail "order from standard input"
# shellcheck disable=SC2002 # a pipe is what is tested
[ "$(cat circular.buf | ticks -)" = '50 100 101 ' ] || fail "order from a pipe"
gzip -c circular.buf >circular.buf.gz
[ "$(ticks circular.buf.gz)" = '50 100 101 ' ] || fail "order of a packed buffer"
[ "$(ticks killed.buf)" = '100 101 ' ] || fail "a killed provider: $(ticks killed.buf)"
[ "$(ticks circular.buf killed.buf)" = '50 100 101 100 101 ' ] || fail "two buffers"
expect 0 fxtdump dropped.buf
says 'dropped.buf: 1,234 records that the provider dropped'
expect 0 fxtdump dropped1.buf
says 'dropped1.buf: 1 record that the provider dropped'
expect 3 fxtdump refused.buf
says 'refused.buf: damaged: a trace-engine buffer that cannot be read: records end after the room for them'
[ ! -s stdout ] || fail "records of a refused buffer"
expect 3 fxtdump --stats refused.buf
grep -q '1  unreadable part, first at offset 0' stdout || fail "a refused buffer is not compressed: $(cat stdout)"
head -c 2000 circular.buf >cut.buf
expect 3 fxtdump cut.buf
says 'cut.buf: damaged: cut off: 2000 of 4096 bytes are there (at offset 2000, 2,096 bytes not read)'

# One that is none says so.
mkdir modules-9.markup
expect 4 fxtdump --modules=modules-9.markup regions
says 'modules-9.markup: Is a directory'

# Modules and mappings from beside the regions, and those that an archive stamps 0, were there before: they are no time.
mkdir later
cp regions/cpu-7.bin later
cat >later/modules-77.markup <<'MARKUP'
{{{module:0:prog:elf:0123456789abcdef}}}
{{{mmap:0x400000:0x1000:load:0:rx:0x0}}}
MARKUP
fxtcat cut --pid 77 -o cut.fxt later 2>stderr || fail "$(cat stderr)"
for trace in later cut.fxt; do
    fxtdump --stats --json $trace 2>stderr >stdout || fail "$(cat stderr)"
    grep -q '"module":1,"mapping":1,.*"first_ns":7000' stdout || fail "times of $trace: $(cat stdout)"
    [ "$(fxtdump --type large_blob --time +0s,+1s $trace | wc -l)" -eq 8 ] || fail "--time from the first sample of $trace"
done
