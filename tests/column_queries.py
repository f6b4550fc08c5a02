#!/usr/bin/env python3
"""Queries of timelines, for tests/cli/test_fxtq_columns.sh.

  column_queries.py suite [N]         the queries of the suite, or the first N, one a line
  column_queries.py random SEED N     N random ones
  column_queries.py compare A B       whether two outputs of fxtq, of those queries, have equal rows: in order where the
                                      query orders all rows, else in any order
  column_queries.py script            standard input, a query a line, as a script that marks its answers
"""
import random
import sys

MARK = "-- query "

SUITE = [
    "SELECT name, count(*), sum(dur) FROM slice GROUP BY name ORDER BY name",
    "SELECT id, name, dur FROM slice ORDER BY dur DESC, id LIMIT 10",
    "SELECT id, name, dur FROM slice ORDER BY dur DESC LIMIT 10",
    "SELECT s.name, sum(s.dur - coalesce(c.child, 0)) AS self FROM slice AS s LEFT JOIN (SELECT parent_id, sum(dur) AS child"
    " FROM slice WHERE parent_id IS NOT NULL GROUP BY parent_id) AS c ON c.parent_id = s.id GROUP BY s.name ORDER BY s.name",
    "SELECT t.utid, count(*), sum(s.dur) FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id GROUP BY t.utid ORDER BY 1",
    "SELECT count(*), sum(dur) FROM slice WHERE ts >= (SELECT min(ts) + (max(ts) - min(ts)) / 4 FROM slice)"
    " AND ts < (SELECT min(ts) + (max(ts) - min(ts)) / 2 FROM slice)",
    "SELECT a.flat_key, count(*), sum(a.int_value) FROM slice AS s JOIN args AS a USING (arg_set_id) GROUP BY 1 ORDER BY 1",
    "SELECT t.name, count(*), min(c.value), max(c.value) FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id"
    " GROUP BY t.name ORDER BY t.name",
    "SELECT state, count(*), sum(dur) FROM thread_state GROUP BY state ORDER BY state",
    "SELECT cpu, count(*), sum(gap) FROM (SELECT cpu, lead(ts) OVER (PARTITION BY cpu ORDER BY ts) - (ts + dur) AS gap"
    " FROM sched WHERE dur >= 0) WHERE gap > 0 GROUP BY cpu ORDER BY cpu",
    "SELECT count(*), sum(c.dur) FROM slice AS c JOIN slice AS p ON p.id = c.parent_id WHERE c.dur * 2 > p.dur",
    "SELECT g.name, count(*) FROM slice AS c JOIN slice AS p ON p.id = c.parent_id JOIN slice AS g ON g.id = p.parent_id"
    " GROUP BY g.name ORDER BY g.name",
    "SELECT * FROM slices ORDER BY id",
    "SELECT * FROM slice_data ORDER BY id",
    "SELECT * FROM instant ORDER BY id",
    "SELECT * FROM thread_slice ORDER BY id",
    "SELECT * FROM async_slice ORDER BY id",
    "SELECT * FROM process_slice ORDER BY id",
    "SELECT * FROM counter ORDER BY id",
    "SELECT * FROM counters ORDER BY id",
    "SELECT * FROM sched ORDER BY id",
    "SELECT * FROM sched_slice ORDER BY id DESC",
    "SELECT * FROM thread_wait ORDER BY id",
    "SELECT * FROM thread_state ORDER BY id",
    "SELECT * FROM cpu_sample ORDER BY id",
    "SELECT * FROM perf_sample ORDER BY id",
    "SELECT * FROM cpu_profile_stack_sample ORDER BY id",
    "SELECT utid, count(*), sum(weight), min(callsite_id), typeof(cpu), typeof(weight) FROM cpu_sample GROUP BY utid, 5, 6 ORDER BY 1, 5, 6",
    "SELECT * FROM args",
    "SELECT arg_set_id, key, typeof(int_value), typeof(string_value), typeof(real_value), value_type, typeof(display_value), display_value FROM args",
    "SELECT * FROM args WHERE arg_set_id = 7", "SELECT * FROM args WHERE arg_set_id IN (9, 2, 2, 5, NULL, 'x') ORDER BY arg_set_id, key",
    "SELECT * FROM args WHERE arg_set_id BETWEEN 3 AND 9.5 AND key > 'a' ORDER BY arg_set_id, key, display_value",
    "SELECT count(*), sum(int_value), sum(real_value), max(string_value), min(display_value) FROM args WHERE arg_set_id >= 100",
    "SELECT count(*) FROM args WHERE arg_set_id = 3 OR arg_set_id = 5 OR key = 'n'", "SELECT count(*) FROM args WHERE rowid IS NOT NULL",
    "SELECT s.id, a.key, a.display_value FROM slice AS s LEFT JOIN args AS a USING (arg_set_id) WHERE s.id < 300 ORDER BY s.id, a.key, 3",
    "SELECT flat_key, value_type, count(*), count(DISTINCT display_value) FROM args GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT typeof(id), typeof(ts), typeof(dur), typeof(name), typeof(category), typeof(parent_id), typeof(arg_set_id), typeof(type),"
    " typeof(async_id), typeof(capture_id), count(*) FROM slice GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    "SELECT typeof(value), count(*) FROM counter GROUP BY 1 ORDER BY 1",
    "SELECT p.id, (SELECT count(*) FROM slice AS c WHERE c.parent_id = p.id) FROM slice AS p WHERE p.id < 40 ORDER BY p.id",
    "SELECT id FROM slice WHERE id = '7'", "SELECT id FROM slice WHERE id = 7.0", "SELECT id FROM slice WHERE id = 7.5",
    "SELECT id FROM slice WHERE id = 'x'", "SELECT id FROM slice WHERE id = NULL", "SELECT count(*) FROM slice WHERE id < 'x'",
    "SELECT count(*) FROM slice WHERE id > x'00'", "SELECT count(*) FROM slice WHERE id < 1e300",
    "SELECT count(*) FROM slice WHERE id > -1e300", "SELECT count(*) FROM slice WHERE id >= 12.5",
    "SELECT count(*) FROM slice WHERE id <= 12.5", "SELECT count(*) FROM slice WHERE id < 9223372036854775807",
    "SELECT count(*) FROM slice WHERE name = (SELECT name FROM slice WHERE id = 3)",
    "SELECT count(*) FROM slice WHERE name = upper((SELECT name FROM slice WHERE id = 3)) COLLATE NOCASE",
    "SELECT id FROM slice ORDER BY name COLLATE NOCASE, id LIMIT 20",
    "SELECT DISTINCT name FROM slice ORDER BY name", "SELECT count(DISTINCT track_id) FROM slice",
    "SELECT id FROM slice ORDER BY parent_id NULLS LAST, id LIMIT 20",
    "SELECT id FROM slice WHERE parent_id IS NULL ORDER BY id LIMIT 20",
    "SELECT id FROM slice ORDER BY id LIMIT 5 OFFSET 3", "SELECT id FROM slice ORDER BY dur LIMIT 5 OFFSET 3",
    "SELECT id FROM slice ORDER BY dur LIMIT 0", "SELECT id FROM slice ORDER BY dur, id LIMIT -1",
    "SELECT id FROM slice WHERE id IN (5, 3, 3, NULL, 'x', 4.0) ORDER BY id",
    "SELECT id FROM slice WHERE id IN (5, 3, 9) ORDER BY id DESC",
    "SELECT id FROM slice WHERE track_id IN (SELECT id FROM track LIMIT 2) ORDER BY id",
    "SELECT rowid FROM slice_data ORDER BY rowid LIMIT 5",
    "SELECT group_concat(id) FROM (SELECT id, track_id FROM slice WHERE id < 40 ORDER BY id) GROUP BY track_id ORDER BY track_id",
    "SELECT max(ts), min(ts), max(id), count(parent_id), total(dur) FROM slice",
    "SELECT * FROM track ORDER BY name, id", "SELECT * FROM thread_track ORDER BY utid DESC, id", "SELECT * FROM process_track ORDER BY id",
    "SELECT * FROM counter_track ORDER BY name DESC, id DESC", "SELECT id FROM track WHERE id IN (3, '2', 1.0, 1.5, NULL, 'x', -1) ORDER BY id",
    "SELECT id FROM track WHERE utid = '3' OR name = 5 OR type = 'async' ORDER BY type, utid, id", "SELECT max(rowid), count(name), count(utid) FROM track",
    "SELECT type, typeof(name), typeof(upid), typeof(utid), typeof(cookie), typeof(category), count(*) FROM track GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT th.id, count(t.id), min(t.name) FROM thread AS th LEFT JOIN track AS t USING (utid) GROUP BY th.id ORDER BY th.id",
    "SELECT t.name, t.upid, c.value, count(*) FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id WHERE c.ts > 5000000100 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    "SELECT t.id, s.id FROM track AS t JOIN slice AS s ON s.track_id = t.id WHERE s.ts < (SELECT avg(ts) FROM slice) AND t.type = 'thread' ORDER BY s.dur, s.id LIMIT 50",
    "SELECT state, count(*), min(id), max(ts) FROM thread_state GROUP BY state ORDER BY state DESC",
    "SELECT id, state FROM thread_state WHERE state = 'Running' ORDER BY id LIMIT 20",
    "SELECT id, state, waker_utid FROM thread_state WHERE state IN ('W', 'S', 'x', NULL, 5, 'Running12') ORDER BY id LIMIT 90",
    "SELECT count(*), sum(dur) FROM thread_state WHERE state = 'S' AND state <> 'x' AND dur > 0",
    "SELECT count(*) FROM thread_state WHERE state = 'R' AND state = 'Running'", "SELECT count(*) FROM thread_state WHERE state >= 'R'",
    "SELECT * FROM thread_state WHERE id IN (7, 8, 9, 10, -1, '12', 13.0, 14.5, NULL, 'x') ORDER BY id",
    "SELECT a.id, b.id, b.state FROM thread_state AS a JOIN thread_state AS b ON b.id = a.id + 1 WHERE a.id < 300 ORDER BY a.id",
    "SELECT t.id, count(s.id), sum(s.dur), max(s.cpu) FROM thread AS t LEFT JOIN thread_state AS s ON s.utid = t.id GROUP BY t.id ORDER BY t.id",
    "SELECT typeof(id), typeof(cpu), typeof(state), typeof(waker_utid), typeof(capture_id), capture_id, count(*) FROM thread_state GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT state, id FROM thread_state WHERE utid = 3 AND ts > 100 ORDER BY state, id",
    "SELECT DISTINCT state FROM thread_state ORDER BY state", "SELECT count(*) FROM thread_state AS a CROSS JOIN thread_state AS b ON b.ts = a.ts AND b.utid = a.utid WHERE a.id < 200",
    "SELECT count(*), sum(i.dur) FROM intervals_intersect('thread_state', 'sched', 'utid') AS i JOIN thread_state AS t ON t.id = i.id_a WHERE i.id_b < 500",
    "SELECT g.name, count(*), min(c.id), max(p.dur) FROM slice AS g JOIN slice AS p ON p.parent_id = g.id JOIN slice AS c ON c.parent_id = p.id GROUP BY g.name ORDER BY g.name DESC",
    "SELECT s.name, t.utid, count(*), sum(s.dur) FROM slice AS s JOIN thread_track AS t ON t.id = s.track_id GROUP BY s.name, t.utid ORDER BY 1, 2",
    "SELECT quote(v.column1), (SELECT count(*) FROM slice AS c WHERE c.parent_id = v.column1), (SELECT max(name) FROM slice WHERE id = v.column1),"
    " (SELECT sum(dur) FROM slice WHERE track_id = v.column1 AND id > 5), (SELECT max(id) FROM slice WHERE parent_id = v.column1)"
    " FROM (VALUES (1), (2), (4), ('4'), (4.0), (4.5), (NULL), ('x'), (x'34'), (9223372036854775807), (-9223372036854775808), (9223372036854775808.0),"
    " (1e300), (-1), (0), ('7 '), (7), (' 8'), (9e0), ('')) AS v",
    "SELECT v.column1, count(c.id), min(c.id) FROM (VALUES (-5), (-6), (-7), (-8), (4), (NULL), (7), ('9'), (9.5), (9.0), ('x')) AS v"
    " CROSS JOIN slice AS c ON c.parent_id = v.column1 GROUP BY 1 ORDER BY 1",
    "SELECT a.id, count(*), max(b.id) FROM slice AS a JOIN slice AS b ON b.ts = a.ts WHERE a.id < 300 GROUP BY a.id ORDER BY a.id",
    "SELECT p.id, c.id FROM slice AS p JOIN slice AS c ON c.parent_id = p.id OR c.id = p.parent_id WHERE p.id < 60 ORDER BY 1, 2",
    "SELECT p.id, (SELECT count(*) FROM slice WHERE track_id = p.track_id AND id < p.id), (SELECT name FROM slice WHERE id = p.id + 1) FROM slice AS p WHERE p.id < 60 ORDER BY 1",
    "SELECT depth, count(*), sum(dur), min(dur), max(dur), max(ts), sum(ts) FROM slice GROUP BY depth ORDER BY depth",
    "SELECT count(*) FROM (SELECT name, count(*) AS n, sum(dur) FROM slice GROUP BY name) WHERE n > 1",
    "SELECT name, count(*), (SELECT count(*) FROM slice AS b WHERE b.depth = 0) FROM slice GROUP BY name ORDER BY name",
    "SELECT name, n, count(*) OVER (ORDER BY name), count(*) OVER () FROM (SELECT name, count(*) AS n FROM slice GROUP BY name) ORDER BY name",
    "SELECT min(value), max(value), count(*), min(ts) FROM counter", "SELECT typeof(min(value)), typeof(max(value)), track_id FROM counter GROUP BY track_id ORDER BY track_id",
    "SELECT value, count(*), min(ts) FROM counter GROUP BY value ORDER BY value, 2", "SELECT sum(id), min(id), count(*), max(parent_id), sum(parent_id) FROM slice",
    "SELECT id, name, max(dur), count(*) FROM slice GROUP BY name ORDER BY name", "SELECT name, count(*), count(name), avg(dur), total(dur), sum(dur * 2) FROM slice GROUP BY name ORDER BY name",
    "SELECT name, sum(dur) FILTER (WHERE depth = 0), count(*) FILTER (WHERE depth > 0), count(DISTINCT depth) FROM slice GROUP BY name ORDER BY name",
    "SELECT s.id, w.state FROM sched_slice AS s JOIN thread_wait AS w ON w.utid = s.utid AND w.ts = s.ts + s.dur ORDER BY s.id",
]

