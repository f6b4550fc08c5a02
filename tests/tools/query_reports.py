#!/usr/bin/env python3
"""Check fxtq's reports on a store: query_reports.py FXTQ STORE.

The rows of each report are those of the query that --sql prints, put to the stock sqlite3 shell (with libfxtsql.so where the query says
that it needs it); and they are what Python makes of the store's tables, row by row."""
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict

import checks
from checks import check

fxtq, path = sys.argv[1:3]
extension = os.environ["O"] + "/lib/libfxtsql"
db = sqlite3.connect(path)
rows = lambda sql: db.execute(sql).fetchall()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("FAIL: %s: %s" % (" ".join(command), done.stderr))
    return done.stdout


def report(*options):
    return [json.loads(line) for line in run(fxtq, "report", *options, "--json", path).splitlines()]


def plain(rows_):
    """JSON has 64-bit numbers as strings; sums of reals depend on their order."""
    return [{k: None if v is None else round(float(v), 2) if isinstance(v, (int, float)) or re.fullmatch(r"-?[0-9]+", v) else v for k, v in r.items()}
            for r in rows_]


start, end = rows("SELECT min(start_ts), max(end_ts) FROM capture WHERE id = 1")[0]
COMMON = [[], ["--capture", "1"], ["--pid", "100"], ["--pid", "100,200", "--pid", "300"], ["--comm", "io"], ["--tid", "101"],
          ["--time", "%d,%d" % (start + (end - start) // 4, end - (end - start) // 4)], ["--time", "+50ms,", "--capture", "1"], ["--cpu", "0,1"], ["--focus", "decode"],
          ["--ignore", "main", "--focus", "libc"], ["--hide", "std::", "--show-from", "walk|Frame"]]
REPORTS = {
    "top": (0, [[], ["--by", "file"], ["--by", "line"], ["--by", "module"], ["--by", "thread"], ["--by", "process"], ["--sample-type", "alloc_space"],
                ["--sample-type", "inuse_space", "--by", "module"], ["--sample-type", "free_space"]]),
    "tree": (0, [["--min", "2"], ["--by", "module", "--min", "5"], ["--sample-type", "alloc_space", "--min", "5"]]),
    "callers memcpy": (0, [["--min", "3"]]),
    "callees ^decode": (0, [["--min", "3"]]),
    "heap": (0, [[], ["--by", "function"], ["--by", "file"], ["--by", "module"]]),
    "threads": (0, [[]]),
    "cpu": (0, [[], ["--by", "thread"], ["--by", "wait"]]),
    "slices": (0, [[]]),
    "timeline": (0, [["--bins", "7"], ["--by", "cpu"], ["--by", "process"], ["--by", "all", "--bins", "100"]]),
    "damage": (0, [[]]),
}
asked = refused = needing = 0
for name, (_, variants) in REPORTS.items(): # which filters choose what: query_filters.py
    for variant in variants:
        for filters in COMMON:
            if variant and filters and (len(variant) > 1 or variant[0] != "--bins") and COMMON.index(filters) % 3: # a part of all pairs
                continue
            options = name.split() + variant + filters + ["-n", "40"]
            done = subprocess.run([fxtq, "report", *options, "--sql", path], capture_output=True, text=True)
            if done.returncode == 2 and re.search("have no |--capture chooses", done.stderr):
                refused += 1
                continue
            if done.returncode:
                raise SystemExit("FAIL: %s: %s" % (options, done.stderr))
            command = ["sqlite3", "-json", path]
            if done.stdout.startswith("-- Needs"):
                needing += 1
                command[1:1] = ["-cmd", ".load " + extension]
            got = subprocess.run([fxtq, "report", *options, "--json", path], capture_output=True, text=True)
            want = subprocess.run(command, capture_output=True, text=True, input=done.stdout)
            if got.returncode or want.returncode:
                raise SystemExit("FAIL: %s: %s%s\n%s" % (options, got.stderr, want.stderr, done.stdout))
            asked += 1
            a, b = plain(json.loads(line) for line in got.stdout.splitlines()), plain(json.loads(want.stdout or "[]"))
            key = lambda r: json.dumps(r, sort_keys=True)
            if "--sample-type" in variant or name == "heap": # equal sums of reals may change places
                a, b = sorted(a, key=key), sorted(b, key=key)
            check("%s and its SQL" % options, a, b)
if asked < 60 or refused < 10 or needing < 20:
    raise SystemExit("FAIL: %d reports were compared, %d refused, %d need functions" % (asked, refused, needing))

# ---- What Python makes of the tables ----

threads = {i: (u, k & 0xFFFFFFFF, n) for i, u, k, n in rows("SELECT id, upid, koid, name FROM thread")}
processes = {i: (k & 0xFFFFFFFF, n) for i, k, n in rows("SELECT id, koid, name FROM process")}
samples = rows("SELECT ts, cpu, utid, weight FROM cpu_sample ORDER BY id")

captures = {i: c for i, c in rows("SELECT id, capture_id FROM process")}
spans = {i: e - s for i, s, e in rows("SELECT id, start_ts, end_ts FROM capture")}
capture_of = lambda utid: captures[threads[utid][0]]
runs = rows("SELECT cpu, dur, utid FROM sched_slice")
scheduled = {capture_of(utid) for _, _, utid in runs if utid}
assert scheduled and set(spans) - scheduled # with context switches, and without: the samples tell
for i, stop, began, before in rows("SELECT c.id, end_ts, start_ts, s.ts - s.weight FROM capture AS c JOIN cpu_sample AS s ON s.id = first_sample_id"):
    if i not in scheduled: # a sample stands for the time before it
        spans[i] = stop - min(began, before)

got = {(r["pid"], r["tid"]): r for r in report("threads", "-n", "0")}
for utid, (upid, tid, name) in threads.items():
    r = got[processes[upid][0], tid]
    mine = [s for s in samples if s[2] == utid]
    waits = rows("SELECT state, dur FROM thread_wait WHERE utid = %d" % utid)
    known = lambda n: n if capture_of(utid) in scheduled else None
    want = [name, len(mine), sum(s[3] for s in mine), known(sum(r[1] for r in runs if r[2] == utid)),
            known(sum(d for s, d in waits if s in ("R", "W"))), known(sum(d for s, d in waits if s not in ("R", "W")))]
    check("threads", [r["thread"], r["samples"], r["cpu_ns"], r["running"], r["runnable"], r["blocked"]], want)


def running(on, sampled, among):
    """In the time of the captures among: what is known of some context switches and samples: nanoseconds, percent, switches, samples, source."""
    alone = [s for s in sampled if capture_of(s[2]) not in scheduled]
    ns = sum(r[1] for r in on) + sum(s[3] for s in alone)
    switches = len(on) if len(alone) < len(sampled) or on else None
    source = "switches" if not alone else "switches and samples" if len(alone) < len(sampled) or on else "samples"
    held = defaultdict(int) # nobody runs for longer than a capture lasts
    for dur, utid in [(r[1], r[2]) for r in on] + [(s[3], s[2]) for s in alone]:
        held[capture_of(utid)] += dur
    percent = 100.0 * sum(min(held[i], spans[i]) for i in among) / sum(spans[i] for i in among)
    return [ns, round(percent, 2), switches, len(sampled), source]


got = report("cpu", "-n", "0")
check("cpus", [r["cpu"] for r in got], sorted({r[0] for r in runs} | {s[1] for s in samples if s[1] is not None}))
for r in got:
    on, sampled = [x for x in runs if x[0] == r["cpu"]], [s for s in samples if s[1] == r["cpu"]]
    check("cpu", [r["running"], r["utilisation"], r["switches"], r["samples"], r["source"], r["threads"]],
          running(on, sampled, spans) + [len({x[2] for x in on} | {s[2] for s in sampled})])
got = {(r["pid"], r["tid"]): r for r in report("cpu", "--by", "thread", "-n", "0")}
for utid, (upid, tid, name) in threads.items():
    r = got[processes[upid][0], tid]
    on, sampled = [x for x in runs if x[2] == utid], [s for s in samples if s[2] == utid]
    check("cpu --by thread", [r["running"], r["utilisation"], r["switches"], r["samples"], r["source"], r["cpus"]],
          running(on, sampled, [capture_of(utid)]) + [len({x[0] for x in on} | {s[1] for s in sampled if s[1] is not None})])
# Half of an interval counts where the time that is looked at ends in it.
ts, dur, cpu = rows("SELECT ts, dur, cpu FROM sched_slice WHERE dur > 1000 ORDER BY id LIMIT 1")[0]
got = report("cpu", "--time", "%d,%d" % (ts + dur // 2, ts + dur), "-n", "0", "--capture", "1")
check("cpu, cut", [(r["running"], r["utilisation"]) for r in got if r["cpu"] == cpu], [(dur - dur // 2, 100.0)])

slices = defaultdict(list)
for category, name, dur in rows("SELECT category, name, dur FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id"):
    slices[category, name].append(dur)
got = report("slices", "-n", "0")
check("slices, names", sorted((r["category"], r["name"]) for r in got), sorted(slices))
for r in got:
    all_ = slices[r["category"], r["name"]]
    closed = sorted(d for d in all_ if d >= 0)
    part = lambda p: closed[int(p)] + (closed[min(int(p) + 1, len(closed) - 1)] - closed[int(p)]) * (p - int(p))
    check("slices", [r["count"], r["total"], r["min"], r["max"], r["open"], round(r["p50"], 3), round(r["p99"], 3)],
          [len(all_), sum(closed), closed[0], closed[-1], len(all_) - len(closed), round(part((len(closed) - 1) * .5), 3),
           round(part((len(closed) - 1) * .99), 3)])

heap = rows("SELECT ts, freed, free_ts, objects, bytes FROM heap_event")
changes = defaultdict(float)
for t, freed, f, objects, size in heap:
    changes[t] += size
    if freed:
        changes[f] -= size
height = peak = 0
for t in sorted(changes):
    height += changes[t]
    if height > peak * 1.000000001:
        peak, peak_ts = height, t
live = [h for h in heap if h[0] <= peak_ts and (not h[1] or h[2] > peak_ts)]
kinds = {
    "allocated": heap, "temporary": [h for h in heap if h[1] and h[2] - h[0] < 1000000], "at the peak": live, "in use at the end": [h for h in heap if not h[1]],
    "in use for less than 1 ms": [h for h in heap if not h[1] and end - h[0] < 10**6],
    "in use for 1 ms to 100 ms": [h for h in heap if not h[1] and 10**6 <= end - h[0] < 10**8],
    "in use for 100 ms to 10 s": [h for h in heap if not h[1] and 10**8 <= end - h[0] < 10**10],
    "in use for 10 s and longer": [h for h in heap if not h[1] and end - h[0] >= 10**10],
}
got = report("heap")
check("heap", [(r["what"], r["sampled"], round(r["bytes"]), round(r["objects"])) for r in got],
      [(what, len(some), round(sum(h[4] for h in some)), round(sum(h[3] for h in some))) for what, some in kinds.items()])
check("heap, peak", [int(got[2]["ts"]), int(got[2]["after"]), abs(got[2]["bytes"] - peak) < 1], [peak_ts, peak_ts - start, True])

bins = defaultdict(int)
width = -(-(end + 1 - start) // 50)
for ts, cpu, utid, weight in samples:
    if threads[utid][0] != 3:
        bins["%s %d" % (processes[threads[utid][0]][1], processes[threads[utid][0]][0]), (ts - start) // width] += 1
got = report("timeline", "--by", "process", "--bins", "50", "--capture", "1", "-n", "0")
check("timeline", sorted((r["lane"], r["bin"], r["samples"]) for r in got), sorted((lane, b, n) for (lane, b), n in bins.items()))
check("damage", [(r["severity"], r["kind"], r["count"]) for r in report("damage")],
      [("lost", "ring", 12), ("damage", "truncated_tail", 1), ("notice", "stray_ends", 3)])
print("%d reports compared with their SQL, %d refused, %d failures" % (asked, refused, checks.failures))
sys.exit(1 if checks.failures else 0)
