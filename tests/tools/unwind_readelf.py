"""Compare the rows of objects with those that readelf -wF prints.

    unwind_readelf.py UNWIND_ROWS READELF OBJECT...

Each object is read twice: as it is searched, and with all rows made through libdwarf.  Prints the
first differences; the status is 1 if there is any, or if an object had no rows to compare.
"""

import re
import subprocess
import sys

X86 = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7, "rip": 16}
RISCV = {n: i for i, n in enumerate(
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11"
    " t3 t4 t5 t6".split())}


def number(name, machine, column):
    """The number of a register that readelf names; None: no unwinder keeps it."""
    if name == "ra" and machine != "riscv":
        return column
    if machine == "x86":
        if name in X86:
            return X86[name]
        match = re.fullmatch(r"r(\d+)", name)
        return int(match[1]) if match else None
    if machine == "arm":
        if name == "sp":
            return 31
        match = re.fullmatch(r"x(\d+)", name)
        return int(match[1]) if match else None
    return RISCV.get(name)


def expected(readelf, path):
    """{address: text} of all rows, in the words of unwind_rows."""
    header = subprocess.run([readelf, "-hW", path], capture_output=True, text=True, check=True).stdout
    machine = "arm" if "AArch64" in header else "riscv" if "RISC-V" in header else "x86"
    out = subprocess.run([readelf, "-wFN", path], capture_output=True, text=True, check=True).stdout
    rows, names, column, signal, signals = {}, [], 16, False, {}
    covered = None
    for line in out.splitlines():
        if " CIE " in line:
            match = re.search(r' CIE "(.*?)" cf=\S+ df=\S+ ra=(\d+)', line)
            signal, column = "S" in match[1], int(match[2])
            signals[line.split()[0].lstrip("0") or "0"] = signal, column
            covered = None
        elif " FDE cie=" in line:
            match = re.search(r"cie=(\w+) pc=(\w+)\.\.(\w+)", line)
            signal, column = signals.get(match[1].lstrip("0") or "0", (False, 16))
            covered = int(match[2], 16), int(match[3], 16)
        elif line.lstrip().startswith("LOC"):
            names = line.split()[2:]
        elif re.match(r"[0-9a-f]{16} ", line):
            fields = re.sub(r" \(\w+\)", "", line).split()  # "r9 (r9)"
            address = int(fields[0], 16)
            if not covered or not covered[0] <= address < covered[1]:
                continue
            if fields[1] in ("exp", "vexp"):
                text = " exp"
            else:
                match = re.fullmatch(r"(\w+)([+-]\d+)", fields[1])
                text = " %d%s" % (number(match[1], machine, column), match[2])
            rules = []
            for name, value in zip(names, fields[2:]):
                at = number(name, machine, column)
                if at is None or value in ("u", "s"):
                    continue
                if re.fullmatch(r"r[a-z].*|x\d+|s\d+", value):
                    value = "r%d" % number(value, machine, column)
                rules.append((at, value))
            text += "".join(" %d=%s" % r for r in sorted(rules)) + (" S" if signal else "")
            rows[address] = text  # the last of one address counts
    return rows


def main():
    tool, readelf, failed, total = sys.argv[1], sys.argv[2], 0, 0
    for path in sys.argv[3:]:
        rows = expected(readelf, path)
        if not rows:
            print("%s: no rows" % path)
            failed += 1
            continue
        addresses = "".join("%x\n" % a for a in rows)
        for option in [], ["--made"]:
            out = subprocess.run([tool, *option, path], input=addresses, capture_output=True,
                                 text=True, check=True).stdout.splitlines()
            wrong = 0
            for address, line in zip(rows, out):
                if line == "%x%s" % (address, rows[address]):
                    continue
                wrong += 1
                if wrong <= 3:
                    print("%s%s: %s, readelf says%s" % (path, "".join(option), line, rows[address]))
            total += len(rows)
            failed += wrong
            print("%s%s: %d rows, %d differ %s" % (path, "".join(option), len(rows), wrong, out[-1]))
    print("%d rows compared, %d differ" % (total, failed))
    sys.exit(failed != 0)


main()