TABLES = {
    "slice": ["id", "ts", "dur", "track_id", "depth", "parent_id", "arg_set_id", "async_id", "capture_id", "slice_id"],
    "slice_data": ["id", "ts", "dur", "track_id", "name_id", "depth", "parent_id", "arg_set_id", "instant", "async_id", "scope"],
    "counter": ["id", "ts", "track_id"],
    "sched_slice": ["id", "ts", "dur", "cpu", "utid", "priority"],
    "thread_wait": ["id", "ts", "dur", "utid", "waker_utid"],
    "thread_slice": ["id", "ts", "dur", "track_id", "utid", "upid", "depth", "parent_id"],
    "thread_state": ["id", "ts", "dur", "cpu", "utid", "waker_utid"],
    "cpu_sample": ["id", "ts", "cpu", "utid", "callsite_id", "weight", "sample_type_id"],
    "perf_sample": ["id", "ts", "utid", "capture_id", "weight"],
    "args": ["arg_set_id", "int_value"],
    "track": ["id", "capture_id", "upid", "utid", "cookie"],
    "thread_track": ["id", "utid", "capture_id"],
}
TEXTS = {"slice": ["name", "category", "cat", "type"], "sched_slice": ["end_state"], "thread_wait": ["state"],
         "thread_slice": ["name", "thread_name"], "thread_state": ["state"], "counter": ["value"],
         "track": ["type", "name", "category"], "thread_track": ["name"], "args": ["key", "string_value", "real_value", "value_type", "display_value"]}
