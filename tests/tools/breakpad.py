"""Breakpad symbol files of a program, from the answers of a symbolizer in JSON.

breakpad.py PROGRAM SYSTEM NAME [--no-code-id]: reads the answers for every byte of the program's code, in the order of addresses, from
standard input (lines of `fxtsym --json -i`), and writes the symbol file that has the same answers to standard output.
"""
import json
import re
import subprocess
import sys


def build_id(path):
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return bytes.fromhex(found[1]) if found else b""


def text_hash(path):
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", path, path + ".text"], check=True)
    with open(path + ".text", "rb") as file:
        text = file.read(4096)
    hashed = bytearray(16)
    for i, byte in enumerate(text):
        hashed[i % 16] ^= byte
    return bytes(hashed)


def load_address(path):
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"LOAD +0x[0-9a-f]+ 0x([0-9a-f]+)", headers)[1], 16)


def guid(identity):
    padded = (identity + bytes(16))[:16]
    return (padded[3::-1] + padded[5:3:-1] + padded[7:5:-1] + padded[8:]).hex().upper() + "0"


class Numbers:
    """Texts, numbered as they come."""

    def __init__(self):
        self.known = {}

    def __getitem__(self, text):
        return self.known.setdefault(text, len(self.known))


def runs(items):
    """(address, key) in order, as [start, size, key] of neighbours with the same key."""
    out = []
    for address, key in items:
        if out and out[-1][2] == key and out[-1][0] + out[-1][1] == address:
            out[-1][1] += 1
        else:
            out.append([address, 1, key])
    return out


def main():
    program, system, name = sys.argv[1:4]
    identity = build_id(program) or text_hash(program)
    base = load_address(program)
    files, origins = Numbers(), Numbers()
    functions = []  # of bytes: address, function, [(depth, call), ...], line
    for line in sys.stdin:
        answer = json.loads(line)
        frames = answer["frames"]
        if not frames or not frames[-1].get("function"):
            continue
        address = int(answer["address"], 16) - base
        calls = []
        for depth, (inner, outer) in enumerate(zip(reversed(frames[:-1]), reversed(frames))):
            calls.append((depth, outer.get("line", 0), files[outer.get("file", "")], origins[inner["function"]]))
        row = (frames[0].get("line", 0), files[frames[0].get("file", "")])
        functions.append((address, frames[-1]["function"], calls, row))
    out = []
    for start, size, function in runs((f[0], f[1]) for f in functions):
        own = [f for f in functions if start <= f[0] < start + size]
        out.append("FUNC %s%x %x 0 %s" % ("m " if start % 32 == 0 else "", start, size, function))
        levels = sorted({call[0] for f in own for call in f[2]})
        for level in levels:
            there = [(f[0], f[2][level][1:]) for f in own if len(f[2]) > level]
            ranges = {}
            for at, length, key in runs(there):
                ranges.setdefault(key, []).append("%x %x" % (at, length))
            for (line, file, origin), where in ranges.items():
                out.append("INLINE %d %d %d %d %s" % (level, line, file, origin, " ".join(where)))
        for at, length, (line, file) in runs((f[0], f[3]) for f in own):
            out.append("%x %x %d %d" % (at, length, line, file))
    print("MODULE %s x86_64 %s %s" % (system, guid(identity), name))
    if "--no-code-id" not in sys.argv:
        print("INFO CODE_ID %s" % identity.hex().upper())
    for text, number in files.known.items():
        print("FILE %d %s" % (number, text))
    for text, number in origins.known.items():
        print("INLINE_ORIGIN %d %s" % (number, text))
    print("\n".join(out))
    print("PUBLIC fffff0 0 beyond_all_code")
    print("STACK CFI INIT 0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^")


main()
