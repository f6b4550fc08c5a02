#!/usr/bin/env python3
"""Write a perf.data file as Android's simpleperf leaves it: with the functions of the mapped files, which only the device has.

    perf_simpleperf.py FORM >perf.data

FORM is file (feature FILE), file2 (feature FILE2), init (FILE2, and the mappings in feature INIT_MAP), or cut (FILE, whose last symbol goes
on after its end).
"""

import struct
import sys

PID = 1000
LIBRARY, KERNEL = "/system/lib64/libnone.so", "[kernel.kallsyms]"
MAPPED_AT, OFFSET, MIN_VADDR, MIN_OFFSET = 0x7000000000, 0x2000, 0x11000, 0x1000
AGAIN_AT = 0x7100000000
KERNEL_AT = 0xFFFFFFFF81000000
IN_KERNEL, IN_USER = 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFFFE00  # PERF_CONTEXT_*
KERNEL_TYPE, ELF_TYPE = 0, 2


def text(name):
    data = name.encode() + b"\0"
    return data + b"\0" * (-len(data) % 8)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def identification(time):
    return struct.pack("<IIQ", PID, PID, time)


def mapping(pid, start, size, offset, name, misc):
    return record(1, misc, struct.pack("<IIQQQ", pid, pid, start, size, offset) + text(name) + identification(0))


def sample(time, chain, misc):
    ip = next(word for word in chain if word < 0xFFFFFFFFFFFFF000)
    body = struct.pack("<QIIQQ", ip, PID, PID, time, 1000000)
    return record(9, misc, body + struct.pack(f"<Q{len(chain)}Q", len(chain), *chain))


def address(vaddr):
    """Where the library's code of that vaddr is mapped."""
    return MAPPED_AT + vaddr - MIN_VADDR + MIN_OFFSET - OFFSET


FILES = [
    (KERNEL, KERNEL_TYPE, 0, None, [(KERNEL_AT + 0x100, 0x80, "do_work")]),
    # The last one is before what is mapped.
    (
        LIBRARY,
        ELF_TYPE,
        MIN_VADDR,
        MIN_OFFSET,
        [(0x12800, 0x40, "leaf"), (0x12000, 0x100, "_ZN3app4loopEi"), (0x12200, 0, "empty"), (0x11000, 0x100, "before")],
    ),
    ("/data/unused", 5, 0, None, []),
]


def structure(path, kind, min_vaddr, min_offset, symbols):
    body = path.encode() + b"\0" + struct.pack("<IQI", kind, min_vaddr, len(symbols))
    for vaddr, length, name in symbols:
        body += struct.pack("<QI", vaddr, length) + name.encode() + b"\0"
    if min_offset is not None:
        body += struct.pack("<Q", min_offset)
    return struct.pack("<I", len(body)) + body


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def within(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def message(path, kind, min_vaddr, min_offset, symbols):
    body = within(1, path.encode()) + number(2, kind) + number(3, min_vaddr)
    for vaddr, length, name in symbols:
        body += within(4, number(1, vaddr) + number(2, length) + within(3, name.encode()))
    if min_offset is not None:
        body += within(6, number(1, min_offset))
    body += number(100, 7) + varint(101 << 3 | 1) + bytes(8)  # of later versions
    return struct.pack("<I", len(body)) + body


def main():
    form = sys.argv[1]
    maps = mapping(0xFFFFFFFF, KERNEL_AT, 0x1000000, 0, KERNEL, 1) + mapping(PID, MAPPED_AT, 0x10000, OFFSET, LIBRARY, 2)
    maps += mapping(PID, AGAIN_AT, 0x1000, 0x2810, LIBRARY, 2)  # from the middle of leaf() on
    records = record(3, 0, struct.pack("<II", PID, PID) + text("app") + identification(1))
    records += b"" if form == "init" else maps
    # Return addresses are behind calls: the end of a function is its own.
    records += sample(100, [IN_USER, address(0x12810), address(0x12100)], 2)
    records += sample(101, [IN_KERNEL, KERNEL_AT + 0x110, IN_USER, address(0x12808), address(0x12050)], 1)
    records += sample(102, [IN_USER, address(0x12300)], 2)
    records += sample(103, [IN_USER, AGAIN_AT + 8], 2)
    features = {128: b"".join(structure(*file) for file in FILES)} if form in ("file", "cut") else {132: b"".join(message(*file) for file in FILES)}
    features[129] = b"simpleperf_version\0test\0event_type_info\0cpu-clock,1,0\0"
    if form == "init":
        features[134] = maps
    if form == "cut":
        whole = b"".join(structure(*file) for file in FILES[:2])
        features[128] = whole + struct.pack("<I", 21) + b"/cut\0" + struct.pack("<IQI", 2, 0, 1000)
    attribute = struct.pack("<IIQQQQQ", 1, 112, 0, 1000000, 1 | 2 | 4 | 0x20 | 0x100, 0, 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18) + bytes(64) + bytes(16)
    bits = bytearray(32)
    for feature in features:
        bits[feature // 8] |= 1 << feature % 8
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, 104, 128, 232, len(records), 0, 0) + bytes(bits)
    at = 232 + len(records) + 16 * len(features)
    table = b""
    for feature in sorted(features):
        table += struct.pack("<QQ", at, len(features[feature]))
        at += len(features[feature])
    sys.stdout.buffer.write(header + attribute + records + table + b"".join(features[feature] for feature in sorted(features)))


main()
