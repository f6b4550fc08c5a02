"""Whether two profiles are the same to `go tool pprof -raw`: types, period, duration, and samples by the addresses and names of
their frames.  python3 pprof_raw_same.py [--addresses] WANT GOT; --addresses leaves out names.  Prints a difference, status 1."""

import collections
import os
import re
import subprocess
import sys


def frame(address, rest):
    """A location without its mapping and start lines."""
    return address, re.sub(r"s=\d+(\(.*\))?$", "", rest).strip()


class Profile:
    def __init__(self, path):
        self.facts = []
        self.locations = {}
        self.samples = []
        self.last = None
        run = subprocess.run(
            ["go", "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True, check=True, env=dict(os.environ)
        )
        section = self.fact
        for line in run.stdout.split("\n"):
            if line.startswith("Samples:"):
                section = self.types
            elif line.startswith("Locations"):
                section = self.location
            elif line.startswith("Mappings"):
                break
            else:
                section = section(line) or section

    def fact(self, line):
        if line.startswith(("Period:", "Duration:")):
            self.facts.append(line)

    def types(self, line):
        self.facts.append(line.replace("[dflt]", ""))
        return self.sample

    def sample(self, line):
        match = re.match(r"\s*((?:-?\d+\s+)*-?\d+): ([\d ]*)$", line)
        if match:
            self.samples.append([tuple(match[1].split()), match[2].split(), ""])
        elif self.samples:
            self.samples[-1][2] += line.strip()

    def location(self, line):
        match = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=\d+)?(.*)$", line)
        if match:
            self.last = match[1]
            self.locations[self.last] = [frame(match[2], match[3])]
        elif line.strip():
            self.locations[self.last].append(frame("", line))

    def meaning(self, names):
        place = {key: tuple(lines if names else lines[0][:1]) for key, lines in self.locations.items()}
        return collections.Counter((values, tuple(place[each] for each in stack), labels) for values, stack, labels in self.samples)


def main():
    names = sys.argv[1] != "--addresses"
    want, got = (Profile(path) for path in sys.argv[-2:])
    for a, b in ((want, got), (got, want)):
        for each in a.meaning(names) - b.meaning(names):
            print(f"only in {'want' if a is want else 'got'}: {each}")
            return 1
    if want.facts != got.facts:
        print(f"{want.facts} is not {got.facts}")
        return 1
    return 0


sys.exit(main())