ODD = ["NULL", "'5'", "'x'", "5.5", "-1", "1e30", "x'35'", "9223372036854775807", "-9223372036854775808", "''"]


def value(r, table, column):
    if r.random() < 0.12:
        return r.choice(ODD)
    if table == "args":
        return f"(SELECT {column} FROM args WHERE arg_set_id >= {r.randrange(1, 3000)} ORDER BY arg_set_id, key, display_value LIMIT 1)"
    return f"(SELECT {column} FROM {table} WHERE id >= {r.randrange(1, 3000)} ORDER BY id LIMIT 1)"


def condition(r, table, prefix=""):
    if table in TEXTS and r.random() < 0.3:
        column = r.choice(TEXTS[table])
        return f"{prefix}{column} {r.choice(['=', '=', '<', '>=', 'IS', '<>'])} {value(r, table, column)}"
    column = r.choice(TABLES[table])
    kind = r.random()
    if kind < 0.1:
        return f"{prefix}{column} IS {r.choice(['NULL', 'NOT NULL'])}"
    if kind < 0.25:
        return f"{prefix}{column} IN ({', '.join(value(r, table, column) for _ in range(r.randrange(1, 5)))})"
    if kind < 0.4:
        return f"{prefix}{column} BETWEEN {value(r, table, column)} AND {value(r, table, column)}"
    return f"{prefix}{column} {r.choice(['=', '<', '>', '<=', '>='])} {value(r, table, column)}"


