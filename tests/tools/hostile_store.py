#!/usr/bin/env python3
"""Every command on stores made to harm: hostile_store.py STORE TRACE EXTENSION [CASE...].

STORE is a sound store, TRACE one that is appended to each, EXTENSION libfxtsql without its suffix.  Runs in an empty folder, with fxtq
and fxtdiff in PATH.  Whatever a store holds: nothing crashes, goes on for ever, takes much memory, does what the store says, or says
more than a sentence; commands that read leave the store as it was."""
import hashlib
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

base, trace, extension = sys.argv[1:4]
only = sys.argv[4:]
SECONDS = 20 * int(os.environ.get("SLOW", "1")) # of CPU time; a command that waits for ever is ended after twenty times that
MEGABYTES = 600  # no case needs more; with the sanitizers it is not asked

# A file that stands where statements of the store would leave theirs.
HARM = "harm"

# ---- Cases: SQL that makes a sound store hostile ----

NUMBERS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "

# Views in place of tables, and tables that act: refused when the store is opened.
REFUSED = {
    "endless call sites": "DROP TABLE callsite; CREATE VIEW callsite AS " + NUMBERS + "SELECT id, NULL AS parent_id, 1 AS frame_id, 0 AS depth FROM n",
    "endless captures": "DROP TABLE capture; CREATE VIEW capture AS " + NUMBERS + "SELECT id, 1 AS first_sample_id, 1 AS sample_count, 0 AS start_ts, 1 AS end_ts FROM n",
    "endless samples": "DROP TABLE cpu_sample; CREATE VIEW cpu_sample AS " + NUMBERS + "SELECT id, id AS ts, 0 AS cpu, 1 AS utid, 1 AS callsite_id, 1 AS weight FROM n",
    "endless strings": "DROP TABLE string; CREATE VIEW string AS " + NUMBERS + "SELECT id, hex(zeroblob(1000000)) AS text FROM n",
    "a generated column": "ALTER TABLE module ADD COLUMN x TEXT AS (hex(zeroblob(400000000))) VIRTUAL",
    "a CHECK that acts": "CREATE TABLE t(x CHECK (load_extension('./%s'))); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'message', "
                         "'message CHECK (load_extension(''./%s''))') WHERE name = 'log'" % (HARM, HARM),
    "a collation": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'text TEXT', 'text TEXT COLLATE unheard') WHERE name = 'string'",
    "a virtual table": "DROP TABLE log; CREATE VIRTUAL TABLE log USING fts5(message)",
    "no STRICT": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'cpu_sample'",
    "no schema": "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
    "a table twice": "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'log'",
    "a table without a statement": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'DROP TABLE log' WHERE name = 'thread'",
}

# The schema is ours; there is more in the file, or what stands in it lies.
EVIL_TRIGGERS = "".join(
    "CREATE TRIGGER %s_%s %s %s ON %s BEGIN INSERT INTO harmed VALUES ('%s'); DELETE FROM callsite; END;" % (table, when, when, what, table, table)
    for table in ("capture", "cpu_sample", "symbol", "string", "frame", "callsite") for when, what in (("AFTER", "INSERT"), ("BEFORE", "DELETE")))
