#!/usr/bin/env python3
"""Compare records that fxtdump prints with those that quipper, Google's reader of perf.data, found in the same file.

    perf_quipper.py FILE.pb_text RECORDS.json

FILE.pb_text is quipper's protobuf as text (perf_data_converter, src/quipper/testdata), RECORDS.json the output of fxtdump --json.
Prints the number of equal records, or the first that only one of them has, and fails.

Quipper differs in three ways.  In some files it joins a mapping with the //anon mapping that Chrome puts over its end; here this is done
to both sides.  It sets the highest bit of some addresses in user stacks.  It has no period if that is the same for all samples.
"""
import collections
import json
import sys

UNKNOWN = 0xFFFFFFFF
TOP = 1 << 63


def parse(path):
    """Protobuf text as nested lists of (key, value)."""
    root = []
    stack = [root]
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in map(str.strip, file):
            if line.endswith("{"):
                stack[-1].append((line[:-1].strip(), []))
                stack.append(stack[-1][-1][1])
            elif line == "}":
                stack.pop()
            elif ": " in line:
                stack[-1].append(tuple(line.split(": ", 1)))
    return root


def number(members, key, absent=0):
    return int(members.get(key, absent))


def text(members, key):
    return members.get(key, '""')[1:-1]


def their_record(kind, members):
    first = {}
    for key, value in members:
        first.setdefault(key, value)
    thread = number(first, "pid"), number(first, "tid")
    if kind == "sample_event":
        chain = tuple(int(value) & ~TOP for key, value in members if key == "callchain")
        branches = sum(key == "branch_stack" for key, value in members)
        return ("SAMPLE", *thread, number(first, "sample_time_ns"), number(first, "ip"), chain, branches)
    if kind == "mmap_event":
        place = number(first, "start"), number(first, "len"), number(first, "pgoff")
        return ("MMAP", *thread, *place, text(first, "filename"))
    if kind == "comm_event":
        return ("COMM", *thread, text(first, "comm"))
    if kind in ("fork_event", "exit_event"):
        return (kind[:4].upper(), *thread, number(first, "ppid"), number(first, "ptid"))
    if kind == "lost_samples_event":
        return ("LOST_SAMPLES", number(first, "num_lost"))
    if kind in ("namespaces_event", "itrace_start_event"):
        return (kind[:-6].upper(), *thread)
    if kind == "context_switch_event":
        return ("SWITCH",)
    return (kind[:-6].upper(),)


def joined(records):
    """The records with each //anon mapping that begins at the end of the mapping before it, of the same process, as a part of that."""
    result = []
    last = {}  # of each process: where its last mapping is in result
    for record in records:
        if record[0] == "MMAP":
            at = last.get(record[1])
            if at is not None and record[6] == "//anon" and sum(result[at][3:5]) == record[3]:
                before = result[at]
                result[at] = (*before[:4], before[4] + record[4], *before[5:])
                continue
            last[record[1]] = len(result)
        result.append(record)
    return collections.Counter(result)


def theirs(path):
    records = []
    periods = collections.Counter()
    for key, event in parse(path):
        for kind, members in event if key == "events" else ():
            if kind == "header" or not isinstance(members, list):
                continue
            records.append(their_record(kind, members))
            periods.update(int(value) for name, value in members if kind == "sample_event" and name == "period")
    return joined(records), periods


def word(value):
    return int(value, 16) if isinstance(value, str) else value


def our_record(record):
    kind = record["type"]
    thread = record.get("pid", UNKNOWN), record.get("tid", UNKNOWN)
    if kind == "SAMPLE":
        thread = tuple(0 if id == UNKNOWN else id for id in thread)
        chain = tuple(word(address) & ~TOP for address in record["chain"])
        return ("SAMPLE", *thread, int(record.get("ts_ns", 0)), word(record.get("ip", 0)), chain, record.get("branches", 0))
    if kind in ("MMAP", "MMAP2"):
        place = tuple(word(record[key]) for key in ("start", "length", "file_offset"))
        return ("MMAP", *thread, *place, record["name"])
    if kind == "COMM":
        return ("COMM", *thread, record["name"])
    if kind in ("FORK", "EXIT"):
        return (kind, *thread, record["parent_pid"], record["parent_tid"])
    if kind == "LOST_SAMPLES":
        return (kind, record["count"])
    if kind in ("NAMESPACES", "ITRACE_START"):
        return (kind, *thread)
    if kind in ("SWITCH", "SWITCH_CPU_WIDE"):
        return ("SWITCH",)
    return ("THROTTLE" if kind == "UNTHROTTLE" else kind,)


# Not in quipper's list of events.
PASSED = ("FINISHED_ROUND", "FINISHED_INIT", "ATTR", "EVENT_TYPE", "FEATURE", "CPU_MAP", "EVENT_UPDATE", "TRACING_DATA", "BUILD_ID", "ID_INDEX", "BPF_EVENT")


def ours(path):
    records = []
    periods = collections.Counter()
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        fields = json.loads(line)
        if fields["type"] in PASSED:
            continue
        record = our_record(fields)
        if record[0] == "SAMPLE" and "period" in fields:
            periods[int(fields["period"])] += 1
        records.append(record)
    return joined(records), periods


their_records, their_periods = theirs(sys.argv[1])
our_records, our_periods = ours(sys.argv[2])
if their_periods and len(their_periods) > 1 and their_periods != our_periods:
    sys.exit(f"periods differ: {their_periods - our_periods} or {our_periods - their_periods}")
for name, more in (("quipper", their_records - our_records), ("fxtdump", our_records - their_records)):
    for record in more:
        sys.exit(f"{sum(more.values())} records only of {name}, such as {record}")
print(sum(our_records.values()))
