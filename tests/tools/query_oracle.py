#!/usr/bin/env python3
"""Compare fxtq's SQL functions with what Python makes of the same store: query_oracle.py FXTQ STORE [EXTENSION].

The store's tables are read row by row; every answer is worked out here, sample by sample, without SQL.  With EXTENSION (libfxtsql.so)
the same questions are put to the stock sqlite3 shell."""
import json
import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict

import checks
from checks import check

fxtq, path = sys.argv[1:3]
extension = sys.argv[3] if len(sys.argv) > 3 else None
db = sqlite3.connect(path)
rows = lambda sql: db.execute(sql).fetchall()

text = dict(rows("SELECT id, text FROM string"))
module = dict(rows("SELECT id, name FROM module"))
frame = dict(rows("SELECT id, module_id FROM frame"))
lines = defaultdict(list)
for f, function, file, line in rows("SELECT frame_id, function, file, line FROM symbol ORDER BY frame_id, inline_depth"):
    lines[f].append((text[function], text.get(file), line))
site = {i: (p, f) for i, p, f in rows("SELECT id, parent_id, frame_id FROM callsite")}
thread = {i: (u, koid & 0xFFFFFFFF, name) for i, u, koid, name in rows("SELECT id, upid, koid, name FROM thread")}
process = {i: (c, koid & 0xFFFFFFFF, name) for i, c, koid, name in rows("SELECT id, capture_id, koid, name FROM process")}


def ask(sql):
    if extension:
        command = ["sqlite3", "-cmd", ".load " + extension, "-json", path, sql]
    else:
        command = [fxtq, path, "--format", "json", sql]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("FAIL: %s\n%s" % (sql, done.stderr))
    return [tuple(row.values()) for row in json.loads(done.stdout or "[]")]


def bracket(m):
    base = module[m].rsplit("/", 1)[-1]
    return base if base.startswith("[") else "[" + base + "]"


def functions(f):
    """Of a frame, the outermost first: (name, file, line, module)."""
    m = frame[f]
    name = module.get(m)
    if not lines[f]:
        return [(bracket(m) if m else "[unknown]", None, None, name)]
    return [(n, file, line, name) for n, file, line in reversed(lines[f])]


stacks = {0: []}
for i in sorted(site):
    p, f = site[i]
    stacks[i] = stacks[p or 0] + functions(f)


def clean(name):
    name = "".join(" " if c <= " " or c == "\x7f" else c for c in name).strip(" ").replace(";", ":")
    return re.sub(r" ([0-9.]+)$", r"_\1", name) or "[unknown]"


# ---- Scalar functions ----


def matches(pattern, function):
    return any(t and re.search(pattern, t) for t in (function[0], function[1], function[3]))


ids = sorted(site)
check("folded", ask("SELECT folded(id) FROM callsite ORDER BY id"), [(";".join(clean(f[0]) for f in stacks[i]),) for i in ids])
check("leaf", ask("SELECT leaf(id) FROM callsite ORDER BY id"), [(stacks[i][-1][0],) for i in ids])
check("depth", ask("SELECT depth(id) FROM callsite ORDER BY id"), ask("SELECT depth FROM callsite ORDER BY id"))
check("ids that are none", ask("SELECT folded(0) AS a, leaf(NULL) AS b, depth(99999999) AS c, in_stack(-1, '.') AS d"), [(None,) * 4])


def in_stack(pattern, i):
    return any(matches(pattern, f) for f in stacks[i])


for hide, show_from in (("std::|walk", None), (None, "walk|main"), ("walk|main", "walk|decode"), (None, None)):
    left = {}
    for i in ids:
        stack = [f for f in stacks[i] if not (hide and matches(hide, f))]
        begins = [k for k, f in enumerate(stack) if not show_from or matches(show_from, f)]
        left[i] = stack[begins[0]:] if begins else []
    arguments = ", ".join("NULL" if p is None else "'%s'" % p for p in (hide, show_from))
    last = lambda i, k: left[i][-1][k] if left[i] else None
    check("leaf " + arguments, ask("SELECT leaf(id, %s) AS a, leaf(id, %s, 'file') AS b, leaf(id, %s, 'module') AS c FROM callsite ORDER BY id" % ((arguments,) * 3)),
          [(last(i, 0), last(i, 1), last(i, 3)) for i in ids])

for pattern in ["decode", "^main$", "libc", "walk\\.rs", "nowhere", "operator (new|delete)"]:
    check("in_stack " + pattern, ask("SELECT in_stack(id, '%s') FROM callsite ORDER BY id" % pattern), [(int(in_stack(pattern, i)),) for i in ids])
check("two patterns by turns", ask("SELECT in_stack(id, iif(id % 2, 'main', 'memcpy')) FROM callsite ORDER BY id"),
      [(int(in_stack("main" if i % 2 else "memcpy", i)),) for i in ids])

numbers = [r[0] for r in rows("SELECT dur FROM slice_data WHERE dur >= 0")]
for p in (0, 12.5, 50, 90, 99, 100):
    ordered = sorted(numbers)
    place = p / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    want = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
    got = ask("SELECT percentile(dur, %s) FROM slice_data WHERE dur >= 0" % p)[0][0]
    check("percentile %s" % p, [round(got, 3)], [round(want, 3)])