LIES = {
    # Other views under the names of ours: reading is refused, and writing makes ours anew.
    "a view that acts": "DROP VIEW slice; CREATE VIEW slice AS SELECT load_extension('./%s') AS id, writefile('%s', 'x') AS ts" % (HARM, HARM),
    "a view that edits": "DROP VIEW frame_name; CREATE VIEW frame_name AS SELECT edit('x', 'touch %s') AS name, readfile('/etc/passwd') AS id" % HARM,
    "triggers": "CREATE TABLE harmed (x); " + EVIL_TRIGGERS,
    "a view that doubles": "CREATE VIEW v0 AS SELECT 1 AS x; " + "".join("CREATE VIEW v%d AS SELECT a.x FROM v%d AS a, v%d AS b;" % (i, i - 1, i - 1) for i in range(1, 60)),
    "views of the user that never end": "CREATE VIEW mine AS " + NUMBERS + "SELECT load_extension('./%s'), id FROM n" % HARM,
    "an index that acts": "CREATE INDEX i ON module (hex(zeroblob(1000000)), name); CREATE INDEX j ON string (text || hex(zeroblob(1000)))",
    "statistics": "ANALYZE; UPDATE sqlite_stat1 SET stat = '9223372036854775807 -1 x unordered sz=0 noskipscan'; INSERT INTO sqlite_stat1 VALUES ('nowhere', '', '1 1'), (NULL, NULL, NULL)",
    "a caller after what it calls": "UPDATE callsite SET parent_id = (SELECT max(id) FROM callsite) WHERE id = 3",
    "callers in a circle": "UPDATE callsite SET parent_id = 4 WHERE id = 3; UPDATE callsite SET parent_id = 3 WHERE id = 4",
    "its own caller": "UPDATE callsite SET parent_id = id WHERE id = 5",
    "depths that lie": "UPDATE callsite SET depth = 9223372036854775807",
    "frames far away": "UPDATE callsite SET frame_id = 9223372036854775807 WHERE id = 2",
    "call sites far away": "INSERT INTO callsite(id, parent_id, frame_id, depth) VALUES (4000000000, 1, 1, 1)",
    "frames with ids far away": "INSERT INTO frame(id, module_id, vaddr) VALUES (4000000000, 1, 1)",
    "modules with ids far away": "INSERT INTO module(id, name) VALUES (4000000000, 'x')",
    "threads with ids far away": "INSERT INTO thread(id, upid, koid) VALUES (260000000, 1, 1)",
    "processes with ids far away": "INSERT INTO process(id, capture_id, koid) VALUES (4000000000, 1, 1)",
    "ids at the end": "INSERT INTO string(id, text) VALUES (9223372036854775807, 'x'); INSERT INTO cpu_sample(id, ts, utid, callsite_id) VALUES (9223372036854775807, 1, 1, 1)",
    "ids below zero": "UPDATE thread SET id = -id, upid = -upid; UPDATE process SET id = -id; UPDATE callsite SET frame_id = -frame_id WHERE id = 9",
    "no rows at all": "".join("DELETE FROM %s;" % t for t in ("capture callsite frame symbol string module process thread cpu_sample callsite_sum sample_type").split()),
    "a deep stack": "DELETE FROM callsite; DELETE FROM callsite_sum; INSERT INTO callsite(id, parent_id, frame_id, depth) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
                    "SELECT i, nullif(i - 1, 0), 1 + i % 100, i - 1 FROM n; INSERT INTO callsite_sum(capture_id, sample_type_id, upid, callsite_id, n, value) SELECT 1, 1, 1, id, 1, 1000 FROM callsite",
    "a wide stack": "DELETE FROM callsite; DELETE FROM callsite_sum; INSERT INTO callsite(id, parent_id, frame_id, depth) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) "
                    "SELECT i, iif(i = 1, NULL, 1), 1 + i % 100, i > 1 FROM n; INSERT INTO callsite_sum(capture_id, sample_type_id, upid, callsite_id, n, value) SELECT 1, 1, 1, id, 1, 1000 FROM callsite",
    "many inlined functions": "INSERT OR REPLACE INTO symbol(frame_id, inline_depth, function, quality) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                              "SELECT 1, i, 1, 4 FROM n",
    "counts at the end": "UPDATE callsite_sum SET n = 9223372036854775807, value = 9223372036854775807",
    "counts below zero": "UPDATE callsite_sum SET n = -9223372036854775807, value = -1",
    "infinite counts": "UPDATE callsite_sum SET n = iif(callsite_id % 2, 9e999, -9e999), value = iif(callsite_id % 3, 9e999, -9e999); UPDATE heap_event SET objects = 9e999, bytes = -9e999",
    "weights at the end": "UPDATE cpu_sample SET weight = 9223372036854775807",
    "times at the ends": "UPDATE capture SET start_ts = -9223372036854775807 - 1, end_ts = 9223372036854775807; UPDATE cpu_sample SET ts = iif(id % 2, -9223372036854775807 - 1, 9223372036854775807)",
    "times turned round": "UPDATE capture SET start_ts = 9223372036854775807, end_ts = -9223372036854775807 - 1",
    "durations at the end": "UPDATE slice_data SET dur = 9223372036854775807; UPDATE sched_slice SET dur = 9223372036854775807, ts = 9223372036854775807; UPDATE thread_wait SET dur = -9223372036854775807",
    "slices in a circle": "UPDATE slice_data SET parent_id = id % 100 + 1, depth = -5",
    "samples that are not there": "UPDATE capture SET first_sample_id = -9223372036854775807, sample_count = 9223372036854775807, first_slice_id = 9223372036854775807, slice_count = -1",
    "captures that are not there": "UPDATE callsite_sum SET capture_id = 77 WHERE callsite_id % 2; UPDATE process SET capture_id = 1 << 40",
    "texts that are none": "UPDATE string SET text = CAST(x'ff00fec0' AS TEXT) WHERE id % 2; UPDATE process SET name = CAST(x'1b5d303b610007' AS TEXT); UPDATE module SET name = CAST(x'2fff00' AS TEXT)",
    "long texts": "UPDATE string SET text = (SELECT replace(hex(zeroblob(100000)), '0', 'f;')) WHERE id < 4; UPDATE process SET name = hex(zeroblob(100000)); "
                  "UPDATE capture SET command = hex(zeroblob(100000)), name = hex(zeroblob(100000))",
    "texts for a terminal": "UPDATE string SET text = char(27, 91, 50, 74) || text; UPDATE thread SET name = char(27, 93, 48, 59, 120, 7); UPDATE capture SET command = char(27, 99, 10, 10)",
    "texts for a page": "UPDATE string SET text = '</script><script>document.title = 1</script>'; UPDATE capture SET command = '</title><script>alert(1)</script>'",
    "files to read": "UPDATE module SET name = '/dev/zero', build_id = NULL WHERE id = 1; UPDATE module SET name = '%s/fifo', build_id = NULL WHERE id = 2; "
                     "UPDATE module SET name = '/proc/self/mem' WHERE id = 4" % os.getcwd(),
    "build IDs that are none": "UPDATE module SET build_id = '../../../../etc/passwd'; UPDATE module SET build_id = hex(zeroblob(100000)) WHERE id = 2",
    "many sample types": "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO sample_type(id, type, unit) SELECT i, 't' || i, 'u' FROM n; "
                         "INSERT OR IGNORE INTO callsite_sum(capture_id, sample_type_id, upid, callsite_id, n, value) SELECT 1, id, 1, 1, 1, 1 FROM sample_type",
    "sample types of no name": "DELETE FROM sample_type WHERE id > 1; UPDATE sample_type SET type = '', unit = ''",
    "the same twice": "INSERT INTO frame(id, module_id, vaddr) SELECT id + (SELECT max(id) FROM frame), module_id, vaddr FROM frame; INSERT INTO callsite(id, parent_id, frame_id, depth) SELECT id + (SELECT max(id) FROM callsite), parent_id, frame_id, depth FROM callsite",
    "UTF-16": None,
}

