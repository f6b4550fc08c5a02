#!/usr/bin/env python3
"""Compare the calls that libinsn sees in magic-trace's branch logs with the spans magic-trace makes.

    insn_branches.py [-v] [-n] FOLDER NAME[:MADE][=TEST]...

FOLDER is the folder test of magic-trace; NAME.perf there is a log of branches as perf prints them,
NAME.ml (or MADE.ml, of which TEST is one test) what magic-trace makes of it.  Both become trees of
functions in the order of their begins.  Prints, for each NAME, how many spans are expected, how many
there are, how many are equal (same function, same depth, same place in the order) and how many of
those begin more than a microsecond apart.

    -v  also print what differs
    -n  compare functions only, not their depths
"""
import difflib
import os
import re
import subprocess
import sys

CLASSES = {"jcc": 1, "jmp": 3, "call": 4, "return": 6, "syscall": 7, "sysret": 7, "iret": 7, "int": 7}
LINE = re.compile(r"^\s*(\d+)/(\d+)\s+(\d+)\.(\d+):\s+1\s+branches:\S*\s+(.*?)\s+([0-9a-f]+) (.*?) "
                  r"\((.*?)\) =>\s+([0-9a-f]+) (.*?) \((.*?)\)\s*$")
ERROR = re.compile(r"^\s*instruction trace error type \d+ time (\d+)\.(\d+)")


def split_symbol(text):
    name, _, offset = text.rpartition("+0x")
    return (name, int(offset, 16)) if name else (text, 0)


