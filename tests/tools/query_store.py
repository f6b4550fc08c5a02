#!/usr/bin/env python3
"""A store drawn by chance: query_store.py SCHEMA OUT [SEED [SAMPLES]].

Small, but with everything that queries meet: two captures, inlined functions, recursion, frames without names, equal names in two
modules, names that hurt (blanks, semicolons, control characters), threads without names, heap events that are released and that are
not, slices with arguments, scheduling."""
import random
import sqlite3
import sys

schema, out = sys.argv[1:3]
rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
samples_wanted = int(sys.argv[4]) if len(sys.argv) > 4 else 4000

db = sqlite3.connect(out)
db.executescript(open(schema).read())

# The columns that matter here; others have their default, are NULL where they may be, or 0.
COLUMNS = {
    "module": "id name build_id", "callsite": "id parent_id frame_id depth", "cpu_sample": "id ts cpu utid callsite_id weight",
    "capture": "id hash name format size_bytes record_count start_ts end_ts period_ns max_frames realtime_ns monotonic_ns command arch "
               "first_sample_id sample_count first_slice_id slice_count",
    "heap_event": "id ts freed free_ts upid address size objects bytes callsite_id free_callsite_id",
    "callsite_sum": "capture_id sample_type_id upid callsite_id n value", "event_name": "id category name",
    "track": "id capture_id type name category upid utid cookie", "slice_data": "id ts dur track_id name_id depth parent_id arg_set_id",
    "arg": "arg_set_id ordinal key_id type value", "sched_slice": "id ts dur cpu utid end_state priority",
    "thread_wait": "id ts dur utid state waker_utid", "loss": "capture_id name count",
    "damage": "capture_id kind count first_offset bytes is_loss description", "string": "id text",
    "symbol": "frame_id inline_depth function system_name file line column start_line quality",
}


def add(table, *values):
    row = dict(zip(COLUMNS[table].split(), values))
    for name, required in needed.setdefault(table, [(r[1], r[3] and r[4] is None) for r in db.execute("PRAGMA table_info(%s)" % table)]):
        if required and name not in row:
            row[name] = 0
    db.execute("INSERT INTO %s(%s) VALUES (%s)" % (table, ",".join('"%s"' % c for c in row), ",".join("?" * len(row))), list(row.values()))


needed = {}

strings = []


def string(text):
    """Most texts have one id, some have two."""
    if text in strings and rng.random() < 0.9:
        return strings.index(text) + 1
    strings.append(text)
    return len(strings)


functions = ["main", "decode_blocks", "scramble", "operator new(unsigned long)", "std::vector<int, std::allocator<int> >::push_back(int&&)",
             "a;b", "say 'x' 12", "tab\tline\nescape\x1b[31m", "naïve_日本", "memcpy", "leaf_fn", "walk", "run(int)::{lambda()#1}::operator()() const",
             "x" * 300, "core::fmt::write", "wait_for"]
files = ["/src/main.c", "/src/decode.c", "/src/lib/vector.h", "/home/someone/project/with/a/very/long/path/walk.rs"]
modules = ["/usr/bin/server", "/usr/lib/libc.so.6", "[vdso]", "/opt/server", "[kernel]"]

for i, name in enumerate(modules):
    add("module", i + 1, name, "%040x" % rng.getrandbits(160) if name[0] == "/" else None)

# Frames: with inlined functions, with one, without names, without module.
frames = 120
symbols = []
for frame in range(1, frames + 1):
    module = rng.choice([1, 1, 1, 2, 3, 4, 5, None])
    db.execute("INSERT INTO frame (id, module_id, vaddr) VALUES (?, ?, ?)", (frame, module, rng.randrange(1 << 20) if module else None))
    for depth in range(0 if module and rng.random() < 0.15 else rng.choice([1, 1, 2, 3])):
        symbols.append((frame, depth, string(rng.choice(functions)), None, string(rng.choice(files)) if rng.random() < 0.8 else None,
                        rng.randrange(1, 500), None, None, 4))

# Stacks: a tree; a parent comes before its children.
sites = 900
children = set()
depths = [None]
for site in range(1, sites + 1):
    while True:
        parent = rng.randrange(max(0, site - 200), site) if site > 5 else 0
        frame = rng.randrange(1, frames + 1)
        if (parent, frame) not in children:
            break
    children.add((parent, frame))
    depths.append(depths[parent] + 1 if parent else 0)
    add("callsite", site, parent or None, frame, depths[site])

# Two captures, three processes (one in the second), threads.
processes = [(1, 1, 100, "server"), (2, 1, 200 | 1 << 32, "worker"), (3, 2, 300, None)]
for id_, capture, koid, name in processes:
    db.execute("INSERT INTO process(id, capture_id, koid, name) VALUES (?, ?, ?, ?)", (id_, capture, koid, name))
