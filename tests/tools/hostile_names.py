"""Names from files, through every program and report: nothing that drives a terminal, turns a line around or breaks it reaches a
person, JSON keeps the data, and text for other programs keeps names as they are in files and pipes.

    hostile_names.py FXTGEN        in an empty folder, with the programs in PATH
"""
import json
import os
import re
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import terminal

NAMES = ["esc\x1b[31mred", "csi\x9b2Jgone", "rlo\u202eecapse", "isolate\u2066x\u2069", "marks\u200e\u200f", "lines\u2028a\u2029b",
         "del\x7f", "bell\x07", "osc\x1b]0;title\x07", "plain"]
REFUSED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
failures = []


def record(kind, payload, bits=0):
    return struct.pack("<Q", kind | (len(payload) // 8 + 1) << 4 | bits << 16) + payload


def padded(text):
    data = text.encode()
    return data + bytes(-len(data) % 8)


def inline(text):
    return 0x8000 | len(text.encode())


def write_trace(path):
    """Slices, counters, an instant, a log and threads with those names."""
    out = struct.pack("<Q", 0x0016547846040010) + record(1, struct.pack("<Q", 1000000000))
    for i, name in enumerate(NAMES):
        process, thread = 100 + i, 200 + i
        out += record(7, struct.pack("<Q", process) + padded(name), 1 | inline(name) << 8)  # a process
        # A thread with its process as an argument: koid, type 8, name "process".
        argument = struct.pack("<Q", 8 | 3 << 4 | inline("process") << 16) + padded("process") + struct.pack("<Q", process)
        out += record(7, struct.pack("<Q", thread) + padded(name) + argument, 2 | inline(name) << 8 | 1 << 24)
        for event, words, ts in ((2, [], 1000), (0, [0], 1500), (1, [7], 1600), (3, [], 2000 + 100 * i)):
            head = event | (1 if event == 1 else 0) << 4 | inline(name) << 16 | inline(name) << 32
            values = struct.pack("<Q", 1 | 2 << 4 | inline("v") << 16 | 42 << 32) + padded("v") if event == 1 else b""
            body = struct.pack("<QQQ", ts, process, thread) + padded(name) + padded(name) + values
            out += record(4, body + b"".join(struct.pack("<Q", w) for w in words), head)
        out += record(9, struct.pack("<QQQ", 1700, process, thread) + padded(name), len(name.encode()))
    open(path, "wb").write(out)


def varint(number):
    out = b""
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_perf_data(path):
    """The file of perf record: a task and a mapping with each name."""
    attribute = struct.pack("<IIQQQQQ", 1, 112, 0, 1000000, 2 | 4, 0, 0) + bytes(64)
    events = b""
    for i, name in enumerate(NAMES):
        text = padded(name + "\0")
        body = struct.pack("<II", 100 + i, 100 + i) + text
        events += struct.pack("<IHH", 3, 0, 8 + len(body)) + body  # PERF_RECORD_COMM
        body = struct.pack("<IIQQQ", 100 + i, 100 + i, 0x1000, 0x1000, 0) + text
        events += struct.pack("<IHH", 1, 0, 8 + len(body)) + body  # PERF_RECORD_MMAP
    start = 104 + len(attribute) + 16
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, len(attribute) + 16, 104, len(attribute) + 16, start, len(events), 0, 0)
    open(path, "wb").write(head + bytes(32) + attribute + bytes(16) + events)


def write_profile(path, values):
    """profile.proto: main calls each name; its file has that name, too."""
    strings = ["", "cpu", "nanoseconds", "main"] + NAMES
    out = field(1, field(1, 1) + field(2, 2))
    for i, value in enumerate(values):
        out += field(2, field(1, varint(i + 2) + varint(1)) + field(2, varint(value)))
    for i in range(len(NAMES) + 1):
        out += field(4, field(1, i + 1) + field(4, field(1, i + 1) + field(2, 7)))
        out += field(5, field(1, i + 1) + field(2, i + 3) + field(4, i + 3))
    open(path, "wb").write(out + b"".join(field(6, text.encode()) for text in strings))


def run(*command):
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1, 3, 5):
        failures.append(f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode(errors='replace')[:300]}")
    return done


def shown(where, text):
    found = REFUSED.search(text)
    if found:
        failures.append(f"{where}: {found.group()!a} in {text[max(0, found.start() - 40):found.start() + 20]!a}")


def people(*command):
    done = run(*command)
    shown(" ".join(command), done.stdout.decode())
    shown(" ".join(command) + " (messages)", done.stderr.decode())
    return done.stdout.decode()


def strings_of(value):
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set().union(set(value), *map(strings_of, value.values()))
    return set().union(*map(strings_of, value)) if isinstance(value, list) else set()


