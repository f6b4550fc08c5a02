#!/usr/bin/env python3
"""viewer_totals.py FORMAT FILE: what a viewer would add up, from a profile in its format.

FORMAT is pprof, speedscope, firefox or perfetto.  Prints "NAME<tab>SELF<tab>TOTAL" for each function, by bytes of the name, and
"thread NAME<tab>VALUE" for each thread that has one.  A function that is on a stack twice counts once.  Times are in nanoseconds.
A file for perfetto may also be a trace in FXT that has the packets in blobs.

The decoders are written apart from the writers, from the formats' own descriptions, and check what those demand.
With --places: "NAME<tab>FILE:LINE" for each line of each function instead.
With --times: "THREAD<tab>NANOSECONDS" for each sample, since the first one, instead.  --clock: as they stand in the file."""
import collections
import gzip
import json
import struct
import sys
from decimal import Decimal

Sample = collections.namedtuple("Sample", "thread time value frames")  # frames: (name, file, line), outermost first


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            assert at + length <= len(data), "a field beyond the end"
            value = data[at:at + length]
            at += length
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def packed(value):
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(number)
    return numbers


def one(message, number, default=0):
    found = default
    for field, value in message:
        if field == number:
            found = value
    return found


def text(data):
    return data.decode("utf-8", "replace")


def read_pprof(data):
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = list(fields(data))
    strings = [text(v) for f, v in top if f == 6]
    functions, locations = {}, {}
    for field, value in top:
        message = list(fields(value)) if field in (4, 5) else []
        if field == 5:
            functions[one(message, 1)] = (strings[one(message, 2)], strings[one(message, 4)])
        elif field == 4:
            lines = [list(fields(v)) for f, v in message if f == 4]
            locations[one(message, 1)] = [(one(line, 1), one(line, 2)) for line in lines], one(message, 2)
    mappings = {}
    for field, value in top:
        if field == 3:
            message = list(fields(value))
            mappings[one(message, 1)] = strings[one(message, 5)].rsplit("/", 1)[-1] or \
                (f"[{strings[one(message, 6)]}]" if one(message, 6) else "[unknown]")
    types = [strings[one(list(fields(v)), 1)] for f, v in top if f == 1]
    wanted = strings[one(top, 14)]
    shown = types.index(wanted) if wanted in types else len(types) - 1

    def unnamed(mapping):
        name = mappings.get(mapping, "[unknown]")
        return name if name[0] == "[" else f"[{name}]"

    for field, value in top:
        if field != 2:
            continue
        frames, values, labels = [], [], {}
        for f, v in fields(value):
            if f == 1:
                for number in packed(v):
                    lines, mapping = locations[number]
                    frames += [functions[fn] + (line,) for fn, line in lines] or [(unnamed(mapping), "", 0)]
            elif f == 2:
                values += [signed(n) for n in packed(v)]
            elif f == 3:
                label = list(fields(v))
                labels[strings[one(label, 1)]] = strings[one(label, 2)] or one(label, 3)
        yield Sample(labels.get("tid"), None, values[shown], frames[::-1])


def read_speedscope(data):
    profile = json.loads(data)
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [(f["name"], f.get("file", ""), f.get("line", 0)) for f in profile["shared"]["frames"]]
    assert 0 <= profile["activeProfileIndex"] < len(profile["profiles"])
    for thread in profile["profiles"]:
        assert thread["type"] == "sampled" and len(thread["samples"]) == len(thread["weights"])
        assert thread["endValue"] - thread["startValue"] == sum(thread["weights"]), thread["name"]
        now = thread["startValue"]
        for stack, weight in zip(thread["samples"], thread["weights"]):
            assert weight >= 0
            now += weight
            if stack:
                yield Sample(thread["name"], now, weight, [frames[i] for i in stack])


def column(table, name, length=None):
    values = table[name]
    assert len(values) == (table["length"] if length is None else length), name
    return values


def read_firefox(data):
    profile = json.loads(data, parse_float=Decimal)
    meta, shared = profile["meta"], profile["shared"]
    strings = shared["stringArray"]
    assert meta["preprocessedProfileVersion"] == 61 and "grey" in [c["color"] for c in meta["categories"]]
    stacks, frames, functions, sources = (shared[n] for n in ("stackTable", "frameTable", "funcTable", "sources"))
    for table in (stacks, frames, functions, sources, shared["resourceTable"], shared["nativeSymbols"]):
        for name in table:
            if name != "length":
                column(table, name)
    for lib in shared["resourceTable"]["lib"]:
        assert 0 <= lib < len(profile["libs"])
    for index, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < index, "a stack before its caller"

    def frame(index):
        function = frames["func"][index]
        source = functions["source"][function]
        file = "" if source is None else strings[sources["filename"][source]]
        return strings[functions["name"][function]], file, frames["line"][index] or 0

    def walk(stack):
        found = []
        while stack is not None:
            found.append(frame(stacks["frame"][stack]))
            stack = stacks["prefix"][stack]
        return found[::-1]

    for thread in profile["threads"]:
        samples = thread["samples"]
        column(samples, "weight"), column(samples, "time"), column(samples, "stack")
        assert sorted(samples["time"]) == samples["time"], "times out of order"
        assert isinstance(thread["pid"], str) and isinstance(thread["tid"], int)
        unit = 1000000 if samples["weightType"] == "tracing-ms" else 1
        for stack, weight, time in zip(samples["stack"], samples["weight"], samples["time"]):
            yield Sample(thread["tid"], int(time * 1000000), int(weight * unit), walk(stack))


