#!/usr/bin/env python3
"""flame_folded.py PAGE [COLUMN]: the tree of a page of "fxtq flamegraph" as folded stacks, sorted by bytes.

COLUMN is the column of values, 0 the first; numbers are printed as integers, stacks of 0 are left out."""
import base64
import json
import re
import struct
import sys
import zlib

page = open(sys.argv[1], encoding="utf-8").read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def column(text, kind):
    raw = zlib.decompress(base64.b64decode(text))
    return struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw)


depths, names = column(data["depth"], "H"), column(data["name"], "I")
functions = column(data["functions"], "I")
strings = zlib.decompress(base64.b64decode(data["strings"])).decode().split("\n")
values = column(data["self"][int(sys.argv[2]) if len(sys.argv) > 2 else 0], "d")
assert len(depths) == len(names) == len(values) == data["nodes"]
stack, lines = [], {}
for depth, name, value in zip(depths, names, values):
    stack[depth:] = [strings[functions[name]]]
    if value:
        text = ";".join(stack[1:])
        lines[text] = lines.get(text, 0) + value
print("".join(f"{text} {round(value)}\n" for text, value in sorted(lines.items(), key=lambda line: line[0].encode())), end="")
