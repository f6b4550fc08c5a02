"""Names from files, through every program and report: nothing that drives a terminal, turns a line around or breaks it reaches a
person, JSON keeps the data, and text for other programs keeps names as they are in files and pipes.

    hostile_names.py        in an empty folder, with the programs in PATH
"""
import json
import os
import re
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
    strings = set()
    for line in done.stdout.decode().split("\n"):
        if line.strip(" ,[]"):
            strings |= strings_of(json.loads(line.strip().rstrip(",").lstrip("[").rstrip("]") if line[0] != "{" else line))
    return strings


def expect(condition, what):
    if not condition:
        failures.append(what)


write_trace("names.fxt")
write_profile("base.pb", [1000000 * (i + 1) for i in range(len(NAMES))])
write_profile("rise.pb", [1000000 * (i + 1) * (50 if i == 1 else 1) for i in range(len(NAMES))])

# ---- For people ----
people("fxtdump", "names.fxt")
people("fxtdump", "--stats", "names.fxt")
people("fxt2pprof", "--profile", "span", "--format", "top", "names.fxt")
for name in ("base.pb", "names.fxt"):
    run("fxtq", "import", "-q", name, "-o", name + ".fxtq")
top = people("fxtq", "report", "top", "-n", "0", "base.pb.fxtq")
expect("esc\\x1b[31mred" in top and "csi\\x9b2Jgone" in top and "rlo\\u202eecapse" in top, f"report top: {top}")
for report in (["tree"], ["callers", "plain"], ["callees", "main"], ["top", "--by", "process"], ["top", "--markdown"]):
    people("fxtq", "report", report[0], *report[1:], "base.pb.fxtq")
for report in (["threads"], ["slices"], ["timeline"], ["damage"], ["cpu"], ["top"]):
    people("fxtq", "report", *report, "names.fxt.fxtq")
everything = "SELECT name FROM slice UNION ALL SELECT name FROM thread UNION ALL SELECT name FROM process"
for form in ("table", "box", "markdown", "html"):
    people("fxtq", "--format", form, "names.fxt.fxtq", everything)
people("fxtq", "flamegraph", "base.pb.fxtq", "-o", "page.html")
shown("flame graph", open("page.html").read())
people("fxtq", "coverage", "base.pb.fxtq")
for form in ([], ["--markdown"], ["--github"], ["--junit", "-"], ["--sarif", "-"]):
    people("fxtdiff", *form, "base.pb", "rise.pb")
for program in ("fxtdump", "fxt2pprof", "fxtq", "fxtdiff", "fxtsym", "fxtcat"):  # a name of a file, in a message
    done = subprocess.run([program, "no\x1b[2J\u202efile"] + (["x"] if program == "fxtdiff" else []), capture_output=True)
    shown(program + " (messages)", done.stderr.decode())

# ---- JSON ----
expect(set(NAMES) <= data("fxtdump", "--json", "names.fxt"), "fxtdump --json lost names")
for viewer in ("speedscope", "firefox"):  # one JSON of several lines
    written = run("fxt2pprof", "-q", "--profile", "span", "--format", viewer, "names.fxt").stdout.decode()
    shown(viewer, written)
    expect(set(NAMES) <= strings_of(json.loads(written)), f"{viewer} lost names")
expect(set(NAMES) <= data("fxtq", "--format", "jsonl", "names.fxt.fxtq", everything), "fxtq jsonl lost names")
rows = data("fxtq", "report", "top", "-n", "0", "--json", "base.pb.fxtq")
expect(set(NAMES) <= rows, f"report top --json lost names: {rows}")

# ---- Text for programs: bytes in a pipe, escapes on a terminal ----
for command in (["fxt2pprof", "-q", "--profile", "span", "--format", "folded", "names.fxt"],
                ["fxtq", "export", "-q", "folded", "base.pb.fxtq"], ["fxtq", "export", "-q", "csv", "base.pb.fxtq"],
                ["fxtq", "--format", "tsv", "names.fxt.fxtq", everything], ["fxtq", "--format", "csv", "names.fxt.fxtq", everything]):
    expect("rlo\u202eecapse".encode() in run(*command).stdout, f"{' '.join(command)}: names are changed in a pipe")
    on_terminal = terminal.run(200, *command)
    shown(" ".join(command) + " (terminal)", on_terminal.replace("\r", "").replace("\t", ""))
    expect("rlo\\u202eecapse" in on_terminal, f"{' '.join(command)}: no escape on a terminal: {on_terminal[:200]!a}")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
