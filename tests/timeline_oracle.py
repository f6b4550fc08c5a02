#!/usr/bin/env python3
"""Compare a store with what its trace says: timeline_oracle.py STORE < RECORDS

RECORDS is the output of fxtdump --json.  Everything is worked out once more, slowly and in memory, from docs/formats/fxt.md and the
rules in libprofile/ingest.  Rows are compared by what they mean, not by their ids: a slice with the chain of slices around it.
Prints what differs; status 1 then.
"""
import collections
import json
import sqlite3
import sys

STATES = ["new", "running", "suspended", "blocked", "dying", "dead"]
LETTERS = {"new": "R", "running": "R", "suspended": "T", "blocked": "S", "dying": "Z", "dead": "X"}
TYPES = ["null", "int32", "uint32", "int64", "uint64", "double", "string", "pointer", "koid", "bool", "blob"]


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def arg_value(arg):
    kind, value = arg["type"], arg["value"]
    if kind == "pointer":
        return signed(int(value, 16))
    if kind in ("int32", "uint32", "int64", "uint64", "koid"):
        return signed(int(value))
    if kind == "bool":
        return int(value)
    return value if kind != "blob" else None


def args_of(record):
    return tuple((a["name"], a["type"], arg_value(a)) for a in record.get("args", []))


class Oracle:
    def __init__(self, records):
        self.slices, self.flows = [], []
        self.counters, self.logs, self.sched, self.waits = [], [], [], []
        self.open = collections.defaultdict(list)  # (pid, tid) -> open slices, outermost first
        self.waiting = {}  # (pid, tid, name) -> begin that was closed by the slice around it
        self.operations = collections.defaultdict(list)
        self.open_flows = {}
        self.last = max([max(int(r["ts_ns"]), int(r.get("end_ns", r["ts_ns"]))) for r in records if "ts_ns" in r], default=0)
        self.scheduling = Scheduling(self)
        timed = [r for r in records if "ts_ns" in r]
        for r in timed:
            r["at"] = int(r["ts_ns"])
        for r in timed:
            self.at_once(r)
        timed.sort(key=lambda r: r["at"])  # stable
        i = 0
        while i < len(timed):
            j = i
            while j < len(timed) and timed[j]["at"] == timed[i]["at"]:
                j += 1
            self.moment(timed[i:j])
            i = j
        self.finish()

    def at_once(self, r):
        if r["type"] == "log":
            self.logs.append((r["at"], int(r["pid"]), int(r["tid"]), r["message"]))
        if r["type"] != "event" or r["event"] != "counter":
            return
        for a in r["args"]:
            if a["type"] in ("int32", "uint32", "int64", "uint64", "double"):
                value = float(a["value"]) if a["type"] == "double" else int(a["value"])
                self.counters.append((int(r["pid"]), "%s:%s:%s" % (r["name"], a["name"], r["id"]), signed(int(r["id"])), r["at"], float(value)))

    # What happens at one time: completes and moments wait for the others of that time, or for their thread's begins and ends.
    def moment(self, records):
        held = []
        for r in records:
            if r["type"] != "event":
                self.scheduling.take(r)
                continue
            kind, thread = r["event"], (int(r["pid"]), int(r["tid"]))
            if kind in ("duration_complete", "instant", "flow_begin", "flow_step", "flow_end"):
                held.append(r)
            elif kind in ("duration_begin", "duration_end"):
                self.release([h for h in held if (int(h["pid"]), int(h["tid"])) == thread])
                held = [h for h in held if (int(h["pid"]), int(h["tid"])) != thread]
                self.begin(r, None) if kind == "duration_begin" else self.end(r)
            elif kind.startswith("async"):
                self.operation(r)
        self.release(held)

    def release(self, held):
        completes = [h for h in held if h["event"] == "duration_complete"]
        for h in sorted(completes, key=lambda h: -int(h["end_ns"])):
            self.begin(h, max(int(h["end_ns"]), h["at"]))
        for h in held:
            if h["event"] == "instant":
                self.instant(h)
            elif h["event"] != "duration_complete":
                self.flow(h)

    def new(self, r, around, kind):
        s = {"ts": r["at"], "end": None, "name": r["name"], "category": r["category"], "pid": int(r["pid"]), "tid": int(r["tid"]),
             "around": around, "kind": kind, "args": args_of(r), "complete": None, "ended": False}
        self.slices.append(s)
        return s

    def top(self, thread):
        return self.open[thread][-1] if self.open[thread] else None

    def close_completes(self, thread, until):
        """Those that end by then, earliest first; what is above them is closed at their end."""
        stack = self.open[thread]
        while True:
            ends = [s["complete"] for s in stack if s["complete"] is not None]
            if not ends or min(ends) > until:
                return
            at = max(i for i, s in enumerate(stack) if s["complete"] == min(ends))
            self.close_to(thread, at, min(ends), ())

    def close_to(self, thread, at, now, args):
        stack = self.open[thread]
        while len(stack) > at:
            s = stack.pop()
            if s["complete"] is not None:
                s["end"] = s["complete"]
            else:
                s["end"] = now
                if len(stack) != at:  # not its own end: that one may still come
                    self.waiting.setdefault(thread + (s["name"],), s)
            if len(stack) == at:
                s["args"] += args

    def begin(self, r, complete):
        thread = (int(r["pid"]), int(r["tid"]))
        self.close_completes(thread, r["at"])
        s = self.new(r, self.top(thread), "duration")
        s["complete"] = complete
        if complete is None:
            self.waiting.pop(thread + (s["name"],), None)
        if complete is not None and complete <= r["at"]:
            s["end"] = complete
        else:
            self.open[thread].append(s)

    def end(self, r):
        thread = (int(r["pid"]), int(r["tid"]))
        self.close_completes(thread, r["at"] - 1)
        stack = self.open[thread]
        found = [i for i, s in enumerate(stack) if s["complete"] is None and r["name"] in ("", s["name"])]
        if found:
            self.close_to(thread, found[-1], r["at"], args_of(r))
            return
        s = self.waiting.pop(thread + (r["name"],), None)
        if s:
            s["end"] = r["at"]
            s["args"] += args_of(r)

    def instant(self, r):
        thread = (int(r["pid"]), int(r["tid"]))
        self.close_completes(thread, r["at"] - 1)
        self.new(r, self.top(thread), "instant")["end"] = r["at"]

    def operation(self, r):
        stack = self.operations[(r["pid"], r["category"], r["name"], r["id"])]
        around = stack[-1] if stack else None
        if r["event"] == "async_begin":
            stack.append(self.new(r, around, "async"))
            stack[-1]["id"] = r["id"]
        elif r["event"] == "async_instant":
            s = self.new(r, around, "async instant")
            s["end"], s["id"] = r["at"], r["id"]
        elif stack:
            s = stack.pop()
            s["end"] = r["at"]
            s["args"] += args_of(r)

    def flow(self, r):
        thread = (int(r["pid"]), int(r["tid"]))
        self.close_completes(thread, r["at"] - 1)
        here = {"slice": self.top(thread), "ts": r["at"], "name": r["name"]}
        key = (r["pid"], r["id"])
        if r["event"] == "flow_begin":
            rivals = [f for k, f in self.open_flows.items() if k[1] == r["id"] and k != key]
            for f in rivals + [here]:
                f["ambiguous"] = f.get("ambiguous") or bool(rivals)
            self.open_flows[key] = here
            return
        if key not in self.open_flows:
            others = [k for k in self.open_flows if k[1] == r["id"] and not self.open_flows[k]["ambiguous"]]
            if len(others) != 1:
                return
            key = others[0]
        before = self.open_flows[key]
        self.flows.append((signed(int(r["id"])), before["name"], place(before["slice"]), before["ts"], place(here["slice"]), here["ts"]))
        if r["event"] == "flow_end":
            del self.open_flows[key]
        else:
            before["slice"], before["ts"] = here["slice"], here["ts"]

    def finish(self):
        self.scheduling.finish()
        for thread in list(self.open):
            self.close_completes(thread, self.last)

    def rows(self):
        for s in self.slices:
            dur = -1 if s["end"] is None else s["end"] - s["ts"]
            where = (s["pid"], s["tid"]) if "async" not in s["kind"] else (s["pid"], int(s["id"]))
            yield ("slice", s["kind"], *where, s["category"], place(s), dur, s["args"])
        for name in ("flows", "counters", "logs", "sched", "waits"):
            for row in getattr(self, name):
                yield (name, *row)