check("percentile of nothing", ask("SELECT percentile(NULL, 50) AS a"), [(None,)])

args = defaultdict(dict)
for s, k, v in rows("SELECT arg_set_id, key_id, value FROM arg ORDER BY ordinal"):
    args[s].setdefault(text[k], v)
check("extract_arg", ask("SELECT extract_arg(arg_set_id, 'size') AS a, extract_arg(arg_set_id, 'path') AS b, extract_arg(arg_set_id, 'x') AS c "
                         "FROM slice_data ORDER BY id"),
      [(args[s].get("size"), args[s].get("path"), None) for (s,) in rows("SELECT arg_set_id FROM slice_data ORDER BY id")])
check("hex, demangle", ask("SELECT hex(-1) AS a, hex(255) AS b, hex('az') AS c, hex(x'00ff') AS d, demangle('_ZN3foo3barEi') AS e, demangle('main') AS f, demangle(NULL) AS g"),
      [("0xffffffffffffffff", "0xff", "617A", "00FF", "foo::bar(int)", "main", None)])

# ---- Table-valued functions ----

samples = [(ts, cpu, utid, i, 1, w) for ts, cpu, utid, i, w in rows("SELECT ts, cpu, utid, callsite_id, weight FROM cpu_sample")]
heap = rows("SELECT ts, free_ts, upid, callsite_id, free_callsite_id, objects, bytes FROM heap_event")
first_ts = min(s[0] for s in samples)
last_ts = max(s[0] for s in samples)


def selected(type_="cpu", capture=None, focus=None, ignore=None, hide=None, show_from=None, from_ts=None, limit_ts=None, pid=None, tid=None, comm=None, cpu=None):
    """(stack, n, value, utid, upid) of all that counts."""
    if type_ == "cpu":
        every = [(ts, c, u, thread[u][0], i, n, w) for ts, c, u, i, n, w in samples]
    elif type_ == "free_space":
        every = [(f, None, None, u, fi, o, b) for t, f, u, i, fi, o, b in heap if f is not None]
    else:
        every = [(t, None, None, u, i, o, b) for t, f, u, i, fi, o, b in heap if type_ == "alloc_space" or f is None]
    for ts, c, utid, upid, i, n, value in every:
        name = thread[utid][2] if utid else process[upid][2]
        if capture is not None and process[upid][0] != capture:
            continue
        if (from_ts is not None and ts < from_ts) or (limit_ts is not None and ts >= limit_ts):
            continue
        if pid is not None and str(process[upid][1]) not in str(pid).split(","):
            continue
        if tid is not None and str(thread[utid][1]) not in str(tid).split(","):
            continue
        if comm is not None and (name or "") not in comm.split(","):
            continue
        if cpu is not None and (c is None or str(c) not in str(cpu).split(",")):
            continue
        stack = stacks[i]
        if focus is not None and not in_stack(focus, i) or ignore is not None and in_stack(ignore, i):
            continue
        if hide is not None:
            stack = [f for f in stack if not matches(hide, f)]
        if show_from is not None:
            starts = [k for k, f in enumerate(stack) if matches(show_from, f)]
            stack = stack[starts[0]:] if starts else []
        if not stack and (hide or show_from):
            continue
        yield stack, i, n, value, utid, upid


def where(filters):
    literal = lambda v: str(v) if isinstance(v, int) else "'" + v.replace("'", "''") + "'"
    conditions = " AND ".join("%s = %s" % ("type" if k == "type_" else k, literal(v)) for k, v in filters.items())
    return " WHERE " + conditions if conditions else ""


def label(per, f):
    return {"function": f[0], "file": f[1] or "[unknown]", "module": f[3] or "[unknown]", "line": (f[0], f[1], f[2])}[per]


def close(rows_):
    """Sums of reals depend on their order."""
    return [tuple(round(v, 3) if isinstance(v, float) else v for v in r) for r in rows_]


FILTERS = [
    {}, {"capture": 1}, {"capture": 2}, {"pid": 200}, {"pid": "100,300"}, {"tid": 101}, {"tid": "201,300"}, {"comm": "io"}, {"comm": "worker,main"},
    {"cpu": "0,3"}, {"from_ts": first_ts + 10**8}, {"limit_ts": first_ts + 10**8}, {"from_ts": first_ts + 10**8, "limit_ts": last_ts - 10**8, "pid": 100},
    {"from_ts": last_ts + 1}, {"focus": "decode"}, {"ignore": "main|libc"}, {"hide": "std::|vdso"}, {"show_from": "walk"},
    {"hide": "walk|main", "show_from": "walk|decode"},
    {"focus": "main", "ignore": "memcpy", "hide": "vector", "show_from": "decode|main", "tid": 100, "cpu": 1},
    {"type_": "alloc_space"}, {"type_": "inuse_space"}, {"type_": "free_space"}, {"type_": "alloc_space", "pid": 200, "focus": "walk"},
    {"type_": "inuse_space", "from_ts": first_ts + 10**8}, {"type_": "free_space", "comm": "worker", "limit_ts": last_ts},
]
if extension: # the same code, called through another SQLite: a part of it will do
    FILTERS = FILTERS[:4] + FILTERS[14::3]