# Wrong types: into tables that are not STRICT for a moment.
WRONG = {
    "NULL": "NULL", "a text": "'x'", "an empty text": "''", "a blob": "x'ff00'", "a real": "1e308", "infinity": "9e999", "the largest": "9223372036854775807",
    "the smallest": "-9223372036854775807 - 1",
}
KEPT = {"id", "upid", "utid", "capture_id", "frame_id", "inline_depth", "callsite_id", "sample_type_id", "arg_set_id", "ordinal", "key", "kind"}


def lift(path, script):
    """Run a script in a store whose tables take anything, and put their definitions back."""
    db = sqlite3.connect(path, isolation_level=None)
    sql = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"))
    db.execute("PRAGMA writable_schema = ON")
    for name, text in sql.items():
        loose = text.replace("STRICT, WITHOUT ROWID", "WITHOUT ROWID").replace("STRICT", "").replace("NOT NULL", "")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (loose, name))
    db.close()
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(script)
    db.execute("PRAGMA writable_schema = ON")
    for name, text in sql.items():
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (text, name))
    db.close()


def wrong_values(path, value, rows):
    db = sqlite3.connect(path)
    script = []
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        for column in [r[1] for r in db.execute("PRAGMA table_info(%s)" % table)]:
            if column not in KEPT:
                script.append('UPDATE OR IGNORE %s SET "%s" = %s WHERE %s;' % (table, column, value, rows))
    db.close()
    lift(path, "\n".join(script))