def data(*command):
    """JSON: escaped in the bytes, whole in the strings."""
    done = run(*command)
    shown(" ".join(command), done.stdout.decode())
    text, strings = done.stdout.decode(), set()
    try:
        strings |= strings_of(json.loads(text))
    except json.JSONDecodeError:  # an object a line, or an array of such lines
        for line in text.split("\n"):
            if line.strip(" ,[]"):
                strings |= strings_of(json.loads(line.strip().rstrip(",").lstrip("[").rstrip("]") if line[0] != "{" else line))
    return strings


def choices(command, title):
    """The words that a section of a command's --help lists."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) ", text.split("\n" + title + ":\n")[1].split("\n\n")[0], re.M)


def expect(condition, what):
    if not condition:
        failures.append(what)


write_trace("names.fxt")
write_profile("base.pb", [1000000 * (i + 1) for i in range(len(NAMES))])
RUNS = [f"base{n}.pb" for n in range(6)] + ["--"] + [f"rise{n}.pb" for n in range(6)]  # the second name regresses
for n in range(6):
    write_profile(f"base{n}.pb", [1000000 * (i + 1) + 1000 * n for i in range(len(NAMES))])
    write_profile(f"rise{n}.pb", [1000000 * (i + 1) * (50 if i == 1 else 1) + 1000 * n for i in range(len(NAMES))])

write_perf_data("perf.data")

# ---- For people ----
for command in (["fxtdump", "names.fxt"], ["fxtdump", "perf.data"]):
    text = people(*command)
    expect("rlo\\u202eecapse" in text and "esc\\x1b[31mred" in text, f"{' '.join(command)} shows no names: {text[:300]}")
for name in ("names.fxt", "perf.data"):
    people("fxtdump", "--stats", name)
people("fxt2pprof", "--profile", "span", "--format", "top", "names.fxt")
for name in ("base.pb", "names.fxt"):
    run("fxtq", "import", "-q", name, "-o", name + ".fxtq")
for kind in ("sampler", "heap"):  # with these names in place of generated ones
    with open(kind + ".fxt", "wb") as out:
        subprocess.run([sys.argv[1], "--kind=" + kind, "--count=300", "--stacks=20"], stdout=out, check=True)
    run("fxtq", "import", "-q", kind + ".fxt", "-o", kind + ".fxtq")
    with sqlite3.connect(kind + ".fxtq") as store:
        for table in ("thread", "process", "module"):
            for (row,) in store.execute(f"SELECT id FROM {table}").fetchall():
                store.execute(f"UPDATE {table} SET name = ? WHERE id = ?", (NAMES[row % len(NAMES)], row))
# Every report, by everything that it has rows by, of every store.
WITHOUT_NAMES = {"damage"}
help_text = subprocess.run(["fxtq", "report", "--help"], capture_output=True, text=True, check=True).stdout
by_text = " ".join(help_text.split("group rows by WHAT.")[1].split("\n  -n,")[0].split())
by = {name: re.findall(r"[a-z]+", re.sub(r"\(\w+\)", "", words)) for names, words in re.findall(r"([a-z, ]+): ([a-z, ()]+)", by_text)
      for name in re.findall("[a-z]+", names)}
reports = choices(["fxtq", "report"], "Reports")
expect(set(by) < set(reports) and "function" in by["callees"] and "process" in by["top"], f"fxtq report --help: by {by} of {reports}")
shows = set()
for report in reports:
    for what in [[]] + [["--by", word] for word in by.get(report, [])]:
        for form in ([], ["--markdown"]):
            for store in ("base.pb", "names.fxt", "sampler", "heap"):
                pattern = ["main" if report == "callees" else "plain|red"] if report in ("callers", "callees") else []
                command = ["fxtq", "report", report, *pattern, *what, *form, *(["-n", "0"] if report != "timeline" else []), store + ".fxtq"]
                done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
                expect(done.returncode in (0, 2), f"{' '.join(command)}: status {done.returncode}")  # 2: by what this store has none of
                shown(" ".join(command), done.stdout.decode())
                shown(" ".join(command) + " (messages)", done.stderr.decode())
                if any(shape in done.stdout.decode() for shape in ("esc\\x1b", "csi\\x9b", "rlo\\u202e", "osc\\x1b", "bell\\x07")):
                    shows.add(report)
expect(shows == set(reports) - WITHOUT_NAMES, f"reports that show a name: {sorted(shows)} of {reports}")
everything = "SELECT name FROM slice UNION ALL SELECT name FROM thread UNION ALL SELECT name FROM process"
PEOPLE_FORMATS = {"table", "box", "markdown", "html"}
for form in sorted(PEOPLE_FORMATS):
    people("fxtq", "--format", form, "names.fxt.fxtq", everything)
people("fxtq", "flamegraph", "base.pb.fxtq", "-o", "page.html")
shown("flame graph", open("page.html").read())
people("fxtq", "flamegraph", "--diff", "base.pb.fxtq", "base.pb.fxtq", "--title", NAMES[0] + NAMES[2], "-o", "page.html")
shown("flame graph of two", open("page.html").read())
people("fxtq", "coverage", "base.pb.fxtq")
for form in ([], ["--markdown"], ["--github"], ["--junit", "-"], ["--sarif", "-"]):
    expect("x9b2Jgone" in people("fxtdiff", *form, *RUNS), f"fxtdiff {form} has no name")
for program in ("fxtdump", "fxt2pprof", "fxtq", "fxtdiff", "fxtsym", "fxtcat"):  # a name of a file, in a message
    done = subprocess.run([program, "no\x1b[2J\u202efile"] + (["x"] if program == "fxtdiff" else []), capture_output=True)
    shown(program + " (messages)", done.stderr.decode())
for command in (["cpu", "-o", "x.fxt", "--"], ["heap", "-o", "x.fxt", "--"], ["trace", "-o", "x.fxt", "--"], [], ["cpu", "-o"]):
    done = subprocess.run(["sampler-capture", *command, "./no\x1b[2J\u202efile"], capture_output=True)
    expect(done.returncode and done.stderr, f"sampler-capture {command}: status {done.returncode}")
    shown(f"sampler-capture {command} (messages)", done.stderr.decode())
with open("symbols.sym", "wb") as file:  # functions of a Breakpad file, for fxtsym
    file.write(b"MODULE Linux x86_64 0A0000000000000000000000000000000 app\nFILE 0 " + NAMES[2].encode() + b"\n")
    for i, name in enumerate(NAMES):
        file.write(f"FUNC {0x1000 + 16 * i:x} 10 0 {name}\n{0x1000 + 16 * i:x} 10 {i + 1} 0\n".encode())
addresses = [hex(0x1000 + 16 * i) for i in range(len(NAMES))]
# A part of a trace has the same names.
for command in (["recover"], ["cut", "--time", "+0s,"], ["merge"], ["compress"]):
    people("fxtcat", *command, "-o", "part.fxt", "names.fxt")
    expect(set(NAMES) <= data("fxtdump", "--json", "part.fxt"), f"fxtcat {command} lost names")

# ---- JSON ----
expect(set(NAMES) <= data("fxtdump", "--json", "names.fxt"), "fxtdump --json lost names")
for viewer in ("speedscope", "firefox"):  # one JSON of several lines
    written = run("fxt2pprof", "-q", "--profile", "span", "--format", viewer, "names.fxt").stdout.decode()
    shown(viewer, written)
    expect(set(NAMES) <= strings_of(json.loads(written)), f"{viewer} lost names")
for form in ("json", "jsonl"):
    expect(set(NAMES) <= data("fxtq", "--format", form, "names.fxt.fxtq", everything), f"fxtq {form} lost names")
expect(set(NAMES) <= data("fxtdump", "--json", "perf.data"), "fxtdump --json perf.data lost names")
expect(set(NAMES) <= data("fxtsym", "--json", "-e", "symbols.sym", *addresses), "fxtsym --json lost names")
# A comparison has names as it shows them: what it matches and what it prints are the same.
expect("csi\x9b2Jgone" in data("fxtdiff", "--json", *RUNS), "fxtdiff --json lost a name")
rows = data("fxtq", "report", "top", "-n", "0", "--json", "base.pb.fxtq")
expect(set(NAMES) <= rows, f"report top --json lost names: {rows}")

# ---- Text for programs: bytes in a pipe, escapes on a terminal ----
for command in (["fxt2pprof", "-q", "--profile", "span", "--format", "folded", "names.fxt"],
                ["fxtsym", "-f", "-e", "symbols.sym", *addresses],
                ["fxtdiff", "--folded", *RUNS], ["fxtq", "export", "-q", "folded", "base.pb.fxtq"], ["fxtq", "export", "-q", "csv", "base.pb.fxtq"],
                ["fxtq", "--format", "tsv", "names.fxt.fxtq", everything], ["fxtq", "--format", "csv", "names.fxt.fxtq", everything]):
    expect("rlo\u202eecapse".encode() in run(*command).stdout, f"{' '.join(command)}: names are changed in a pipe")
    on_terminal = terminal.run(200, *command)
    shown(" ".join(command) + " (terminal)", on_terminal.replace("\r", "").replace("\t", ""))
    expect("rlo\\u202eecapse" in on_terminal, f"{' '.join(command)}: no escape on a terminal: {on_terminal[:200]!a}")

# ---- Every format of --help is one of the above, or has bytes for programs alone ----
query_help = " ".join(subprocess.run(["fxtq", "--help"], capture_output=True, text=True, check=True).stdout.split())
known = PEOPLE_FORMATS | {"csv", "tsv", "json", "jsonl"}
listed = set(re.findall("[a-z]+", re.search("--format=FORMAT (.*?);", query_help)[1])) - {"or"}
expect(listed == known, f"fxtq --help lists the formats {sorted(listed)}, tested are {sorted(known)}")
listed = set(choices(["fxtq", "export"], "Formats"))
expect(listed == {"speedscope", "firefox", "folded", "csv", "pprof", "perfetto", "fxt"}, f"fxtq export --help lists {sorted(listed)}")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
