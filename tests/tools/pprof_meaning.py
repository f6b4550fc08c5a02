#!/usr/bin/env python3
"""What a pprof profile means, as text in which nothing depends on how strings and functions are numbered.

pprof_meaning.py PROFILE: a decoder of its own, of the wire format alone.  Locations and mappings go by their
places, functions stand in the lines that have them.
pprof_meaning.py PROFILE stacks: sums by process and stack alone, sorted."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value = data[at:at + length]
            assert len(value) == length, "cut"
            at += length
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            value, at = data[at:at + 4], at + 4
        yield tag >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def message(data):
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def one(found, number):
    return found.get(number, [0])[-1]


def numbers(found, number):
    values = []
    for value in found.get(number, []):
        if isinstance(value, int):
            values.append(value)
        else:
            at = 0
            while at < len(value):
                item, at = varint(value, at)
                values.append(item)
    return values


with open(sys.argv[1], "rb") as file:
    data = file.read()
if data[:2] == b"\x1f\x8b":
    data = gzip.decompress(data)
profile = message(data)
strings = profile[6]


def text(index):
    return repr(strings[index])


def stacks():
    functions = {one(f, 1): text(one(f, 2)) for f in map(message, profile.get(5, []))}
    frames = {}
    for location in map(message, profile.get(4, [])):
        lines = [functions[one(line, 1)] + ":%d" % one(line, 2) for line in map(message, location.get(4, []))]
        frames[one(location, 1)] = ",".join(lines) or "%x" % one(location, 3)
    sums = {}
    for sample in map(message, profile.get(2, [])):
        labels = {strings[one(label, 1)]: one(label, 3) for label in map(message, sample.get(3, []))}
        key = "%s %s" % (labels.get(b"pid"), ";".join(frames[i] for i in numbers(sample, 1)))
        sums[key] = [a + signed(b) for a, b in zip(sums.get(key, [0] * 99), numbers(sample, 2))]
    for key in sorted(sums):
        print(key, sums[key])


if sys.argv[2:]:
    stacks()
    sys.exit()
for kind in profile.get(1, []):
    kind = message(kind)
    print("type", text(one(kind, 1)), text(one(kind, 2)))
print("drop", text(one(profile, 7)), "keep", text(one(profile, 8)), "time", signed(one(profile, 9)), "duration", signed(one(profile, 10)))
if 11 in profile:
    kind = message(profile[11][-1])
    print("period type", text(one(kind, 1)), text(one(kind, 2)))
print("period", signed(one(profile, 12)), "default", text(one(profile, 14)), "url", text(one(profile, 15)))
for comment in numbers(profile, 13):
    print("comment", text(comment))

mappings = {0: 0}
for place, mapping in enumerate(profile.get(3, []), 1):
    mapping = message(mapping)
    mappings[one(mapping, 1)] = place
    print("mapping", *(one(mapping, i) for i in (1, 2, 3, 4)), text(one(mapping, 5)), text(one(mapping, 6)), *(one(mapping, i) for i in (7, 8, 9, 10)))
functions = {}
for function in profile.get(5, []):
    function = message(function)
    functions[one(function, 1)] = " ".join([text(one(function, 2)), text(one(function, 3)), text(one(function, 4)), str(signed(one(function, 5)))])
locations = {}
for place, location in enumerate(profile.get(4, []), 1):
    location = message(location)
    locations[one(location, 1)] = place
    print("location", one(location, 1), "in", mappings[one(location, 2)], "at", one(location, 3), one(location, 5))
    for line in location.get(4, []):
        line = message(line)
        print("   line", functions[one(line, 1)], signed(one(line, 2)), signed(one(line, 3)))
for sample in profile.get(2, []):
    sample = message(sample)
    print("sample", [locations[i] for i in numbers(sample, 1)], [signed(i) for i in numbers(sample, 2)])
    for label in sample.get(3, []):
        label = message(label)
        print("   label", text(one(label, 1)), text(one(label, 2)), signed(one(label, 3)), text(one(label, 4)))
