#!/usr/bin/env python3
"""trace.py OBJECT COPIES: a trace of the copies of stacks that record.c has written, as Fuchsia's CPU profiler writes it.

COPIES has, for each sample, a word with the size of the copy and the copy.  Names come first, and the module last.

--guest: one sample of a thread that runs guest code in restricted mode.  The first copy is what the thread does in normal mode;
the registers of the fifth are its restricted state (zircon/syscalls-next.h), and the stack of the fifth, elsewhere, the guest's."""
import struct
import sys

guest = sys.argv[1] == "--guest"
elf_path, copies_path = sys.argv[1 + guest:]
elf, copies = open(elf_path, "rb").read(), open(copies_path, "rb").read()
PID, TID, TICKS = 77, 78, 4400
ELSEWHERE = 1 << 24
PT_LOAD, PT_NOTE, NT_GNU_BUILD_ID = 1, 4, 3


def padded(data):
    return data + bytes(-len(data) % 8)


def body(parts):
    return b"".join(part if isinstance(part, bytes) else struct.pack("<Q", part) for part in parts)


def record(header, *parts):
    data = body(parts)
    return struct.pack("<Q", header | (len(data) // 8 + 1) << 4) + data


def inline(text):
    return 0x8000 | len(text)


def large_blob(payload):
    category, name = b"cpu_profiler", b"stack_sample"
    data = body([inline(category) | inline(name) << 16, padded(category), padded(name), TICKS, PID, TID, len(payload),
                 padded(payload)])
    return struct.pack("<Q", 15 | (len(data) // 8 + 1) << 4) + data


def name_of(kind, koid, text):
    return record(7 | kind << 16 | inline(text) << 24, koid, padded(text))


def restricted(registers):
    """Zircon's general registers in the order of the restricted state, with the guest's stack pointer."""
    words = list(struct.unpack("<%dQ" % (len(registers) // 8), registers))
    words[{20: 7, 35: 31, 32: 2}[len(words)]] += ELSEWHERE
    if len(words) == 20:
        words = [words[i] for i in (5, 4, 6, 1, 3, 2, 0)] + words[7:]
    elif len(words) == 35:
        words[33:] = [words[34], words[33]]
    return struct.pack("<%dQ" % len(words), *words)


def split(copy):
    size = struct.unpack_from("<Q", copy)[0]
    return copy[8:8 + size], copy[8 + size:]


def in_restricted_mode(normal, other):
    registers, chunks = split(normal)
    state, stack = split(other)
    state, stack = restricted(state), struct.pack("<Q", struct.unpack_from("<Q", stack)[0] + ELSEWHERE) + stack[8:]
    return struct.pack("<Q", len(registers)) + registers + chunks + struct.pack("<QQ", 0x5000, len(state)) + state + stack


found, at = [], 0
while at < len(copies):
    size = struct.unpack_from("<Q", copies, at)[0]
    found.append(copies[at + 8:at + 8 + size])
    at += 8 + size
if guest:
    found = [in_restricted_mode(found[0], found[4])]

offset, = struct.unpack_from("<Q", elf, 32)
size, count = struct.unpack_from("<HH", elf, 54)
segments = [struct.unpack_from("<IIQQQQQ", elf, offset + size * i) for i in range(count)]
build_id = b""
for kind, _, start, _, _, length, _ in segments:
    while kind == PT_NOTE and length >= 12:
        name_size, desc_size, note = struct.unpack_from("<III", elf, start)
        end = start + 12 + (name_size + 3 & ~3)
        if note == NT_GNU_BUILD_ID:
            build_id = elf[end:end + desc_size]
        length -= end + (desc_size + 3 & ~3) - start
        start = end + (desc_size + 3 & ~3)
name = b"record"
sys.stdout.buffer.write(
    bytes.fromhex("1000044678541600") + struct.pack("<QQ", 0x21, 10**9)
    + name_of(1, PID, b"record") + name_of(2, TID, b"thread")
    + b"".join(large_blob(copy) for copy in found)
    + record(10 | len(name) << 44 | len(build_id) << 52, TICKS, PID, 0, padded(name), padded(build_id))
    + b"".join(record(10 | 1 << 16 | flags << 44, TICKS, PID, 0, vaddr, memory, vaddr)
               for kind, flags, _, vaddr, _, _, memory in segments if kind == PT_LOAD))