def where(r, table, prefix=""):
    parts = [condition(r, table, prefix) for _ in range(r.choice([0, 1, 1, 2, 3]))]
    if not parts:
        return ""
    return " WHERE " + r.choice([" AND ", " AND ", " OR "]).join(parts)


def order(r, table, columns):
    """One that leaves no two rows equal."""
    keys = [f"{c} {r.choice(['ASC', 'DESC'])}" for c in r.sample(columns, r.randrange(0, 3))]
    last = columns if "id" not in columns else [f"id {r.choice(['', 'DESC'])}"]
    return " ORDER BY " + ", ".join(keys + last)


def combined(r):
    """One that rows can be combined for, most often: it uses columns in sums and extremes, or groups by them."""
    table = r.choice([t for t in TABLES if t not in ("args", "track", "thread_track")])
    columns = TABLES[table] + TEXTS.get(table, [])
    by = r.sample(columns, r.choice([0, 0, 1, 1, 1, 2]))
    numbers = [c for c in TABLES[table] if c not in by or r.random() < 0.1]
    values = [f"{r.choice(['sum', 'sum', 'min', 'max'])}({r.choice(numbers)})" for _ in range(r.randrange(0, 5))]
    if table == "counter" and r.random() < 0.5:
        values.append(f"{r.choice(['min', 'max'])}(value)")
    if not values or r.random() < 0.7:
        values.insert(r.randrange(0, len(values) + 1), "count(*)")
    others = "" if r.random() < 0.6 else where(r, table)
    ends = f" GROUP BY {', '.join(by)}" if by else ""
    if by and r.random() < 0.3:
        ends += f" HAVING {r.choice(values)} > {r.randrange(0, 9)}"
    if by and r.random() < 0.5:
        ends += " ORDER BY " + ", ".join(f"{c} {r.choice(['ASC', 'DESC'])}" for c in by)
    query = f"SELECT {', '.join(by + values)} FROM {table}{others}{ends}"
    kind = r.random()
    if kind < 0.15:
        return f"SELECT count(*), * FROM ({query}) GROUP BY {', '.join(str(i) for i in range(2, 2 + len(by + values)))} ORDER BY 2"
    if kind < 0.25 and table in ("slice", "counter"):
        value = f"sum(s.{r.choice(TABLES['slice'][:-1])})" if table == "slice" else "min(s.value), max(s.value)"
        return (f"SELECT t.{r.choice(['utid', 'name', 'type', 'id'])}, {value}, count(*), min(s.ts), max(s.id) FROM {table} AS s"
                f" {r.choice(['JOIN', 'LEFT JOIN', 'CROSS JOIN'])} track AS t ON t.id = s.track_id{where(r, table, 's.')} GROUP BY 1")
    return query


