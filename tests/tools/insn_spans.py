"""The calls of a stepped program, from the list of its instructions alone, against the slices of its trace.

    insn_spans.py PROGRAM STEPS TRACE

PROGRAM is linked statically and not moved in memory; STEPS and TRACE are of one "sampler-capture insn --simulate --steps STEPS
-o TRACE -- PROGRAM", whose clock counts instructions.  What objdump and nm say of PROGRAM decides what a step is.  The calls of each thread must be its
slices, in the same order and depth.  Prints how many there are, and the most that a begin or an end differs, in instructions; status 1
when something else differs."""
import bisect
import collections
import json
import re
import struct
import subprocess
import sys

program, steps, trace = sys.argv[1:4]


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


# What each instruction is, the address after it, its section, and where a direct call or jump leads.
kinds, after, sections, targets = {}, {}, {}, {}
last = section = None
for line in lines_of("objdump", "-d", "--no-show-raw-insn", program):
    found = re.match(r" *([0-9a-f]+):\t(.*)", line)
    if not found:
        last = None
        section = line if line.startswith("Disassembly of section") else section
        continue
    address, text = int(found[1], 16), found[2]
    sections[address] = section
    if last is not None:
        after[last] = address
    last = address
    text = re.sub(r"^((bnd|notrack|rep|repz|repnz|data16|cs|ds|lock|rex\S*) )*", "", text).strip()
    word = text.split()[0] if text else ""
    found = re.match(r"(?:call|j)\S* +([0-9a-f]+) ", text)
    if found:
        targets[address] = int(found[1], 16)
    kinds[address] = ("call" if word.startswith("call") else "ret" if word.startswith("ret") else "syscall" if word == "syscall" else
                      "indirect" if word.startswith("jmp") and "*" in text else "jump" if word.startswith("jmp") else
                      "branch" if word[:1] == "j" else "other")

# Where functions begin and end.
symbols = {}
for line in lines_of("nm", "-S", "--defined-only", program):
    parts = line.split()
    if parts[-2] in "TtWwi":
        symbols[int(parts[0], 16)] = max(symbols.get(int(parts[0], 16), 0), int(parts[1], 16) if len(parts) == 4 else 0)
starts = sorted(symbols)
for start, following in zip(starts, starts[1:]):
    symbols[start] = symbols[start] or following - start  # without a size: up to the next one


def function(address):
    """Where its function begins; None: in none."""
    i = bisect.bisect_right(starts, address)
    start = starts[i - 1]
    return start if i and address < start + symbols[start] and sections.get(address) == sections.get(start) else None


entry = next(int(line.split()[-1], 16) for line in lines_of("readelf", "-hW", program) if "Entry point address:" in line)
Span = collections.namedtuple("Span", "function begin end depth order")