def read_log(path):
    """(time, flags, from, to) of each line; and functions: start -> [name, end]."""
    lines, functions = [], {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            match = LINE.match(text)
            error = ERROR.match(text)
            if error:
                lines.append((int(error.group(1)) * 10**9 + int(error.group(2)), "error", 0, 0))
            if not match:
                continue
            time = int(match.group(3)) * 10**9 + int(match.group(4))
            source, target = int(match.group(6), 16), int(match.group(9), 16)
            for address, symbol in ((source, match.group(7)), (target, match.group(10))):
                name, offset = split_symbol(symbol)
                if name != "[unknown]":
                    known = functions.setdefault(address - offset, [name, 0])
                    known[1] = max(known[1], address + 1)
            lines.append((time, match.group(5), source, target))
    return lines, functions


def steps_of(lines):
    """What a decoder would have delivered."""
    targets = {target for _, flags, _, target in lines if flags == "return"}
    at = None
    for time, flags, source, target in lines:
        if flags == "error":
            if at is not None:
                yield "block %x %x %x 0 0" % (time, at, at)
            yield "overflow %x" % time
            at = None
            continue
        words = flags.split()
        if words[:2] == ["tr", "strt"]:
            yield "enabled %x %x" % (time, target)
            at = target
            continue
        kind = words[-1] if words[:2] != ["tr", "end"] or len(words) > 2 else "stop"
        if kind == "stop":
            if source and at not in (None, source):
                yield "block %x %x %x 0 0" % (time, at, at)
            if source:
                yield "stopped %x %x" % (time, source)
            else:
                yield "disabled %x" % time
            at = None
            continue
        length = next((n for n in range(2, 9) if source + n in targets), 5)
        yield "block %x %x %x %x %x" % (time, at if at is not None else source, source,
                                        CLASSES.get(kind, 3), length if kind == "call" else 2)
        at = target
        if words[:2] == ["tr", "end"]:
            yield "disabled %x" % time
            at = None
    if at is not None:
        yield "block %x %x %x 0 0" % (lines[-1][0], at, at)


def own_spans(lines, functions):
    text = ["function %x %x %x" % (start, end, number + 1)
            for number, (start, (_, end)) in enumerate(sorted(functions.items()))]
    text += steps_of(lines)
    out = subprocess.run(["insn_branches"], input="\n".join(text) + "\n", check=True,
                         capture_output=True, text=True).stdout
    spans = []
    for line in out.splitlines():
        words = line.split()
        if words[0] != "span":
            continue
        begin, end, order, entry, _cut = map(int, words[1:6])
        name = name_of(functions, int(words[6], 16)) if entry != UNTRACED else "[untraced]"
        spans.append((begin - lines[0][0], order, len(spans), name, end - lines[0][0]))
    return nest(sorted(spans))


def name_of(functions, address):
    inside = [start for start, (_, end) in functions.items() if start <= address < end]
    return functions[max(inside)][0] if inside else "?"


def nest(spans):
    """Spans in the order of their begins; callers end after their callees."""
    stack, out = [], []
    for begin, _, ended, name, end in spans:
        while stack and stack[-1] < ended:
            stack.pop()
        out.append((len(stack), name, begin, end))
        stack.append(ended)
    return out


def read_events(path, test):
    """The events of one expect test, without those of errors, by stretches between errors."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index('"%s"' % test):] if test else text
    text = text[text.index("{|"):text.index("|}")]
    stretches = [[]]
    for line in text.splitlines():
        match = EVENT.match(line)
        if not match:
            continue
        name = match.group(4)
        if name.startswith("[decode error"):
            stretches += [[]] if match.group(3) == "BEGIN" else []
            continue
        time = round(float(match.group(1)) * UNITS[match.group(2)])
        stretches[-1].append((time, match.group(3), name))
    return stretches


def in_order(stretch):
    """Begins that were only known later are printed later: they come first."""
    late, rest, now = [], [], 0
    for event in stretch:
        if event[0] < now and event[1] == "BEGIN":
            late.append(event)
        else:
            rest.append(event)
            now = max(now, event[0])
    return late + rest


def expected_spans(path, test):
    stretches = read_events(path, test)
    # After an error its frames are ended: those lines are printed behind the error's.
    for i in range(1, len(stretches)):
        stack, moved = 0, 0
        for event in stretches[i]:
            stack += 1 if event[1] == "BEGIN" else -1
            moved += 1
            if stack <= 0 and moved < len(stretches[i]) and stretches[i][moved][1] == "BEGIN" \
                    and stretches[i][moved][0] > event[0]:
                break
        stretches[i - 1] += stretches[i][:moved]
        stretches[i] = stretches[i][moved:]
    out = []
    for stretch in stretches:
        stack = []
        for time, kind, name in in_order(stretch):
            if kind == "BEGIN":
                stack.append(len(out))
                out.append([len(stack) - 1, name, time, None])
            elif stack:
                out[stack.pop()][3] = time
    return [tuple(span) for span in out]


def show(prefix, span):
    print("  %s %8d %s%s" % (prefix, span[2], "  " * span[0], span[1]))


def compare(folder, name, test, options):
    expected = expected_spans(os.path.join(folder, name.split(":")[-1] + ".ml"), test)
    own = own_spans(*read_log(os.path.join(folder, name.split(":")[0] + ".perf")))
    verbose = "-v" in options
    keys = [[(0 if "-n" in options else depth, plain(text)) for depth, text, _, _ in spans]
            for spans in (expected, own)]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=False)
    equal = late = 0
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            equal += b - a
            late += sum(abs(expected[a + i][2] - own[c + i][2]) > 1000 for i in range(b - a))
            continue
        for span in expected[a:b] if verbose else []:
            show("-", span)
        for span in own[c:d] if verbose else []:
            show("+", span)
    print("expected=%d own=%d equal=%d late=%d" % (len(expected), len(own), equal, late))


def plain(name):
    return "[untraced]" if name in ("[syscall]", "[untraced]") else name


UNTRACED = 5
UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}
EVENT = re.compile(
    r"^\s*->\s+(?:([0-9.]+)([mun]?s))?\s*(BEGIN|END)\s+(.*?)(?: \[inferred start time\])?\s*$")


def main():
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    for word in words[1:]:
        name, _, test = word.partition("=")
        compare(words[0], name, test, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
