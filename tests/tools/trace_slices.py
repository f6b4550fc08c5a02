"""Slices of an FXT archive by the rules of Perfetto's importer: trace_slices.py TRACE prints "COUNT NAME" by name.

A record is as long as bits 4 to 15 of its header say; providers have tables of their own; what is no event is passed over.  Slices are complete durations,
begins, begins of async events, and instants.
"""
import struct
import sys
from collections import Counter

data = open(sys.argv[1], "rb").read()
assert data[:8] == bytes.fromhex("1000044678541600")
tables, provider, counts, at = {}, 0, Counter(), 0
while at < len(data):
    header, = struct.unpack_from("<Q", data, at)
    kind, words = header & 15, header >> 4 & (0xFFFFFFFF if header & 15 == 15 else 0xFFF)
    assert 0 < words <= (len(data) - at) // 8, at
    strings = tables.setdefault(provider, {})
    if kind == 0 and header >> 16 & 15 in (1, 2):
        provider = header >> 20 & 0xFFFFFFFF
    elif kind == 2:
        length = header >> 32 & 0x7FFF
        strings[header >> 16 & 0x7FFF] = data[at + 8:at + 8 + length]
    elif kind == 4 and header >> 16 & 15 in (0, 2, 4, 5, 6):
        place = at + 16 + (16 if header >> 24 & 255 == 0 else 0)
        for ref in header >> 32 & 0xFFFF, header >> 48:
            if ref & 0x8000:
                name = data[place:place + (ref & 0x7FFF)]
                place += (ref & 0x7FFF) + 7 & ~7
            else:
                name = strings[ref] if ref else b""
        counts[name] += 1
    at += 8 * words
for name in sorted(counts):
    print(counts[name], name.decode())