threads = [(1, 1, 100, "server"), (2, 1, 101, "io"), (3, 1, 102, None), (4, 2, 200, "worker"), (5, 2, 201, "io"), (6, 3, 300, "main")]
for id_, upid, koid, name in threads:
    db.execute("INSERT INTO thread(id, upid, koid, name) VALUES (?, ?, ?, ?)", (id_, upid, koid, name))

start = 5_000_000_000
period = 1_000_000
counts = [samples_wanted * 3 // 4, samples_wanted - samples_wanted * 3 // 4]
first = 1
sums = {}


def count(capture, type_, upid, site, value):
    n = sums.setdefault((capture, type_, upid, site or 0), [0, 0])
    n[0] += value[0]
    n[1] += value[1]


end = []
for capture in (1, 2):
    ts = start
    mine = [t for t in threads if processes[t[1] - 1][1] == capture]
    for sample in range(first, first + counts[capture - 1]):
        ts += rng.randrange(0, 500_000)
        utid, upid = rng.choice(mine)[:2]
        site = rng.randrange(1, sites + 1)
        weight = period if rng.random() < 0.95 else 2 * period
        add("cpu_sample", sample, ts, rng.choice([0, 1, 2, 3, None]), utid, site, weight)
        count(capture, 1, upid, site, (1, weight))
    end.append(ts)
    add("capture", capture, b"%016d" % capture, "run%d.fxt" % capture, "fxt", 1000, 100, start, ts, period, 64, None, None, "server --bench", "x86_64", first,
        counts[capture - 1], 1 if capture == 1 else 301, 300 if capture == 1 else 0)
    first += counts[capture - 1]

for i in range(1, 801):
    ts = start + rng.randrange(end[0] - start)
    upid = rng.choice([1, 2])
    site = rng.randrange(1, sites + 1)
    free = ts + rng.choice([500, 40_000, 5_000_000, 900_000_000]) if rng.random() < 0.7 else None
    if free is not None and free > end[0]:
        free = None
    size = rng.choice([16, 64, 4096, 1 << 20])
    objects = max(1.0, round(131072 / size, 3))
    free_site = rng.randrange(1, sites + 1) if free else None
    freed = 0 if free is None else rng.choice([1, 1, 1, 2])
    add("heap_event", i, ts, freed, free, upid, 0x7F0000000000 + i * 64, size, objects, objects * size, site, free_site)
    count(1, 2, upid, site, (objects, objects * size))
    if free is None:
        count(1, 3, upid, site, (objects, objects * size))
    else:
        count(1, 4, upid, free_site, (objects, objects * size))

# A value is an integer, or real for what is estimated.
for (capture, type_, upid, site), (n, value) in sums.items():
    add("callsite_sum", capture, type_, upid, site, n, value)

# Slices, nested by time, with arguments.
names = [("gfx", "Frame"), ("gfx", "Draw"), ("io", "Read"), ("io", "Wait, long")]
for i, (category, name) in enumerate(names):
    add("event_name", i + 1, category, name)
for utid in (1, 2):
    add("track", utid, 1, "thread", None, None, 1, utid, None)
slice_ = 0
for frame in range(100):
    at = start + frame * 10_000_000
    track = 1 + frame % 2
    slice_ += 1
    add("slice_data", slice_, at, 8_000_000 + rng.randrange(1_000_000), track, 1, 0, None, slice_)
    outer = slice_
    for k in range(2):
        slice_ += 1
        add("slice_data", slice_, at + 1000 + k * 3_000_000, rng.randrange(1, 2_900_000) if frame < 99 or k == 0 else -1, track, rng.choice([2, 3, 4]), 1, outer,
            slice_)
keys = [string("size"), string("path")]
for i in range(1, slice_ + 1):
    add("arg", i, 0, keys[0], 4, rng.randrange(1, 4096))
    add("arg", i, 1, keys[1], 6, "/tmp/%d" % i)

# Scheduling: each thread of the first capture runs, waits, is runnable.
at = start
row = wait = 0
for turn in range(300):
    utid = rng.choice([1, 2, 3, 4])
    dur = rng.randrange(1000, 400_000)
    row += 1
    state = rng.choice(["S", "S", "R"])
    add("sched_slice", row, at, dur, rng.choice([0, 1]), utid, state, None)
    if state == "S":
        wait += 1
        add("thread_wait", wait, at + dur, rng.randrange(1000, 900_000), utid, "S", None)
    wait += 1
    woken = state == "S"
    add("thread_wait", wait, at + dur + 1_000_000, rng.randrange(100, 9000), utid, "W" if woken else "R", rng.choice([1, 2, None]) if woken else None)
    at += 500_000

add("loss", 1, "ring", 12)
add("damage", 1, "truncated_tail", 1, 4096, 12, 1, "the trace stops inside a record")
add("damage", 1, "stray_ends", 3, None, None, 0, "ends of durations that were not open")
for i, text in enumerate(strings):
    add("string", i + 1, text)
for row in symbols:
    add("symbol", *row)
db.commit()