def wrong_columns(path, value, names):
    """One column of each table."""
    db = sqlite3.connect(path)
    script = []
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        columns = [r[1] for r in db.execute("PRAGMA table_info(%s)" % table)]
        script += ['UPDATE OR IGNORE %s SET "%s" = %s;' % (table, c, value) for c in columns if c in names and c not in ("id", "key", "kind")]
    db.close()
    lift(path, "\n".join(script))


def make(path, name):
    shutil.copy(base, path)
    if name in REFUSED or LIES.get(name):
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(REFUSED.get(name) or LIES[name])
        db.close()
    elif name == "UTF-16":
        os.unlink(path)
        db, old = sqlite3.connect(path, isolation_level=None), sqlite3.connect(base)
        db.execute("PRAGMA encoding = 'UTF-16le'")
        db.executescript("\n".join(old.iterdump()))
        for pragma in ("application_id", "user_version"):
            db.execute("PRAGMA %s = %d" % (pragma, old.execute("PRAGMA " + pragma).fetchone()[0]))
        db.close()
        old.close()
    elif name in BROKEN:
        break_bytes(path, name.split(": ")[0], int(name.split(": ")[1]))
    else:
        rows, value = name.split(": ")
        if rows == "references":
            wrong_columns(path, WRONG[value], KEPT)
        else:
            wrong_values(path, WRONG[value], "1" if rows == "all" else "rowid = (SELECT max(rowid) FROM %s)" if rows == "last" else rows)


# Bytes: some changed, in the header, in pages of tables, anywhere; the end cut off; a page where another one belongs.
BROKEN = ["%s: %d" % (how, i) for how, count in (("header", 8), ("bytes", 16), ("cut", 8), ("pages", 10)) for i in range(count)]


