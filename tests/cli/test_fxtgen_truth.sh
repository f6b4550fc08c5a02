#!/bin/sh
# What fxtgen says is in a trace of scheduling records or of heap messages, or of all in one, against a
# reader of a few lines that shares nothing with ours.
set -eu
fxtgen=$O/bench/fxtgen
cd "$WORK"

cat >replay.py <<'EOF'
import collections, struct, sys

MODULES = [(0x1000 * (m + 1) + 0x120) for m in range(6)]  # vaddr, told by SetProcessInfo too
SCHED = ["running", "ready", "blocked"]


def records(data):
    at = 0
    while at < len(data):
        header, = struct.unpack_from("<Q", data, at)
        large = header & 15 == 15
        words = header >> 4 & (0xFFFFFFFF if large else 0xFFF)
        yield header, struct.unpack_from("<%dQ" % words, data, at), data[at : at + 8 * words]
        at += 8 * words
    assert at == len(data)


def table(message, at):
    """Members of the table whose header stands in line at `at`, and what follows its envelopes: (position of each, end)."""
    count, presence = struct.unpack_from("<QQ", message, at)
    assert presence == 2**64 - 1
    return count


def fields(message, start, count):
    """Positions of a table's members, whose envelopes stand at start."""
    at = start + 8 * count
    result = []
    for i in range(count):
        size, handles, flags = struct.unpack_from("<IHH", message, start + 8 * i)
        assert handles == 0 and flags == 0
        result.append(at)
        at += size
    return result, at


def stack(message, at):
    one, end = fields(message, at + 16, table(message, at))  # StackTrace
    count, presence = struct.unpack_from("<QQ", message, one[0])
    return struct.unpack_from("<%dQ" % count, message, one[0] + 16)


def process_info(message):
    members, end = fields(message, 32, table(message, 16))
    assert end == len(message)
    count, presence = struct.unpack_from("<QQ", message, members[1])
    at = members[1] + 16
    sizes = [struct.unpack_from("<QQ", message, at + 16 * i)[0] for i in range(count)]
    at += 16 * count
    for size in sizes:
        parts, at = fields(message, at, size)
        length, _ = struct.unpack_from("<QQ", message, parts[0])
        build_id = message[parts[0] + 16 : parts[0] + 16 + length].hex()
        segments, _ = struct.unpack_from("<QQ", message, parts[1])
        assert segments == 1
        numbers, _ = fields(message, parts[1] + 32, table(message, parts[1] + 16))
        start, length, relative = (struct.unpack_from("<Q", message, n)[0] for n in numbers)
        yield start, length, relative, build_id


class Heap:
    def __init__(self):
        self.maps, self.live = {}, {}
        self.sums = collections.defaultdict(lambda: [0] * 6)

    def name(self, process, pcs):
        frames = []
        for pc in reversed(pcs):
            start, length, relative, build_id = next(m for m in self.maps[process] if m[0] <= pc - 1 < m[0] + m[1])
            frames.append("%s+0x%x" % (build_id, pc - 1 - start + relative))
        return ";".join(frames)

    def take(self, names, process, message):
        ordinal, = struct.unpack_from("<Q", message, 8)
        if ordinal == 0x68A0557106E51783:
            self.maps[process] = list(process_info(message))
            return
        members, end = fields(message, 32, table(message, 16))
        assert end == len(message)
        address, = struct.unpack_from("<Q", message, members[0])
        line = names[process] + ";" + self.name(process, stack(message, members[1]))
        if ordinal == 0x6B0ADD9F7769824D:
            size, = struct.unpack_from("<Q", message, members[2])
            assert (process, address) not in self.live
            self.live[process, address] = (line, size)
            self.add(line, 0, size)
        else:
            assert ordinal == 0x503BFF5EC34DBEEB
            self.add(line, 4, self.live.pop((process, address))[1])

    def add(self, line, column, size):
        self.sums[line][column] += 1
        self.sums[line][column + 1] += size

    def lines(self):
        for line, size in self.live.values():
            self.add(line, 2, size)
        return ["%s %s" % (line, " ".join(map(str, sums))) for line, sums in self.sums.items()]