def sums_equal(what, got, want):
    """Names to sums, in any order; reals nearly."""
    check(what, close(sorted(got, key=str)), close(sorted(want, key=str)))


def per_table(per, filters):
    totals = {}
    for stack, i, n, value, utid, upid in selected(**filters):
        if not stack:
            continue
        names = [label(per, f) for f in stack]
        for k, name in enumerate(names):
            entry = totals.setdefault(name, [0, 0, 0, 0])
            if name not in names[:k]:
                entry[1] += n
                entry[3] += value
        totals[names[-1]][0] += n
        totals[names[-1]][2] += value
    return totals


for filters in FILTERS:
    for per in ("function", "file", "line", "module") if len(filters) != 1 else ("function", "line"):
        key = "name, file, line" if per == "line" else "name"
        got = ask("SELECT %s, self_count, count, self, total FROM call_top%s" % (key, where(dict(filters, per=per))))
        want = [(name if isinstance(name, tuple) else (name,)) + tuple(t) for name, t in per_table(per, filters).items()]
        sums_equal("call_top %s %s" % (per, filters), got, want)

    tree = defaultdict(lambda: [0, 0, 0, 0])
    counts = defaultdict(lambda: [0, 0])
    for stack, i, n, value, utid, upid in selected(**filters):
        counts[i][0] += n
        counts[i][1] += value
        if not stack:
            continue
        names = tuple(f[0] for f in stack)
        for k in range(len(names) + 1):
            tree[names[:k]][1] += n
            tree[names[:k]][3] += value
        tree[names][0] += n
        tree[names][2] += value
    tree[()]
    if counts:
        sums_equal("callsite_counts %s" % filters, ask("SELECT * FROM callsite_counts" + where(filters)), [(i, n, v) for i, (n, v) in counts.items()])

    # The order of the tree: the larger first, equal ones by name; and each path is there once.
    def walk(path):
        yield path
        below = sorted((c for c in by_parent[path]), key=lambda c: (-round(tree[c][3], 3), -round(tree[c][1], 3), c[-1].encode()))
        for c in below:
            yield from walk(c)

    by_parent = defaultdict(list)
    for p in tree:
        if p:
            by_parent[p[:-1]].append(p)
    sys.setrecursionlimit(10000)
    real = filters.get("type_", "cpu") != "cpu"
    got = ask("SELECT depth, name, self_count, count, self, total FROM call_tree" + where(filters))
    want = [(len(p), p[-1] if p else "all", *tree[p]) for p in walk(())]
    if real: # equal sums of reals may differ in their last bit, and so in their order
        sums_equal("call_tree %s" % filters, got, want)
    else:
        check("call_tree %s" % filters, got, want)
    got = ask("SELECT level, value, label, self FROM flamegraph" + where(filters))
    if real:
        sums_equal("flamegraph %s" % filters, got, [(len(p), tree[p][3], p[-1] if p else "all", tree[p][2]) for p in tree])
    else:
        check("flamegraph %s" % filters, got, [(len(p), tree[p][3], p[-1] if p else "all", tree[p][2]) for p in walk(())])

for per, owner in (("thread", 4), ("process", 5)):
    for filters in FILTERS:
        if filters.get("type_") and per == "thread":
            continue
        want = defaultdict(lambda: [0, 0])
        for s in selected(**filters):
            want[s[owner]][0] += s[2]
            want[s[owner]][1] += s[3]
        sums_equal("call_top %s %s" % (per, filters), ask("SELECT owner, count, total FROM call_top" + where(dict(filters, per=per))),
                   [(o, n, v) for o, (n, v) in want.items()])

for pattern in ("decode", "main", "memcpy", "nothing at all"):
    for filters in FILTERS[:4] + FILTERS[14:18]:
        callers, callees = Counter(), Counter()
        callers[()] = callees[()] = 0
        for stack, i, n, value, utid, upid in selected(**filters):
            at = [k for k, f in enumerate(stack) if matches(pattern, f)]
            if not at:
                continue
            up = tuple(f[0] for f in reversed(stack[:at[-1] + 1]))
            down = tuple(f[0] for f in stack[at[0]:])
            for k in range(len(up) + 1):
                callers[up[:k]] += value
            for k in range(len(down) + 1):
                callees[down[:k]] += value
        for table, want in (("callers", callers), ("callees", callees)):
            got = ask("SELECT depth, name, total FROM %s('%s')%s" % (table, pattern, where(filters)))
            # A function matches by its name or its file: equal names are one node, whatever matched.
            sums_equal("%s %s %s" % (table, pattern, filters), got, [(len(p), p[-1] if p else "all", v) for p, v in want.items()])

print("%s: %d failures" % ("sqlite3 with libfxtsql" if extension else "fxtq", checks.failures))
sys.exit(1 if checks.failures else 0)