def blobs(data):
    """What the blobs of type 3 of a trace hold together (docs/formats/fxt.md sections 1.1 and 2.7)."""
    out, at = b"", 0
    while at < len(data):
        head = struct.unpack_from("<Q", data, at)[0]
        size = 8 * (head >> 4 & 0xFFFFFFFF if head & 15 == 15 else head >> 4 & 0xFFF)
        assert 0 < size <= len(data) - at, "a record beyond the end"
        if head & 15 == 5 and head >> 48 & 0xFF == 3:
            name = head >> 16 & 0xFFFF
            start = at + 8 + ((name & 0x7FFF) + 7 & ~7 if name & 0x8000 else 0)
            out += data[start:start + (head >> 32 & 0x7FFF)]
        at += size
    return out


def read_perfetto(data):
    if data[:8] == bytes.fromhex("1000044678541600"):
        data = blobs(data)
    names = {f: {} for f in (5, 16, 17, 18)}
    frames, stacks, mappings, threads = {}, {}, {}, {}
    cleared = False
    samples = []
    for field, packet in fields(data):
        assert field == 1, "no TracePacket"
        message = list(fields(packet))
        assert one(message, 10) > 0, "no sequence"
        flags = one(message, 13)
        cleared |= bool(flags & 1)
        for f, interned in fields(one(message, 12, b"")):
            entry = list(fields(interned))
            iid = one(entry, 1)
            assert iid > 0
            if f in names:
                assert iid not in names[f], "interned twice"
                names[f][iid] = text(one(entry, 2, b""))
            elif f == 6:
                frames[iid] = (names[5][one(entry, 2)], names[18].get(one(entry, 5), ""), one(entry, 6))
                assert not one(entry, 3) or one(entry, 3) in mappings
            elif f == 7:
                stacks[iid] = [v for n, v in entry if n == 2]
            elif f == 19:
                mappings[iid] = "/".join(names[17][v] for n, v in entry if n == 7)
                assert not one(entry, 2) or one(entry, 2) in names[16]
        for f, tree in fields(one(message, 2, b"")):
            if f == 2:
                entry = list(fields(tree))
                threads[one(entry, 1)] = text(one(entry, 2, b""))
        sample = one(message, 135, None)
        if sample is None:
            continue
        assert cleared and flags & 2 or not stacks
        entry = list(fields(sample))
        task = list(fields(one(entry, 1, b"")))
        stack = stacks[one(entry, 6)] if one(entry, 6) else []
        samples.append(Sample(one(task, 3), one(message, 8), one(entry, 11), [frames[i] for i in stack]))
        assert one(task, 3) in threads or not task
    return samples


READERS = {"pprof": read_pprof, "speedscope": read_speedscope, "firefox": read_firefox, "perfetto": read_perfetto}


def main():
    wanted, (kind, path) = [a for a in sys.argv[1:] if a[0] == "-"], [a for a in sys.argv[1:] if a[0] != "-"]
    with open(path, "rb") as file:
        samples = list(READERS[kind](file.read()))
    if wanted != ["--clock"] and kind == "perfetto":
        first = min((s.time for s in samples), default=0)
        samples = [s._replace(time=s.time - first) for s in samples]
    own, total, by_thread, places = (collections.Counter() for _ in range(4))
    out = sys.stdout.buffer
    lines = []
    for sample in samples:
        if wanted == ["--times"] or wanted == ["--clock"]:
            lines.append(f"{sample.thread}\t{sample.time}")
            continue
        by_thread[sample.thread] += sample.value
        for name in {name for name, _, _ in sample.frames}:
            total[name] += sample.value
        if sample.frames:
            own[sample.frames[-1][0]] += sample.value
        for name, file, line in sample.frames:
            places[f"{name}\t{file}:{line}"] += 1
    if wanted == ["--places"]:
        lines = list(places)
    elif not wanted:
        lines = [f"{name}\t{own[name]}\t{total[name]}" for name in total if total[name]]
        lines += [f"thread {name}\t{value}" for name, value in by_thread.items() if name is not None and kind != "speedscope"]
    for line in sorted(line.replace("\n", "\\n").encode("utf-8", "surrogatepass") for line in lines):
        out.write(line + b"\n")


if __name__ == "__main__":
    main()