class Thread:
    def __init__(self):
        self.order, self.first = 0, 0  # of frames, by when they begin
        self.stack = []  # [function, return addresses, begin, order]
        self.left = []  # frames that a coroutine may come back to
        self.before = None
        self.spans = []

    def close(self, depth, now, later=True):
        gone = self.stack[depth:]
        if later and len(gone) > 1:
            self.left.append([list(frame) for frame in gone])
        while len(self.stack) > depth:
            frame = self.stack.pop()
            self.spans.append(Span(frame[0], frame[2], now, None, frame[3]))

    def push(self, where, ra, now):
        self.order += 1
        self.stack.append([where, ra, now, self.order])

    def back_to_caller(self, ip, now):
        for i in reversed(range(1, len(self.stack))):
            if ip in self.stack[i][1]:
                self.close(i, now)
                return True
        for part in reversed(self.left):
            for i in reversed(range(1, len(part))):
                if ip in part[i][1]:
                    self.left.remove(part)
                    for frame in part[:i]:
                        self.push(frame[0], frame[1], now)
                    return True
        return False

    def back_to_function(self, ip, now):
        for i in reversed(range(len(self.stack))):
            if function(ip) is not None and ip != function(ip) and self.stack[i][0] == function(ip):
                self.close(i + 1, now)
                return True
        return False

    def turn_into(self, ip, now):
        ra = self.stack[-1][1]
        self.close(len(self.stack) - 1, now, False)
        self.push(function(ip), ra, now)

    def step(self, ip, now):
        before, self.before = self.before, ip
        inside = self.stack and self.stack[-1][0] == function(ip)
        if ip == entry:  # a program that takes the place of another one
            self.close(0, now, False)
            self.left = []
        if not self.stack:
            self.push(function(ip), (), now)
            return
        if before not in kinds and ip not in kinds:  # the vdso, of which nothing is known
            return
        kind, following, target = kinds.get(before, "ret"), after.get(before), targets.get(before)
        goes_on = {following}
        if kind == "call" and target not in (None, ip, following):  # its first instruction faults
            self.push(function(target), goes_on, now)
            kind, goes_on = "other", {target}
        elif kind in ("jump", "branch"):
            goes_on = {target} if kind == "jump" else {target, following}
            if ip not in goes_on:  # what it led to faults
                if kind == "jump" and function(target) != self.stack[-1][0]:
                    self.turn_into(target, now)
                kind = "other"
        if kind == "call" and ip != following:
            self.push(function(ip), goes_on, now)
        elif kind == "ret":
            if self.back_to_caller(ip, now):
                pass
            elif self.back_to_function(ip, now):
                pass
            elif not self.stack[-1][1]:  # out of what was there first
                begin = self.stack[0][2]
                self.close(0, now, False)
                self.first -= 1
                self.stack.append([function(ip), (), begin, self.first])
            elif ip == function(ip):
                self.turn_into(ip, now)
            else:
                self.close(0, now)
                self.push(function(ip), (), now)
        elif kind in ("jump", "branch", "indirect") and not inside:
            direct = kind != "indirect"
            if direct or ip == function(ip) or not (self.back_to_caller(ip, now) or self.back_to_function(ip, now)):
                self.turn_into(ip, now)
        elif kind in ("other", "syscall") and ip not in goes_on and ip != before:
            if self.back_to_caller(ip, now):
                pass
            elif ip == function(ip):
                self.push(function(ip), goes_on, now)
            else:
                self.back_to_function(ip, now)
        if self.stack[-1][0] != function(ip):
            self.turn_into(ip, now)


threads = collections.defaultdict(Thread)
with open(steps, "rb") as file:
    for now, (tid, ip) in enumerate(struct.iter_unpack("<QQ", file.read())):
        threads[tid].step(ip, now)
        end = now + 1
wanted = {}
for tid, thread in threads.items():
    thread.close(0, end, False)
    wanted[tid], around = [], []
    for span in sorted(thread.spans, key=lambda span: span.order):
        while around and around[-1] <= span.begin:
            around.pop()
        wanted[tid].append(span._replace(depth=len(around)))
        around.append(span.end)

names = collections.defaultdict(set)  # the functions that have a name; static ones may share it
for line in lines_of("nm", "--demangle", "--defined-only", program):
    address, kind, name = line.split(maxsplit=2)
    if kind in "TtWwi":
        names[name].add(function(int(address, 16)))
got = collections.defaultdict(list)
zero = None
for row in json.loads("\n".join(lines_of("fxtq", "--format", "json", trace, """
        select tid, s.name, s.ts, s.dur, s.depth from slice s join thread_track t on s.track_id = t.id join thread using (utid)
        left join slice p on p.id = s.parent_id
        where s.name <> '[untraced]' and (s.name, p.name) is not ('[vdso]', '[vdso]') order by s.id"""))):
    begin, duration = int(row["ts"]), int(row["dur"])
    zero = begin if zero is None else min(zero, begin)
    where = {None} if row["name"].startswith("[") else names[row["name"]]
    got[int(row["tid"])].append((row["name"], where, Span(None, begin, begin + duration, int(row["depth"]), None)))

shown = {address: name for name, addresses in names.items() for address in addresses}
differences, latest, total = 0, 0, 0
for tid, spans in wanted.items():
    total += len(spans)
    if len(spans) != len(got[tid]):
        print(f"thread {tid}: {len(spans)} calls, {len(got[tid])} slices")
        differences += 1
    for span, (name, where, slice) in zip(spans, got[tid]):
        latest = max(latest, abs(slice.begin - zero - span.begin), abs(slice.end - zero - span.end))
        if span.function not in where or span.depth != slice.depth:
            print(f"thread {tid}: {shown.get(span.function)} in depth {span.depth} from {span.begin} to {span.end}, but "
                  f"{name} in depth {slice.depth} from {slice.begin - zero} to {slice.end - zero}")
            differences += 1
            break
print(f"calls={total}\ndifferences={differences}\nlatest={latest}")
sys.exit(differences > 0)