class Sched:
    def __init__(self):
        self.state, self.lasted, self.cpus, self.now = {}, collections.Counter(), {}, 0

    def enter(self, tid, state, now):
        old, since = self.state.get(tid, ("blocked", FIRST))
        self.lasted[tid, old] += now - since
        self.state[tid] = (state, now)
        return old

    def take(self, header, words):
        self.now = words[1]
        cpu = header >> 20 & 0xFFFF
        if header >> 60 == 2:
            assert self.enter(words[2], "ready", self.now) == "blocked"
            return
        outgoing, incoming = words[2], words[3]
        assert self.cpus.get(cpu, 0) == outgoing and (outgoing or incoming)
        self.cpus[cpu] = incoming
        if outgoing:
            state = "blocked" if header >> 36 & 15 == 3 else "ready"
            assert self.enter(outgoing, state, self.now) == "running"
        if incoming:
            assert self.enter(incoming, "running", self.now) == "ready"

    def lines(self, threads):
        for tid in threads:
            self.enter(tid, "end", self.now)
        return ["%s;%s %d" % (threads[tid], state, ns) for (tid, state), ns in self.lasted.items() if ns]


def text(raw, at, length):
    return raw[at : at + length].decode()


FIRST = 5000000000
mixed = sys.argv[2] == "mix"
names, threads, heap, sched = {}, {}, Heap(), Sched()
for header, words, raw in records(open(sys.argv[1], "rb").read()):
    kind = header & 15
    if kind == 7:  # kernel object: a process, or a thread with its process as argument
        name = text(raw, 16, header >> 24 & 0x7FFF)
        if header >> 16 & 255 == 1:
            names[words[1]] = name
        else:
            threads[words[1]] = names[words[-1]] + ";" + name
    elif kind == 8:
        sched.take(header, words)
    elif kind == 15 and words[1] & 0xFFFF == 0x8006:  # category "memory"
        assert text(raw, 16, 6) == "memory" and text(raw, 24, 22) == "fuchsia.memory.sampler"
        assert text(raw, 80, 23) == "sampling_interval_bytes"
        assert words[13] == 65536
        heap.take(names, words[7], raw[120 : 120 + words[14]])
result = [("heap;" if mixed else "") + line for line in heap.lines()]
if sched.now:
    result += [("sched;" if mixed else "") + line for line in sched.lines(threads)]
print("\n".join(sorted(result, key=lambda line: line.split(" ")[0].encode())))
EOF

check() { # check NAME OPTION...
    name=$1
    shift
    "$fxtgen" "$@" --truth truth >in.fxt
    python3 replay.py in.fxt "$name" >replayed
    grep -v '^events;\|^stacks;' truth >expected
    if ! cmp expected replayed; then
        echo "$name: $*"
        diff expected replayed | head -n 10
        exit 1
    fi
}

check sched --kind sched --count 5000
check sched --kind sched --count 3000 --cpus 1 --threads 1 --processes 1
check sched --kind sched --count 3000 --cpus 40 --threads 2
check heap --kind heap --count 5000 --seed 3
check heap --kind heap --count 20000 --stacks 7 --depth 4
check heap --kind heap --count 300 --depth 250 --stacks 3000
check mix --mix events=70,sched=20,stacks=5,heap=5 --count 20000
check mix --mix heap=1,sched=1 --count 3000
# A mix holds what it is told to hold.
"$fxtgen" --mix stacks=1,events=3 --count 8000 --truth truth >in.fxt
grep -q '^heap\|^sched' truth && exit 1
stacks=$(awk '/^stacks;/ { sum += $NF } END { print sum }' truth)
events=$(awk '/^events;/ { sum += $NF } END { print sum }' truth)
if [ $((stacks + events)) -ne 8000 ] || [ "$stacks" -lt 1800 ] || [ "$stacks" -gt 2200 ]; then
    echo "of 8000 records, a quarter stacks: $stacks stacks, $events events"
    exit 1
fi
