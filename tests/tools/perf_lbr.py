#!/usr/bin/env python3
"""Write a perf.data file as `perf record --call-graph lbr` leaves it: samples whose callers are in a stack of calls that the processor
keeps, not in a walk of the user's stack.

    perf_lbr.py OBJECT [any] >perf.data

any: of all branches, as `perf record -b` asks for them, so that they are no stack.  OBJECT has the functions first, second, third and main, and code that can be mapped at any address.
"""

import struct
import subprocess
import sys

LOADED_AT = 0x555555554000
KERNEL, USER = 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFFFE00  # PERF_CONTEXT_*
IN_KERNEL = [0xFFFFFFFF81000100, 0xFFFFFFFF81000200]
PID = 1000


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def functions(path):
    found = {}
    for line in lines("nm", path):
        words = line.split()
        if len(words) == 3 and words[1] in "tT":
            found[words[2]] = LOADED_AT + int(words[0], 16)
    return found


def code(path):
    """Offset, address and size of the segment with code."""
    for line in lines("readelf", "-lW", path):
        words = line.split()
        if words and words[0] == "LOAD" and "E" in words[6:-1]:
            return int(words[1], 16), int(words[2], 16), int(words[4], 16)
    raise SystemExit(f"{path} has no code")


def text(name):
    data = name.encode() + b"\0"
    return data + b"\0" * (-len(data) % 8)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def identification(time):
    return struct.pack("<IIQ", PID, PID, time)


def sample(time, chain, calls, misc):
    ip = next(word for word in chain if word < 0xFFFFFFFFFFFFF000)
    body = struct.pack("<QIIQQ", ip, PID, PID, time, 1000000)
    body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
    body += struct.pack("<Q", len(calls))
    for caller, callee in calls:
        body += struct.pack("<QQQ", caller, callee, 0)
    return record(9, misc, body)


def main():
    path = sys.argv[1]
    branches = 1 << 3 if "any" in sys.argv[2:] else 1 << 11  # of users: any, or as a call stack
    names = functions(path)
    offset, address, size = code(path)
    page = offset & ~0xFFF
    first, second, third, top = (names[name] for name in ("first", "second", "third", "main"))
    # The latest call first: who called, and what.
    calls = [(second + 5, first), (third + 5, second), (top + 5, third)]
    user, kernel = [USER, first + 4], [KERNEL, *IN_KERNEL]
    records = [
        record(3, 1 << 13, struct.pack("<II", PID, PID) + text("program") + identification(1)),
        record(
            10,
            2,
            struct.pack("<IIQQQIIQQII", PID, PID, LOADED_AT + address - (offset - page), size + 0x1000, page, 8, 1, 1, 0, 5, 2)
            + text(path)
            + identification(2),
        ),
        sample(100, user, calls, 2),
        # The walk of the user's stack found another caller: the processor knows better.
        sample(101, [*user, top + 9], calls, 2),
        sample(102, kernel + user, calls[1:], 1),
        # Of a thread of the kernel: what the processor remembers is not of it.
        sample(103, kernel, calls, 1),
        sample(104, user, [(second + 5, first)], 2),
    ]
    data = b"".join(records)
    sample_type = 1 | 2 | 4 | 0x20 | 0x100 | 0x800  # IP, TID, TIME, CALLCHAIN, PERIOD, BRANCH_STACK
    flags = 1 << 8 | 1 << 9 | 1 << 10 | 1 << 13 | 1 << 18 | 1 << 23
    attribute = struct.pack("<IIQQQQQ", 1, 112, 0, 1000, sample_type, 0, flags)
    attribute += struct.pack("<IIQQQQIIQII", 0, 0, 0, 0, 1 | branches, 0, 0, 0, 0, 0, 0)
    attribute += struct.pack("<QQ", 0, 0)
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, 104, 128, 232, len(data), 0, 0) + bytes(32)
    sys.stdout.buffer.write(header + attribute + data)


main()