def place(s):
    """A slice and those around it, innermost first."""
    names = []
    while s:
        names.append("%s@%d" % (s["name"], s["ts"]))
        s = s["around"]
    return " in ".join(names)


class Scheduling:
    def __init__(self, oracle):
        self.oracle = oracle
        self.cpus = {}  # cpu -> (since, tid, priority)
        self.threads = {}  # tid -> (since, state, waker)

    def take(self, r):
        if r["type"] == "context_switch":
            self.switch(r, {a["name"]: a["value"] for a in r["args"] if a["type"] == "int32"})
        elif r["type"] == "thread_wakeup":
            self.wakeup(r)

    def leave(self, tid, now):
        if tid in self.threads:
            since, state, waker = self.threads[tid]
            if state != "Running":
                self.oracle.waits.append((tid, since, now - since, state, waker))

    def switch(self, r, weights):
        def who(tid, weight):
            return 0 if weight == -(2**31) else int(tid)
        outgoing = who(r["outgoing_tid"], weights.get("outgoing_weight"))
        incoming = who(r["incoming_tid"], weights.get("incoming_weight"))
        state = LETTERS.get(r["state"], str(r["state"]))
        if r["cpu"] in self.cpus:
            since, tid, priority = self.cpus[r["cpu"]]
            same = tid == outgoing
            self.oracle.sched.append((r["cpu"], tid, since, r["at"] - since, state if same else None, priority))
            if not same and tid and self.threads.get(tid, (0, ""))[1] == "Running":
                del self.threads[tid]
        if outgoing:
            self.leave(outgoing, r["at"])
            self.threads[outgoing] = (r["at"], state, None)
        if incoming:
            self.leave(incoming, r["at"])
            self.threads[incoming] = (r["at"], "Running", None)
        self.cpus[r["cpu"]] = (r["at"], incoming, weights.get("incoming_weight") if incoming else None)

    def wakeup(self, r):
        tid = int(r["tid"])
        if tid == 0:
            return
        waker = [int(a["value"]) for a in r["args"] if a["name"] == "waker" and a["type"] == "koid"]
        waker = waker[0] if waker else None
        if self.threads.get(tid, (0, ""))[1] == "Running":
            self.oracle.waits.append((tid, r["at"], 0, "W", waker))
            return
        self.leave(tid, r["at"])
        self.threads[tid] = (r["at"], "W", waker)

    def finish(self):
        for cpu, (since, tid, priority) in self.cpus.items():
            self.oracle.sched.append((cpu, tid, since, -1, None, priority))
        for tid, (since, state, waker) in self.threads.items():
            if state != "Running":
                self.oracle.waits.append((tid, since, -1, state, waker))