def break_bytes(path, how, i):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    draw = random.Random(how + str(i))
    if how == "header":
        for _ in range(1 + i % 3):
            data[16 + draw.randrange(84)] = draw.randrange(256)
    elif how == "bytes":
        for _ in range(1 + i * 4):
            data[100 + draw.randrange(len(data) - 100)] ^= 1 << draw.randrange(8)
    elif how == "cut":
        del data[[0, 1, 15, 16, 99, 4096, len(data) // 2, len(data) - 1][i]:]
    else:
        pages = len(data) // 4096
        to, of = draw.randrange(1, pages), draw.randrange(1, pages)
        data[to * 4096:to * 4096 + 4096] = data[of * 4096:of * 4096 + 4096]
    with open(path, "wb") as file:
        file.write(data)


CASES = list(REFUSED) + list(LIES) + ["%s: %s" % (rows, value) for rows in ("all", "references") for value in list(WRONG)[rows == "references"::1 + (rows == "references")]] + BROKEN

# ---- Commands ----

REPORTS = [["top"], ["top", "--by", "thread"], ["top", "--by", "line", "--time", "+0s,+1s", "--capture", "1"], ["tree"], ["callers", "."], ["callees", "a"], ["heap"], ["threads"], ["cpu"],
           ["cpu", "--by", "wait"], ["slices"], ["timeline"], ["damage"]]
SQL = ["SELECT id, folded(id), leaf(id), depth(id), in_stack(id, 'a') FROM callsite LIMIT 20", "SELECT * FROM flamegraph LIMIT 20", "SELECT * FROM callsite_counts LIMIT 20",
       "SELECT extract_arg(arg_set_id, 'size') FROM slice LIMIT 20", "SELECT count(*), percentile(dur, 50) FROM slice_data", "SELECT * FROM args LIMIT 20",
       "SELECT * FROM thread_state LIMIT 20", "SELECT * FROM stack_profile_frame LIMIT 20", "SELECT * FROM stack_profile_symbol LIMIT 20",
       "SELECT * FROM heap_profile_allocation LIMIT 20", "SELECT * FROM counters LIMIT 20"]


def commands(store):
    yield from (["fxtq", "report", *report[:2 if report[0] in ("callers", "callees") else 1], store, *report[2 if report[0] in ("callers", "callees") else 1:]]
                for report in REPORTS)
    yield ["fxtq", "--format", "box", store, *SQL]
    yield ["fxtq", "--format", "json", store, "SELECT * FROM call_tree LIMIT 50", "SELECT * FROM call_top WHERE per = 'process'"]
    yield ["fxtq", "coverage", store]
    yield ["fxtq", "flamegraph", store, "-o", "page.html"]
    yield ["fxtq", "flamegraph", "--diff", base, store, "-o", "-"]
    yield ["fxtdiff", store, "--", base]
    yield ["fxtdiff", "--json", base, "--", store + "#1"]
    yield ["sqlite3", "-cmd", ".load " + extension, store, "SELECT folded(id) FROM callsite LIMIT 5", "SELECT count(*) FROM call_tree",
           "SELECT max(extract_arg(arg_set_id, 'size')) FROM slice_data"]


def writers(store):
    yield ["fxtq", "symbolize", "--no-cache", store]
    yield ["fxtq", "import", "-q", trace, "-o", store]
    yield ["fxtq", "--write", store, "DELETE FROM log"]
    yield ["fxtq", "report", "top", store]


def run(command):
    """Status, standard error, the most megabytes that were resident, whether it had to be ended."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # From here: with a function to call in the child, Python copies itself for each of two thousand commands.
    try:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
    except ProcessLookupError:
        pass # it has ended
    ended = []
    signal.signal(signal.SIGALRM, lambda *_: (ended.append(True), process.kill()))
    signal.alarm(SECONDS * 20)
    message = process.stderr.read().decode("utf-8", "replace")
    _, status, usage = os.wait4(process.pid, 0)
    signal.alarm(0)
    late = bool(ended) or usage.ru_utime + usage.ru_stime >= SECONDS
    return os.waitstatus_to_exitcode(status), message, usage.ru_maxrss / 1024, late


problems = []


def check(case, command, refused):
    start = time.time()
    status, message, megabytes, late = run(command)
    if os.environ.get("VERBOSE"):
        print("%.2f s, %d MB, %d: %s: %s: %s" % (time.time() - start, megabytes, status, case, " ".join(command), message[:300].strip()), flush=True)
    lines = [line for line in message.splitlines() if line.startswith(("fxt", "Error", "Runtime", "Parse"))]
    stock = command[0] == "sqlite3"

    def problem(what):
        problems.append("%s: %s: %s: status %d, %s" % (case, " ".join(command), what, status, message[-400:]))

    if late:
        problem("does not end")
    elif status < 0 or status > (125 if stock else 6) or "ERROR: " in message or "runtime error" in message:
        problem("crashes")
    elif megabytes > MEGABYTES and not os.environ.get("SLOW"):
        problem("takes %d MB" % megabytes)
    elif len(lines) > (3 if stock else 1) or (status > 1 and status != 5 and not lines):
        problem("no sentence")
    elif any(len(line) > 700 for line in lines) or any(c < " " and c not in "\n\t" for c in message):
        problem("a message that is no sentence")
    elif refused and not stock and (status != 3 or "the store is corrupt: " not in message):
        problem("is not refused")
    elif os.path.exists(HARM) or os.path.exists(HARM + ".so"):
        problem("does what the store says")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


os.mkfifo("fifo")
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
ran = 0
for case in CASES:
    if only and case not in only:
        continue
    store = "hostile.fxtq"
    make(store, case)
    before = digest(store)
    for place, command in enumerate(commands(store)):
        if case in REFUSED and place % 4 or case in BROKEN and place % 3: # all open it in one way
            continue
        check(case, command, case in REFUSED)
        ran += 1
    if digest(store) != before:
        problems.append("%s: a command that reads changed the store" % case)
    for command in writers(store):
        check(case, command, case in REFUSED)
        ran += 1
    if case in REFUSED and digest(store) != before:
        problems.append("%s: a store that is refused was changed" % case)
    if case == "triggers":
        db = sqlite3.connect(store)
        if db.execute("SELECT count(*) FROM harmed").fetchone()[0]:
            problems.append("triggers fired")
        if db.execute("SELECT count(*) FROM capture").fetchone()[0] != 3:
            problems.append("triggers: the capture is missing")
        db.close()
    for name in os.listdir("."):
        if name.startswith(store) or name == "page.html":
            os.unlink(name)
print("%d commands on %d stores" % (ran, len(CASES)))
for text in problems:
    print(text)
sys.exit(1 if problems else 0)