def windowed(r):
    """One with the value of the row before or after, most often in an order that columns give; rows at one time cannot be told apart."""
    table, by = r.choice([("sched_slice", "cpu"), ("sched_slice", "utid"), ("sched", "cpu"), ("thread_wait", "utid"), ("slice", "track_id"), ("slice", "depth"),
                          ("slices", "parent_id"), ("counter", "track_id"), ("cpu_sample", "utid"), ("thread_slice", "track_id")])
    order = f"ts{r.choice(['', '', ' DESC'])}"
    value = r.choice(["lead(ts)", "lead(ts)", "lag(ts)", "lag(ts)", "lead(ts, 2)", "max(ts)"])
    window = f"{value} OVER (PARTITION BY {by} ORDER BY {order})"
    inner = f"SELECT {by}, ts, {window} AS n FROM {table}{where(r, 'slice_data' if table == 'slices' else table) if table in TABLES and r.random() < 0.5 else ''}"
    kind = r.random()
    if kind < 0.2:
        return inner
    if kind < 0.4:
        return f"SELECT {by}, count(*), sum(n - ts), max(n) FROM ({inner}) WHERE n - ts > {r.choice([0, 10, 100000])} GROUP BY {by} ORDER BY {by}"
    if kind < 0.6:
        return f"SELECT {r.choice(['ts', 'DISTINCT ' + by, 'count(*), sum(n)'])} FROM ({inner}) WHERE {r.choice(['n', 'ts', by])} {r.choice(['>', '<', 'IS NOT', '='])} " \
               f"{r.choice(['NULL', '3', '5000000100', '(SELECT avg(ts) FROM slice)'])}"
    if kind < 0.8:
        return f"SELECT ts, n FROM ({inner}) ORDER BY n DESC, ts, {by} LIMIT {r.randrange(1, 40)}"
    return f"WITH w AS ({inner}) SELECT th.id, count(*), sum(w.n) FROM thread AS th {r.choice(['JOIN', 'LEFT JOIN', 'CROSS JOIN'])} w ON w.{by} = th.id GROUP BY th.id ORDER BY 1"


