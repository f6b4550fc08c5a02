#!/usr/bin/env python3
"""Compare what libinsn decodes with the listings of libipt's own tests.

    insn_listing.py PTTC SOURCES DIFFERENCES

PTTC is the compiler of those tests, SOURCES their folder (libipt/test/src).  Each test is compiled
in the current folder, decoded with insn_listing, and the instructions are compared with the test's
listing: the blocks must be its addresses in its order, with the number of instructions that it has.
The number of intervals that are traced, overflows, aborted and committed transactions, and ptwrite
instructions must be equal, too.

DIFFERENCES has a line for each test that is known to differ: "insn libipt NAME: reason".  Prints
what is equal and what differs; status 1 if a difference is not in the list, or an entry of it is
equal after all.
"""
import os
import re
import subprocess
import sys

EVENTS = {
    "overflow": "overflow",
    "aborted": "aborted",
    "committed": "committed",
    "ptwrite": "ptwrite",
}


def directives(path, word):
    pattern = re.compile(r"^\s*;\s*" + word + r"\s+(.*?)\s*$")
    with open(path, encoding="latin-1") as file:
        return [match.group(1) for match in map(pattern.match, file) if match]


def read_expected(path):
    addresses, events = [], {}
    with open(path, encoding="latin-1") as file:
        for line in file:
            match = re.match(r"^(?:\? )?([0-9a-f]{16})\b", line)
            if match:
                addresses.append(int(match.group(1), 16))
                continue
            match = re.match(r"^(?:\? )?\[([a-z]+)", line)
            if match and match.group(1) in EVENTS:
                name = EVENTS[match.group(1)]
                events[name] = events.get(name, 0) + 1
    return addresses, events


def read_decoded(words):
    blocks, events = [], {}
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        fields = line.split()
        if fields[0] == "block":
            blocks.append((int(fields[1], 16), int(fields[2], 16), int(fields[3])))
        elif fields[0] in EVENTS.values():
            events[fields[0]] = events.get(fields[0], 0) + 1
    return blocks, events


def difference(expected, decoded):
    """Why the two differ; None if they do not."""
    addresses, events = expected
    blocks, own_events = decoded
    at = 0
    for first, last, count in blocks:
        if addresses[at : at + 1] != [first] or addresses[at + count - 1 : at + count] != [last]:
            wanted = "".join(" %x" % address for address in addresses[at : at + count])
            return "instruction %d: expected%s, decoded %x to %x (%d)" % (
                at, wanted or " the end", first, last, count)
        at += count
    if at < len(addresses):
        return "%d of %d instructions decoded" % (at, len(addresses))
    if events != own_events:
        return "events: expected %s, decoded %s" % (events, own_events)
    return None


def compare(pttc, source, cpu):
    """A reason, None if equal, or "" if the test has no listing of instructions."""
    name = os.path.basename(source)[: -len(".ptt")]
    words = [pttc] + (["--cpu", cpu] if cpu else []) + [source]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        return ""
    suffix = "-cpu_" + cpu.replace("/", "_") if cpu else ""
    listing = "%s-ptxed%s.exp" % (name, suffix)
    if not os.path.exists(listing):
        return ""
    expected = read_expected(listing)
    base = [line.split()[1] for line in open(source, encoding="latin-1") if line.startswith("org")]
    if not expected[0] or not base:
        return ""
    options = " ".join(directives(source, "opt:ptxed"))
    tool = ["insn_listing", name + ".pt", name + ".bin", base[0], cpu or "0/0"]
    tool += re.findall(r"--filter:addr0_(?:cfg|a|b) (\S+)", options)
    return difference(expected, read_decoded(tool))


def read_known(path):
    pattern = re.compile(r"^insn libipt ([^ :]+):")
    with open(path, encoding="utf-8") as file:
        return {match.group(1) for match in map(pattern.match, file) if match}


def main():
    pttc, folder, differences = sys.argv[1:4]
    known, status = read_known(differences), 0
    differing, equal = {}, 0
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".ptt"):
            continue
        source = os.path.join(folder, file)
        cpus = [cpu for line in directives(source, "cpu") for cpu in line.split()] or [None]
        for cpu in cpus:
            reason = compare(pttc, source, cpu)
            if reason is None:
                equal += 1
            elif reason:
                differing[file[: -len(".ptt")]] = "%s: %s" % (cpu or "any processor", reason)
    for name, reason in differing.items():
        print("%s %s (%s)" % ("known" if name in known else "DIFFERS", name, reason))
        status |= name not in known
    for name in sorted(known - set(differing)):
        print("%s: in %s, but equal" % (name, differences))
        status = 1
    print("equal=%d differing=%d" % (equal, len(differing)))
    return status


if __name__ == "__main__":
    sys.exit(main())
