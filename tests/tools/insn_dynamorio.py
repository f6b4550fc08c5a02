"""A perf.data file of a trace that a real processor wrote.

    insn_dynamorio.py DIR PROGRAM >perf.data

DIR is DynamoRIO's clients/drcachesim/drpt2trace/test_simple.raw, with the packets and the kernel's records of one run of
PROGRAM, which is DIR/hello.  Their test lists the numbers below as its options."""
import os
import struct
import sys

folder, program = sys.argv[1:3]
PMU, SAMPLE_TYPE, IDS = 8, 0x10086, (0x371, 0x365)
CONFIG = 0x400 | 0x2000 | 0x200 | 3 << 14  # TSC, branches, MTC packets
CLOCK = (31, 581029125, 18444502336406842448)
RATIO, NOMINAL = (308, 2), 37


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def read(name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def attribute(kind, config, identifier):
    flags = 1 << 18  # sample_id_all
    body = struct.pack("<IIQQQQQ", kind, 120, config, 1, SAMPLE_TYPE, 0, flags)
    return record(64, body.ljust(120, b"\0") + struct.pack("<Q", identifier))


def sideband(name):
    """The records with their times; the program is where it is now."""
    data = read(name)
    while data:
        kind, misc, size = struct.unpack_from("<IHH", data)
        body, data = data[8:size], data[size:]
        identification = body[-32:]
        if kind == 10 and body[64:].startswith(b"/hello\0"):
            path = program.encode() + b"\0"
            body = body[:64] + path.ljust((len(path) + 7) // 8 * 8, b"\0") + identification
        yield struct.unpack_from("<Q", identification, 8)[0], record(kind, body, misc)


packets = read("pt.bin")
cpu = 9  # where the program ran, as its records say
words = (PMU, *CLOCK, 1, 0x400, 0x800, 2, 0, 1, 0x200, 0x3C000, *RATIO, 2, NOMINAL, 0)
cpuid = b"GenuineIntel,6,85,4\0"
out = sys.stdout.buffer
out.write(b"PERFILE2" + struct.pack("<Q", 16))
out.write(attribute(PMU, CONFIG, IDS[0]) + attribute(1, 9, IDS[1]))
out.write(record(80, struct.pack("<QI", 9, 64) + cpuid.ljust(64, b"\0")))
out.write(record(70, struct.pack("<II17Q", 1, 0, *words)))
out.write(record(71, struct.pack("<QQQIIII", len(packets), 0, 1, 0, 0xFFFFFFFF, cpu, 0)) + packets)
for _, bytes_ in sorted([*sideband("primary.sideband.pevent"), *sideband("secondary.sideband.pevent")], key=lambda item: item[0]):
    out.write(bytes_)