def derived(r):
    """One with a table made by GROUP BY, most often looked up by its key."""
    table, by = r.choice([("slice", "parent_id"), ("slice", "track_id"), ("slice_data", "parent_id"), ("sched_slice", "utid"), ("thread_state", "utid"),
                          ("counter", "track_id"), ("cpu_sample", "callsite_id"), ("args", "arg_set_id"), ("thread_wait", "waker_utid")])
    numbers = TABLES[table]
    value = r.choice([f"sum({r.choice(numbers)})", "count(*)", f"min({r.choice(numbers)})", f"max({r.choice(numbers)})", f"avg({r.choice(numbers)})",
                      f"max({r.choice(TEXTS.get(table, numbers))})", f"sum({r.choice(numbers)}) * {by}", f"CASE {by} % 3 WHEN 0 THEN 'x' WHEN 1 THEN 1.5 ELSE count(*) END"])
    key = r.choice(["", "", " AS k", " k"])
    columns = [f"{by}{key}", f"{value} AS n"]
    if r.random() < 0.3:
        columns.append(f"min({by}) AS m")
    r.shuffle(columns)
    having = r.choice(["", "", "", " HAVING count(*) > 1", f" HAVING {by} IS NOT NULL"])
    inner = f"(SELECT {', '.join(columns)} FROM {table}{where(r, table) if r.random() < 0.5 else ''} GROUP BY {by}{having}) {r.choice(['AS c', 'c'])}"
    outer = r.choice(["slice", "slice", "slice_data", "sched_slice", "thread_state", "counter"])
    on = f"c.{'k' if key else by} = {r.choice(['s.id', 's.id', 's.' + r.choice(TABLES[outer]), 's.id / 2.0', 's.ts'])}"
    if r.random() < 0.2:
        on += f" AND c.n {r.choice(['>', '<>', 'IS NOT'])} {value_of(r, outer)}"
    after = f" WHERE {r.choice(['c.n', 'c.' + ('k' if key else by), 's.id'])} {r.choice(['>', 'IS', 'IS NOT', '<'])} {r.choice(['NULL', '3', '1000'])}" if r.random() < 0.3 else ""
    join = f"{outer} AS s {r.choice(['LEFT JOIN', 'LEFT JOIN', 'LEFT JOIN', 'CROSS JOIN', 'JOIN'])} {inner} ON {on}{after}"
    kind = r.random()
    if kind < 0.5:
        return f"SELECT count(*), count(c.n), min(c.n), max(c.n), sum(length(c.n)), min(typeof(c.n)) FROM {join}"
    if kind < 0.8:
        by = r.choice(TABLES[outer] + TEXTS.get(outer, []))
        return f"SELECT s.{by}, count(*), count(c.n), max(c.n) FROM {join} GROUP BY s.{by} ORDER BY s.{by}"
    return f"SELECT s.id, c.* FROM {join} ORDER BY s.id, c.n LIMIT {r.randrange(1, 60)}"


