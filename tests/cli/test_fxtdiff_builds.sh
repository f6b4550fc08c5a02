#!/bin/sh
# Modules and build IDs of pprof profiles, and of stores made of them, are kept beside names: what regressed while both sides are runs of
# one build is no regression of the code, whatever the runs are stored in.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
cat >runs.py <<'ENDPY'
"""Five pprof profiles: runs.py PREFIX FACTOR BUILDID: 20 functions of /srv/bin/app, of which f2 costs FACTOR times as much, and a location
of libc.so.6 without a name; both modules have build IDs."""
import random
import sys


def number(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(index, value):
    if isinstance(value, int):
        return number(index << 3) + number(value)
    return number(index << 3 | 2) + number(len(value)) + value


prefix, factor, build_id = sys.argv[1:]
texts = ["", "samples", "count", "/srv/bin/app", build_id, "/usr/lib/libc.so.6", "99aa"] + [f"f{k}" for k in range(20)]
for run in range(5):
    rng = random.Random(f"{prefix} {run}")
    out = field(1, field(1, 1) + field(2, 2))
    for k in range(21):
        count = round(rng.gauss(10000, 50) / (k + 1) * (float(factor) if k == 2 else 1))
        out += field(2, field(1, number(k + 1)) + field(2, number(count)))
    out += field(3, field(1, 1) + field(2, 4096) + field(3, 8192) + field(5, 3) + field(6, 4))
    out += field(3, field(1, 2) + field(2, 65536) + field(3, 131072) + field(5, 5) + field(6, 6))
    for k in range(20):
        out += field(4, field(1, k + 1) + field(2, 1) + field(4, field(1, k + 1))) + field(5, field(1, k + 1) + field(2, 7 + k))
    out += field(4, field(1, 21) + field(2, 2) + field(3, 70000))
    with open(f"{prefix}{run}.pb", "wb") as file:
        file.write(out + b"".join(field(6, text.encode()) for text in texts))
ENDPY
python3 runs.py old 1 0123456789abcdef
python3 runs.py same 1.4 0123456789ABCDEF
python3 runs.py other 1.4 fedcba9876543210
python3 runs.py go 1.4 'kQx/not-a-build-id'
for side in old same other; do
    fxtq import -q -o $side.fxtq $side?.pb
done

# ---- One build ----

for operands in 'old?.pb -- same?.pb' 'old.fxtq -- same.fxtq' 'old?.pb -- same.fxtq'; do
    # shellcheck disable=SC2086 # patterns and operands
    run 5 fxtdiff $operands
    prints 'INCONCLUSIVE: both sides are runs of one build of app (0123456789abcdef), but 1 function regressed: measure the build that has the change'
    # shellcheck disable=SC2086 # patterns and operands
    run 1 fxtdiff --same-build $operands
    prints 'FAIL: 1 function regressed'
done

# ---- Another build, and a text that is none ----

for operands in 'old?.pb -- other?.pb' 'old.fxtq -- other.fxtq' 'old?.pb -- go?.pb'; do
    # shellcheck disable=SC2086 # patterns and operands
    run 1 fxtdiff $operands
    prints 'FAIL: 1 function regressed'
done

# ---- Code without names goes by its module; modules and builds are in what is written ----

run 1 fxtdiff --json old?.pb -- other?.pb
python3 - out <<'ENDPY' || fail "modules are not those of the profiles"
import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
names = {function["name"]: function for function in report["functions"]}
assert "[libc.so.6]" in names, sorted(names)
assert report["runs"][0]["environment"]["builds"] == ["0123456789abcdef app", "99aa libc.so.6"], report["runs"][0]
ENDPY
run 0 fxtdiff baseline create kept.txt old?.pb
grep -q '^build 0123456789abcdef app$' kept.txt || fail "the baseline has no build: $(head -n 9 kept.txt)"
grep -q "^function f2	 0 0 0	app	" kept.txt || fail "the baseline has no module: $(grep f2 kept.txt)"
run 5 fxtdiff kept.txt -- same?.pb
prints 'both sides are runs of one build of app'
finish
