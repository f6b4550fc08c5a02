"""What a heap capture estimates against what a program did (testdata/capture/heaptruth.c).

heap_truth.py INTERVAL TRUTH FOLDED-ALLOC_OBJECTS -ALLOC_SPACE -INUSE_OBJECTS -INUSE_SPACE

Each seed gives one estimate of each stack and of the total.  Less the truth and over the standard error of the theory, the square
root of the sum of S^2 (1-p)/p with p = 1 - exp(-S/R), these have mean 0 and standard deviation 1."""
import math
import re
import sys

interval = float(sys.argv[1])
stacks = {}
for line in open(sys.argv[2]):
    name, size, count, kept = line.split()
    stacks[name] = (int(size), int(count), int(kept))

failed = 0
for kind, path in zip(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"), sys.argv[3:]):
    in_bytes, in_use = kind.endswith("space"), kind.startswith("inuse")
    estimates = {}
    for line in open(path):
        stack, value = line.rsplit(" ", 1)
        frames = stack.split(";")
        seeds = [f for f in frames if re.fullmatch(r"seed_\d+", f)]
        if seeds and frames[-1] in stacks:
            key = (seeds[0], frames[-1])
            estimates[key] = estimates.get(key, 0) + int(value)
    seeds = {f"seed_{i}" for i in range(200)}
    assert {key[0] for key in estimates} == seeds, kind
    z = {name: [] for name in [*stacks, "total"]}
    for seed in sorted(seeds):
        off = variance = 0
        for name, (size, count, kept) in stacks.items():
            n, unit = (kept if in_use else count), (size if in_bytes else 1)
            p = -math.expm1(-size / interval)
            error = estimates.get((seed, name), 0) - n * unit
            z[name].append(error / math.sqrt(n * unit**2 * (1 - p) / p) if p < 0.999999 else 0)
            off += error
            variance += n * unit**2 * (1 - p) / p
        z["total"].append(off / math.sqrt(variance))
    for name, values in z.items():
        if not any(values):
            continue # sampled each time
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
        fine = abs(mean) < 0.25 and 0.85 <= deviation <= 1.15
        failed |= not fine
        print(f"{kind:14} {name:8} mean z {mean:+.3f}, standard deviation {deviation:.3f}{'' if fine else '  MISSED'}")
sys.exit(failed)
