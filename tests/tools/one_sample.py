#!/usr/bin/env python3
"""one_sample.py NAME BUILD-ID VADDR: a trace of one CPU sample at VADDR (hex) of a module, as Fuchsia's CPU profiler writes it.

NAME is the module's (a path, or "[kernel]"), BUILD-ID hex digits or "".  A module with an address from 2^63 on is the kernel's,
which is mapped where it was linked and belongs to process 0; any other is mapped at 0x10000."""
import struct
import sys

name, build_id, vaddr = sys.argv[1].encode(), bytes.fromhex(sys.argv[2]), int(sys.argv[3], 16)
PID, TID, KERNEL = 77, 78, 0xffffffff80000000
# Where the module is mapped, how much of it, from which vaddr on, and in which process.
start, size, first, owner = (KERNEL, 0x40000000, KERNEL, 0) if vaddr >= 1 << 63 else (0x10000, 1 << 40, 0, PID)


def padded(data):
    return data + bytes(-len(data) % 8)


def record(header, *parts):
    body = b"".join(part if isinstance(part, bytes) else struct.pack("<Q", part) for part in parts)
    return struct.pack("<Q", header | (len(body) // 8 + 1) << 4) + body


sys.stdout.buffer.write(
    bytes.fromhex("1000044678541600") + struct.pack("<QQ", 0x21, 10**9)
    + record(10 | 2 << 16 | 1 << 28, 4400, PID, TID, start + vaddr - first)
    + record(10 | len(name) << 44 | len(build_id) << 52, 4400, owner, 0, padded(name), padded(build_id))
    + record(10 | 1 << 16 | 5 << 44, 4400, owner, 0, start, size, first))
