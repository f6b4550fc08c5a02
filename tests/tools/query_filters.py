#!/usr/bin/env python3
"""Every report with every filter: query_filters.py FXTQ DOC STORE...

What each report makes of each filter says the table in DOC (docs/sql.md).  For each of its cells, on each store, the rows of the
report are compared with what Python makes of the store's tables row by row, and with those of the query that --sql prints, put to
the stock sqlite3 shell; a cell that is "refused" must end with status 2 and one sentence."""
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict

fxtq, doc, stores = sys.argv[1], sys.argv[2], sys.argv[3:]
extension = os.environ["O"] + "/lib/libfxtsql"
failures = compared = refused = 0
seen, changed = set(), set()  # cells of the table
COLUMNS = ["focus", "hide", "time", "pid", "tid", "comm", "cpu"]


def fail(what, *more):
    global failures
    failures += 1
    print("FAIL:", what, *more, sep="\n   ")


def matrix():
    """{row: {column: text}} of the table in the document."""
    lines = [line for line in open(doc) if line.startswith("|")]
    first = next(i for i, line in enumerate(lines) if "`--focus`" in line and "`--cpu`" in line)
    found = {}
    for line in lines[first + 2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != len(COLUMNS) + 1:
            break
        found[cells[0].replace("`", "")] = dict(zip(COLUMNS, cells[1:]))
    return found


MATRIX = matrix()

# Options of one filter, by the column that they belong to; the last ones together.
FILTERS = {
    "focus": [{"focus": "decode"}, {"ignore": "main|libgen3"}, {"focus": "walk|libgen", "ignore": "decode"}],
    "hide": [{"hide": "std::|walk|libgen[12]"}, {"show_from": "walk|libgen2"}, {"hide": "walk|libgen2", "show_from": "walk|main|libgen"}, {"hide": "."}],
    "time": [{"time": (.25, .5)}, {"time": (None, .5)}, {"time": (.75, None)}],
    "pid": [{"pid": "100"}, {"pid": "100,300,1000"}, {"pid": "1005,200"}],
    "tid": [{"tid": "101"}, {"tid": "100,300,1001,1002"}],
    "comm": [{"comm": "io"}, {"comm": "worker,thread-1,server"}, {"comm": ""}],
    "cpu": [{"cpu": "1"}, {"cpu": "0,3"}, {"cpu": "77"}],
}
SLICE_WORDS = {"decode": "Draw|Read", "main|libgen3": "Wait", "walk|libgen": "Frame|Draw", "std::|walk|libgen[12]": "Draw", "walk|libgen2": "Frame"}
TOGETHER = [{"focus": "walk", "time": (.1, .9), "cpu": "0,1,2", "pid": "100"}, {"hide": "main", "comm": "io", "tid": "101,201"},
            {"ignore": "memcpy", "show_from": "walk|main", "comm": "server", "capture": 1}, {"capture": 2}]


class Store:
    def __init__(self, path):
        self.path = path
        self.kept = {}
        db = sqlite3.connect(path)
        rows = self.rows = lambda sql: db.execute(sql).fetchall()
        text = dict(rows("SELECT id, text FROM string"))
        self.module = dict(rows("SELECT id, name FROM module"))
        label = dict(rows("SELECT id, label FROM module"))
        frames = dict(rows("SELECT id, module_id FROM frame"))
        lines = defaultdict(list)
        for f, function, file in rows("SELECT frame_id, function, file FROM symbol ORDER BY frame_id, inline_depth DESC"):
            lines[f].append((text[function], text.get(file), self.module.get(frames[f])))
        self.stacks = {None: [], 0: []}
        for i, parent, f in rows("SELECT id, parent_id, frame_id FROM callsite ORDER BY id"):
            self.stacks[i] = self.stacks[parent or 0] + (lines[f] or [(label.get(frames[f]) or "[unknown]", None, self.module.get(frames[f]))])
        self.process = {i: (c, k & 0xFFFFFFFF, n) for i, c, k, n in rows("SELECT id, capture_id, koid, name FROM process")}
        self.thread = {i: (u, k & 0xFFFFFFFF, n) for i, u, k, n in rows("SELECT id, upid, koid, name FROM thread")}
        self.capture = {i: (s, e) for i, s, e in rows("SELECT id, start_ts, end_ts FROM capture")}
        times = [t for s, e in self.capture.values() for t in (s, e) if t is not None]
        self.start, self.end = (min(times), max(times)) if times else (None, None)
        own = lambda utid, upid: {"utid": utid, "upid": upid, "cap": self.process[upid][0], "pid": self.process[upid][1],
                                  "tid": self.thread[utid][1] if utid else None, "comm": self.thread[utid][2] if utid else self.process[upid][2]}
        self.cpu = [dict(own(u, self.thread[u][0]), ts=t, cpu=c, site=i, n=1, value=w)
                    for t, c, u, i, w in rows("SELECT ts, cpu, utid, callsite_id, weight FROM cpu_sample")]
        self.heap = [dict(own(None, u), ts=t, free_ts=f, freed=x, cpu=None, site=i, free_site=j, n=o, value=b)
                     for t, x, f, u, i, j, o, b in rows("SELECT ts, freed, free_ts, upid, callsite_id, free_callsite_id, objects, bytes FROM heap_event")]
        # A value, and how many it stands for: the value of the type that counts it, in the same sample.
        values = {(s, o): v for s, o, v in rows("SELECT profile_sample_id, ordinal, value FROM profile_value")}
        types = {(c, o): (t, u, k) for c, o, t, u, k in rows("SELECT capture_id, ordinal, t.type, unit, counted_by FROM "
                 "(SELECT capture_id, ordinal, sample_type_id, counted_by FROM profile_type) JOIN sample_type AS t ON t.id = sample_type_id")}
        self.profile = defaultdict(list)
        for s, c, upid, utid, site in rows("SELECT id, capture_id, upid, utid, callsite_id FROM profile_sample"):
            for (capture, o), (type_, unit, counter) in types.items():
                if capture == c and (s, o) in values:
                    self.profile[type_].append(dict(own(utid, upid), ts=None, cpu=None, site=site, value=values[s, o],
                                                    n=values[s, counter] if counter is not None else 1))
        self.runs = rows("SELECT ts, dur, cpu, utid FROM sched_slice WHERE utid <> 0")
        self.waits = rows("SELECT ts, dur, utid, state, waker_utid FROM thread_wait")
        self.scheduled = {self.process[self.thread[r[3]][0]][0] for r in self.runs}

    # ---- What passes ----

    def left(self, site, F):
        key = (site, F.get("focus"), F.get("ignore"), F.get("hide"), F.get("show_from"))
        if key not in self.kept:
            self.kept[key] = self.look(site, F)
        return self.kept[key]

    def look(self, site, F):
        stack = self.stacks[site]
        match = lambda pattern, f: any(t and re.search(pattern, t) for t in f)
        if "focus" in F and not any(match(F["focus"], f) for f in stack) or "ignore" in F and (not stack or any(match(F["ignore"], f) for f in stack)):
            return None
        if "hide" in F:
            stack = [f for f in stack if not match(F["hide"], f)]
        if "show_from" in F:
            begins = [k for k, f in enumerate(stack) if match(F["show_from"], f)]
            stack = stack[begins[0]:] if begins else []
        return stack if stack or not set(F) & {"focus", "hide", "show_from"} else None

    def bounds(self, F):
        """The time that is looked at, as numbers for --time."""
        at = lambda part: None if part is None else self.start + int((self.end - self.start) * part)
        return tuple(map(at, F.get("time", (None, None))))

    def passes(self, s, F, time="ts", stack="site"):
        low, high = self.bounds(F) if "time" in F else (None, None)
        if "time" in F and (s[time] is None or low is not None and s[time] < low or high is not None and s[time] >= high):
            return False
        for key, what in (("pid", "pid"), ("tid", "tid"), ("comm", "comm"), ("cpu", "cpu")):
            if key in F and (s[what] is None or str(s[what]) not in F[key].split(",")):
                return False
        if "capture" in F and s["cap"] != F["capture"]:
            return False
        return stack is None or self.left(s[stack], F) is not None

    def of_type(self, type_, F):
        """(stack, n, value, sample) of what counts."""
        if type_ == "cpu":
            some = [s for s in self.cpu if self.passes(s, F)]
        elif type_ == "free_space":
            return [(self.left(s["free_site"], F), s["n"], s["value"], s) for s in self.heap if s["freed"] and self.passes(s, F, "free_ts", "free_site")]
        elif type_ in ("alloc_space", "inuse_space"):
            some = [s for s in self.heap if (type_ == "alloc_space" or not s["freed"]) and self.passes(s, F)]
        else:
            some = []
        some = some + [s for s in self.profile[type_] if self.passes(s, F)]
        return [(self.left(s["site"], F), s["n"], s["value"], s) for s in some]

    # ---- Reports ----

    def top(self, type_, F, per=0):
        own, whole = defaultdict(float), defaultdict(float)
        for stack, n, value, s in self.of_type(type_, F):
            names = [f[per] or "[unknown]" for f in stack]
            for name in set(names):
                whole[name] += value
            if names:
                own[names[-1]] += value
        return [{"name": n, "self": own[n], "total": v} for n, v in whole.items()]

    def top_owner(self, type_, F, threads):
        sums = defaultdict(lambda: [0, 0])
        for stack, n, value, s in self.of_type(type_, F):
            owner = s["utid"] if threads else s["upid"]
            if owner:
                sums[owner][0] += n
                sums[owner][1] += value
        name = lambda o: dict(self.name_thread(o)) if threads else {"pid": self.process[o][1], "process": self.process[o][2]}
        return [dict(name(o), count=n, self=v) for o, (n, v) in sums.items() if n or v]

    def tree(self, type_, F, pattern=None, up=False):
        nodes = defaultdict(float)
        nodes[()]
        for stack, n, value, s in self.of_type(type_, F):
            if pattern:
                at = [k for k, f in enumerate(stack) if any(t and re.search(pattern, t) for t in f)]
                stack = [] if not at else stack[at[-1]::-1] if up else stack[at[0]:]
            names = tuple(f[0] for f in stack)
            for k in range(len(names) + 1):
                if names:
                    nodes[names[:k]] += value
        return [{"depth": len(p), "name": p[-1] if p else "all", "total": v} for p, v in nodes.items() if v or not p]

    def live(self, F):
        """Heap events that count, with whether they were in use at the peak of what counts."""
        some = [s for s in self.heap if self.passes(s, F)]
        peak = {}
        for cap in {s["cap"] for s in some}:
            changes = defaultdict(float)
            for s in some:
                if s["cap"] == cap:
                    changes[s["ts"]] += s["value"]
                    if s["freed"]:
                        changes[s["free_ts"]] -= s["value"]
            height, heights = 0, []
            for t in sorted(changes):
                height += changes[t]
                heights.append((height, t))
            most = max(h for h, t in heights)
            peak[cap] = min(t for h, t in heights if h >= most * 0.999999999)
        for s in some:
            s = dict(s, at_peak=s["ts"] <= peak[s["cap"]] and (not s["freed"] or s["free_ts"] > peak[s["cap"]]))
            s["temporary"] = bool(s["freed"]) and s["free_ts"] - s["ts"] < 10**6
            s["age"] = None if s["freed"] else self.capture[s["cap"]][1] - s["ts"]
            yield s

    def heap_kinds(self, F):
        some = list(self.live(F))
        age = lambda low, high: [s for s in some if s["age"] is not None and low <= s["age"] < high]
        kinds = [some, [s for s in some if s["temporary"]], [s for s in some if s["at_peak"]], [s for s in some if not s["freed"]], age(-1e30, 1e6),
                 age(1e6, 1e8), age(1e8, 1e10), age(1e10, 1e30)]
        return [{"place": i, "bytes": sum(s["value"] for s in k), "objects": sum(s["n"] for s in k), "sampled": len(k)} for i, k in enumerate(kinds)]

    def heap_sites(self, F, per):
        sums = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, None])
        for s in self.live(F):
            stack = self.left(s["site"], F)
            row = sums[stack[-1][per] or "[unknown]" if stack else "[unknown]"]
            row[0] += s["value"] if not s["freed"] else 0
            row[1] += s["value"]
            row[2] += s["value"] if s["at_peak"] else 0
            row[3] += s["value"] if s["temporary"] else 0
            row[4] = row[4] if s["age"] is None else max(row[4] or 0, s["age"])
        return [dict(zip(("name", "in_use", "allocated", "at_peak", "temporary", "oldest"), (n, *r))) for n, r in sums.items()]

    def cut(self, ts, dur, cap, F):
        low, high = self.bounds(F) if "time" in F else (None, None)
        end = self.capture[cap][1] if dur < 0 else ts + dur
        return (min(end, high) if high is not None else end) - (max(ts, low) if low is not None else ts)

    def owner(self, utid):
        upid, tid, name = self.thread[utid]
        return {"utid": utid, "upid": upid, "cap": self.process[upid][0], "pid": self.process[upid][1], "tid": tid, "comm": name}

    def ran(self, F):
        """(run, ns) of context switches that count."""
        plain = {k: v for k, v in F.items() if k != "time"}
        for ts, dur, cpu, utid in self.runs:
            ns = self.cut(ts, dur, self.owner(utid)["cap"], F)
            if ns > 0 and self.passes(dict(self.owner(utid), cpu=cpu), plain, stack=None):
                yield (cpu, utid), ns

    def waited(self, F):
        """A wait is that of the CPU which the thread ran on last before."""
        plain = {k: v for k, v in F.items() if k != "time"}
        for ts, dur, utid, state, waker in self.waits:
            before = [r for r in self.runs if r[3] == utid and r[0] <= ts]
            cpu = max(before)[2] if before else None
            ns = self.cut(ts, dur, self.owner(utid)["cap"], F)
            if ns > 0 and self.passes(dict(self.owner(utid), cpu=cpu), plain, stack=None):
                yield (utid, state, waker), ns

    def name_thread(self, utid):
        upid, tid, name = self.thread[utid]
        return {"pid": self.process[upid][1], "process": self.process[upid][2], "tid": tid, "thread": name}

    def threads(self, type_, F):
        by_stack = bool(set(F) & {"focus", "ignore", "hide", "show_from"})
        sampled, runs, waits = defaultdict(lambda: [0, 0]), defaultdict(list), defaultdict(list)
        for stack, n, value, s in self.of_type(type_, F) if type_ in ("cpu", "samples") else []:
            if s["utid"]:
                sampled[s["utid"]][0] += n
                sampled[s["utid"]][1] += value
        if not by_stack:
            for (cpu, utid), ns in self.ran(F):
                runs[utid].append(ns)
            for (utid, state, waker), ns in self.waited(F):
                waits[utid].append((state, ns))
        result = []
        for utid in sorted(set(sampled) | set(runs) | set(waits)):
            known = self.owner(utid)["cap"] in self.scheduled and not by_stack
            n, value = sampled[utid]
            result.append(dict(self.name_thread(utid), samples=n, cpu_ns=(value or None) if n and type_ == "cpu" else None if n else 0,
                               running=sum(runs[utid]) if known else None, switches=len(runs[utid]) if known else None,
                               runnable=sum(d for s, d in waits[utid] if s in ("R", "W")) if known else None,
                               blocked=sum(d for s, d in waits[utid] if s not in ("R", "W")) if known else None))
        return result

    def cpus(self, F, threads):
        by_stack = bool(set(F) & {"focus", "ignore", "hide", "show_from"})
        scheduled = set() if by_stack else self.scheduled
        rows = defaultdict(lambda: {"ns": 0, "samples": 0, "threads": set(), "cpus": set(), "alone": 0, "runs": 0, "follows": 0, "parts": defaultdict(int)})
        for (cpu, utid), ns in [] if by_stack else self.ran(F):
            row = rows[utid if threads else cpu]
            row["ns"] += ns
            row["parts"][self.owner(utid)["cap"]] += ns
            row["runs"] += 1
            row["threads"].add(utid)
            row["cpus"].add(cpu)
        for s in self.cpu:
            if self.passes(s, F) and (threads or s["cpu"] is not None):
                row = rows[s["utid"] if threads else s["cpu"]]
                row["samples"] += 1
                row["threads"].add(s["utid"])
                row["cpus"] |= {s["cpu"]} - {None}
                if s["cap"] in scheduled:
                    row["follows"] += 1
                else:
                    row["alone"] += 1
                    row["ns"] += s["value"]
                    row["parts"][s["cap"]] += s["value"]
        first = {s["cap"]: s for s in reversed(self.cpu)}  # a sample stands for the time before it
        low, high = self.bounds(F) if "time" in F else (None, None)
        began = lambda c, s: min(s, first[c]["ts"] - first[c]["value"]) if c in first and c not in scheduled else s
        span = {c: max(min(e, high if high is not None else e) - max(began(c, s), low if low is not None else began(c, s)), 0)
                for c, (s, e) in self.capture.items() if (c in first or c in scheduled) and F.get("capture", c) == c}
        result = []
        for key, row in sorted(rows.items()):
            whole = span.get(self.owner(key)["cap"]) if threads else sum(span.values())
            held = sum(min(ns, span[c]) for c, ns in row["parts"].items())  # nobody runs for longer than a capture lasts
            more = self.name_thread(key) if threads else {"cpu": key}
            sources = {"samples"} if row["alone"] else set()
            sources |= {"switches"} if row["runs"] or row["follows"] else set()
            result.append(dict(more, running=row["ns"], utilisation=round(100.0 * held / whole, 2) if whole else None, samples=row["samples"],
                               source={1: "".join(sources), 2: "switches and samples"}[len(sources)], **{"cpus" if threads else "threads":
                               len(row["cpus"] if threads else row["threads"])}))
        return result

    def cpu_waits(self, F):
        sums = defaultdict(list)
        for key, ns in self.waited(F):
            sums[key].append(ns)
        states = {"R": "runnable", "W": "woken", "S": "blocked"}
        return [dict(self.name_thread(utid), waited=sum(d), times=len(d), longest=max(d), state=states.get(state, state),
                     waker=self.thread[waker][2] if waker else None) for (utid, state, waker), d in sums.items()]

    def slices(self, F):
        names = dict(self.rows("SELECT id, name FROM event_name"))
        parents = {}
        sums = defaultdict(list)
        low, high = self.bounds(F) if "time" in F else (None, None)
        word = lambda key: SLICE_WORDS.get(F[key], F[key])
        for i, ts, dur, name, category, parent, cap, upid, utid in self.rows(
                "SELECT s.id, s.ts, s.dur, n.name, n.category, s.parent_id, t.capture_id, t.upid, t.utid FROM slice_data AS s JOIN event_name AS n "
                "ON n.id = s.name_id JOIN track AS t ON t.id = s.track_id WHERE NOT instant ORDER BY s.id"):
            parents[i] = (parent, name)
            s = {"pid": self.process[upid][1] if upid else None, "tid": self.thread[utid][1] if utid else None, "cap": cap, "ts": ts,
                 "comm": self.thread[utid][2] if utid else self.process[upid][2] if upid else None, "cpu": None}
            if not self.passes(s, {k: v for k, v in F.items() if k not in ("cpu", "focus", "ignore", "hide", "show_from")}, stack=None):
                continue
            end = 1 << 63 if dur < 0 else ts + max(dur, 1)
            if "cpu" in F and not any(r[3] == utid and str(r[2]) in F["cpu"].split(",") and r[0] < end and (r[1] < 0 or r[0] + r[1] > ts) for r in self.runs):
                continue
            if "focus" in F and not re.search(word("focus"), name) or "ignore" in F and re.search(word("ignore"), name):
                continue
            if "hide" in F and re.search(word("hide"), name):
                continue
            chain, at = [], i
            while at:
                chain.append(parents[at][1])
                at = parents[at][0]
            if "show_from" in F and not any(re.search(word("show_from"), n) for n in chain):
                continue
            sums[category, name].append(dur)
        result = []
        for (category, name), durs in sums.items():
            closed = sorted(d for d in durs if d >= 0)
            part = lambda p: closed[int(p)] + (closed[min(int(p) + 1, len(closed) - 1)] - closed[int(p)]) * (p - int(p))
            result.append({"category": category, "name": name, "count": len(durs), "total": sum(closed), "open": len(durs) - len(closed),
                           "p90": part((len(closed) - 1) * .9) if closed else None, "max": closed[-1] if closed else None})
        return result

    def timeline(self, F, by):
        start, end = [t for c, t in self.capture.items() if F.get("capture", c) == c and t[0] is not None][0] if "capture" in F else (self.start, self.end)
        low, high = self.bounds(F) if "time" in F else (None, None)
        low = start if low is None else max(low, start)
        high = end + 1 if high is None else min(high, end + 1)
        width = -(-max(high - low, 1) // 9)
        bins = defaultdict(int)
        for s in self.cpu:
            if self.passes(s, F) and low <= s["ts"] < high:
                name = "%s %d/%d" % (s["comm"] or self.process[s["upid"]][2] or "", s["pid"], s["tid"])
                bins[name if by == "thread" else "cpu %s" % ("unknown" if s["cpu"] is None else s["cpu"]), (s["ts"] - low) // width] += 1
        return [{"lane": lane, "bin": b, "samples": n} for (lane, b), n in bins.items()]


def options_of(store, F, report):
    words = []
    for key, value in F.items():
        if key == "time":
            value = ",".join("" if t is None else str(t) for t in (store.bounds(F) if store.start is not None else (1, 2)))
        if report == "slices" and key in ("focus", "ignore", "hide", "show_from"):
            value = SLICE_WORDS.get(value, value)
        words += ["--" + key.replace("_", "-"), str(value)]
    return words


def number(value):
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        value = int(value)
    return round(float(value), 1) if isinstance(value, (int, float)) else value


def canonical(rows, keys):
    return sorted((tuple(number(row[k]) for k in keys) for row in rows), key=repr)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def reports(store, types):
    """(row of the table, words of the command line, what Python makes of it)."""
    for type_ in types:
        row = "of profiles" if not store.cpu and not store.heap else "of allocations" if type_.endswith("_space") else "of CPU samples"
        chosen = ["--sample-type", type_]
        yield row, ["top", "-n", "0", *chosen], lambda F, t=type_: store.top(t, F)
        yield row, ["top", "--by", "module", "-n", "0", *chosen], lambda F, t=type_: store.top(t, F, 2)
        if type_ == "cpu":
            yield row, ["top", "--by", "thread", "-n", "0", *chosen], lambda F, t=type_: store.top_owner(t, F, True)
        yield row, ["top", "--by", "process", "-n", "0", *chosen], lambda F, t=type_: store.top_owner(t, F, False)
        yield row, ["tree", "--min", "0", *chosen], lambda F, t=type_: store.tree(t, F)
        yield row, ["callers", "memcpy|libgen4", "--min", "0", *chosen], lambda F, t=type_: store.tree(t, F, "memcpy|libgen4", True)
        yield row, ["callees", "decode|libgen4", "--min", "0", *chosen], lambda F, t=type_: store.tree(t, F, "decode|libgen4")
    if store.heap:
        yield "heap", ["heap"], store.heap_kinds
        yield "heap", ["heap", "--by", "function", "-n", "0"], lambda F: store.heap_sites(F, 0)
        yield "heap", ["heap", "--by", "module", "-n", "0"], lambda F: store.heap_sites(F, 2)
    if store.cpu:
        yield "threads", ["threads", "-n", "0"], lambda F: store.threads("cpu", F)
        yield "cpu", ["cpu", "-n", "0"], lambda F: store.cpus(F, False)
        yield "cpu", ["cpu", "--by", "thread", "-n", "0"], lambda F: store.cpus(F, True)
        yield "timeline", ["timeline", "--bins", "9", "-n", "0"], lambda F: store.timeline(F, "thread")
        yield "timeline", ["timeline", "--by", "cpu", "--bins", "9", "-n", "0"], lambda F: store.timeline(F, "cpu")
    if store.waits:
        yield "cpu --by wait", ["cpu", "--by", "wait", "-n", "0"], store.cpu_waits
        yield "slices", ["slices", "-n", "0"], store.slices
        yield "damage", ["damage"], None


def ask(store, words, F, with_sql):
    """The rows of a report, and of its SQL in another program."""
    words = words + options_of(store, F, words[0])
    got = run(fxtq, "report", *words, "--json", store.path)
    if not with_sql and not got.returncode:
        return words, got, got, [json.loads(line) for line in got.stdout.splitlines()], None
    sql = run(fxtq, "report", *words, "--sql", store.path)
    if got.returncode or sql.returncode:
        return words, got, sql, None, None
    command = ["sqlite3", "-json", store.path]
    if sql.stdout.startswith("-- Needs"):
        command[1:1] = ["-cmd", ".load " + extension]
    other = run(*command, input=sql.stdout)
    if other.returncode:
        fail("%s %s: %s" % (store.path, words, other.stderr), sql.stdout)
    return words, got, sql, [json.loads(line) for line in got.stdout.splitlines()], json.loads(other.stdout or "[]")


def check(store, cell, words, F, expect, with_sql=True):
    global compared, refused
    words, got, sql, rows, others = ask(store, words, F, with_sql)
    if cell and cell.startswith("refused"):
        refused += 1
        if (got.returncode, sql.returncode) != (2, 2) or not re.match(r"fxtq report: .*have no [a-zA-Z]+|fxtq report: --[a-z-]+: damage is that of", got.stderr):
            fail("%s %s: status %d, %d: %s" % (store.path, words, got.returncode, sql.returncode, got.stderr))
        return None
    if rows is None:
        fail("%s %s: %s%s" % (store.path, words, got.stderr, sql.stderr))
        return None
    compared += 1
    wanted = expect(F)
    if wanted and "place" in wanted[0]:
        rows = [dict(row, place=i) for i, row in enumerate(rows)]
        others = others and [dict(row, place=i) for i, row in enumerate(others)]
    keys = list(wanted[0]) if wanted else []
    for what, some in (("", rows), ("its SQL: ", others))[:1 if others is None else 2]:
        a, b = canonical(some, keys), canonical(wanted, keys)
        if a != b:
            fail("%s %s: %s%d rows, not %d" % (store.path, words, what, len(some), len(wanted)), "got  %s" % [r for r in a if r not in b][:2],
                 "want %s" % [r for r in b if r not in a][:2])
            break
    return canonical(rows, keys)


for path in stores:
    store = Store(path)
    mixed = bool(store.cpu and store.profile)  # traces and profiles: what both have is asked for
    types = ["cpu"] * bool(store.cpu) + ["alloc_space", "inuse_space", "free_space"] * bool(store.heap and not mixed)
    types = types or [t for t in store.profile if t in ("cpu", "samples", "wall")]
    for number_of, (name, words, expect) in enumerate(reports(store, types)):
        if mixed and not (name == "of CPU samples" and words[0] == "top" or name == "threads"):
            continue
        row = next(text for text in MATRIX if text == name or text.endswith(name) and name.startswith("of "))
        plain = check(store, None, words, {}, expect) if expect else None
        for column in COLUMNS:
            some = FILTERS[column]
            if name.startswith("of "):  # there are many of these: they share the filters
                some = [some[number_of % len(some)]]
            for F in some:
                if name == "of profiles" and column == "tid" and not any(s["utid"] for some in store.profile.values() for s in some):
                    cell = "refused"
                else:
                    cell = MATRIX[row][column]
                seen.add((row, column))
                rows = check(store, cell, words, F, expect, F is some[0])
                if rows is not None and rows != plain:
                    changed.add((row, column))
        for F in TOGETHER:
            if expect and (name in ("timeline", "threads", "cpu") or name == "of CPU samples" and words[0] == "top" or set(F) == {"capture"}) and (
                    F.get("capture", 1) in store.capture):
                check(store, None, words, F, expect)

for row, cells in MATRIX.items():
    for column, cell in cells.items():
        if (row, column) not in seen:
            fail("nothing was asked for %s, %s" % (row, column))
        elif not cell.startswith("refused") and (row, column) not in changed:
            fail("no filter changed anything: %s, %s" % (row, column))
print("%d reports compared, %d refused, %d failures" % (compared, refused, failures))
sys.exit(1 if failures or compared < 300 or refused < 40 else 0)