class Store:
    def __init__(self, path):
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)

        self.sets = collections.defaultdict(tuple)
        self.ends = dict(self.db.execute("SELECT arg_set_id, end_arg_set_id FROM arg_set_end"))
        for arg_set, key, kind, value in self.db.execute(
                "SELECT a.arg_set_id, s.text, a.type, a.value FROM arg AS a JOIN string AS s ON s.id = a.key_id ORDER BY a.arg_set_id, a.ordinal"):
            self.sets[arg_set] += ((key, TYPES[kind], None if kind == 10 else value),)

    def args(self, arg_set):
        return self.sets[arg_set] + (self.sets[self.ends[arg_set]] if arg_set in self.ends else ())

    def rows(self):
        slices = {}
        for row in self.db.execute(
                "SELECT s.id, s.ts, s.dur, s.depth, s.parent_id, s.arg_set_id, s.instant, s.async_id, n.category, n.name, p.koid, th.koid, t.type "
                "FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id JOIN track AS t ON t.id = s.track_id "
                "JOIN process AS p ON p.id = t.upid LEFT JOIN thread AS th ON th.id = t.utid ORDER BY s.id"):
            key, ts, dur, depth, parent, args, instant, operation, category, name, pid, tid, track = row
            around = slices[parent] if parent else None
            assert depth == (around["depth"] + 1 if around else 0), row
            slices[key] = {"name": name, "ts": ts, "around": around, "depth": depth}
            kind = (("async" if track == "async" else "") + (" instant" if instant else "")).strip() or "duration"
            yield ("slice", kind, pid, operation if track == "async" else tid, category, place(slices[key]), dur, self.args(args))
        for trace, name, out, out_ts, into, in_ts in self.db.execute(
                "SELECT trace_id, n.name, slice_out, out_ts, slice_in, in_ts FROM flow AS f JOIN event_name AS n ON n.id = f.name_id"):
            yield ("flows", trace, name, place(slices.get(out)), out_ts, place(slices.get(into)), in_ts)
        yield from self.table("counters", "SELECT p.koid, t.name, t.cookie, c.ts, CAST(c.value AS REAL) FROM counter AS c "
                              "JOIN track AS t ON t.id = c.track_id JOIN process AS p ON p.id = t.upid")
        yield from self.table("logs", "SELECT l.ts, p.koid, t.koid, l.message FROM log AS l JOIN thread AS t ON t.id = l.utid "
                              "JOIN process AS p ON p.id = t.upid")
        yield from self.table("sched", "SELECT s.cpu, coalesce(t.koid, 0), s.ts, s.dur, s.end_state, s.priority FROM sched_slice AS s "
                              "LEFT JOIN thread AS t ON t.id = s.utid")
        yield from self.table("waits", "SELECT t.koid, w.ts, w.dur, w.state, k.koid FROM thread_wait AS w JOIN thread AS t ON t.id = w.utid "
                              "LEFT JOIN thread AS k ON k.id = w.waker_utid")

    def table(self, name, sql):
        for row in self.db.execute(sql):
            yield (name, *row)


def main():
    expected = collections.Counter(Oracle([json.loads(line) for line in sys.stdin]).rows())
    found = collections.Counter(Store(sys.argv[1]).rows())
    for row in sorted((expected - found).elements(), key=repr)[:20]:
        print("missing  ", row)
    for row in sorted((found - expected).elements(), key=repr)[:20]:
        print("unwanted ", row)
    print("%d rows, %d of them slices" % (sum(expected.values()), sum(n for row, n in expected.items() if row[0] == "slice")))
    return 1 if expected != found else 0


sys.exit(main())