def value_of(r, outer):
    return r.choice(["5", "'5'", "s.id", f"s.{r.choice(TABLES[outer])}"] + [f"s.{c}" for c in TEXTS.get(outer, [])])


def one(r):
    if r.random() < 0.15:
        return derived(r)
    if r.random() < 0.2:
        return windowed(r)
    if r.random() < 0.4:
        return combined(r)
    table = r.choice(list(TABLES))
    columns = TABLES[table] + TEXTS.get(table, [])
    kind = r.random()
    if kind < 0.35:
        limit = f" LIMIT {r.randrange(0, 50)}" + (f" OFFSET {r.randrange(0, 50)}" if r.random() < 0.4 else "")
        return f"SELECT * FROM {table}{where(r, table)}{order(r, table, columns)}{limit}"
    if kind < 0.45:
        return f"SELECT {', '.join(r.sample(columns, 3))} FROM {table}{where(r, table)}"
    if kind < 0.7:
        by = r.sample(columns, r.randrange(1, 3))
        numbers = ", ".join(f"{r.choice(['sum', 'min', 'max', 'count'])}({r.choice(TABLES[table])})" for _ in range(2))
        return f"SELECT {', '.join(by)}, count(*), {numbers} FROM {table}{where(r, table)} GROUP BY {', '.join(by)}"
    if kind < 0.8:
        return f"SELECT DISTINCT {', '.join(r.sample(columns, r.randrange(1, 3)))} FROM {table}{where(r, table)}"
    if kind < 0.9:
        return ("SELECT c.id, p.id, p.name, c.dur - p.dur FROM slice AS c "
                f"{r.choice(['JOIN', 'LEFT JOIN'])} slice AS p ON p.id = c.parent_id{where(r, 'slice', 'c.')} ORDER BY c.id")
    return ("SELECT p.id, count(*), sum(c.dur) FROM slice AS p JOIN slice AS c ON c.parent_id = p.id"
            f" WHERE p.id < {r.randrange(1, 99)} GROUP BY p.id ORDER BY p.id LIMIT 200")


def answers(path):
    result, query = {}, None
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            if line.startswith(MARK):
                query = line[len(MARK):].rstrip("\n")
                result[query] = []
            else:
                result[query].append(line)
    return result


def is_ordered(query):
    """Whether ORDER BY is outside of all parentheses."""
    depth, outside = 0, ""
    for c in query:
        depth += (c == "(") - (c == ")")
        outside += c if depth == 0 else ""
    return "ORDER BY" in outside


def compare(left, right):
    a, b = answers(left), answers(right)
    wrong = [] if list(a) == list(b) else ["the outputs are of different queries"]
    for query in a:
        rows, others = a[query], b.get(query, [])
        if not is_ordered(query):
            rows, others = sorted(rows), sorted(others)
        if rows != others:
            wrong.append(f"{query}: {len(rows)} and {len(others)} rows; first difference: "
                         f"{next(((x, y) for x, y in zip(rows, others) if x != y), 'at the end')}")
    for line in wrong[:10]:
        print(line)
    return 1 if wrong or not a else 0


def main():
    if sys.argv[1] == "suite":
        print("\n".join(SUITE[:int(sys.argv[2])] if len(sys.argv) > 2 else SUITE))
    elif sys.argv[1] == "random":
        r = random.Random(int(sys.argv[2]))
        print("\n".join(one(r) for _ in range(int(sys.argv[3]))))
    elif sys.argv[1] == "script":
        for line in sys.stdin:
            query = line.rstrip("\n")
            quoted = query.replace("'", "''")
            print(f"SELECT '{MARK}{quoted}';\n{query};")
    else:
        return compare(sys.argv[2], sys.argv[3])
    return 0


sys.exit(main())
