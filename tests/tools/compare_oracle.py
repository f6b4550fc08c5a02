"""Work out what fxtdiff --json says, from the folded stacks themselves and by other means than libprofile/compare.

compare_oracle.py REPORT BASE... -- NEW...: fails with a sentence where a number differs.  Permutations come from itertools, Student's t
from numerical integration, digamma and trigamma from sums; docs/comparison.md has the formulas."""
import itertools
import json
import math
import statistics
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
split = sys.argv.index("--")
sides = (sys.argv[2:split], sys.argv[split + 1:])
N, M = len(sides[0]), len(sides[1])
runs = N + M
df = runs - 2
options = report["options"]


def close(what, ours, theirs, tolerance=1e-6):
    if not math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=1e-9):
        sys.exit(f"{what}: fxtdiff says {theirs!r}, it is {ours!r}")


# ---- The runs ----

cost, own, inclusive = [], [], []
for path in sides[0] + sides[1]:
    total, alone, below = 0, {}, {}
    for line in open(path, encoding="utf-8"):
        stack, count = line.rsplit(" ", 1)
        frames, count = stack.split(";"), float(count)
        total += count
        alone[frames[-1]] = alone.get(frames[-1], 0) + count
        for frame in set(frames):  # recursion counts once
            below[frame] = below.get(frame, 0) + count
    cost.append(total)
    own.append(alone)
    inclusive.append(below)
samples = cost  # of folded stacks a unit is a sample
n = (sum(samples[:N]), sum(samples[N:]))

# ---- Distributions ----


def t_tail(t, freedom, steps=2000):
    """P(|T| >= |t|) by Simpson's rule: over the middle, or over the tail with x = t / u."""
    t = abs(t)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def density(x):
        return scale * math.exp(-(freedom + 1) / 2 * math.log1p(x * x / freedom))

    def middle(u):
        return density(t * u) * t

    def tail(u):
        return density(t / u) * t / (u * u) if u else 0.0

    f = middle if t < 1 else tail
    total = math.fsum(f(i / steps) * (1 if i in (0, steps) else 4 if i % 2 else 2) for i in range(steps + 1)) / (3 * steps)
    return 1 - 2 * total if t < 1 else 2 * total


def t_quantile(p, freedom):
    low, high = 0.0, 200.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > 2 * (1 - p) else (low, middle)
    return low


def digamma(x):
    k = 5000  # psi(x) = psi(x + k) - sum 1 / (x + i)
    return math.log(x + k - 0.5) - math.fsum(1 / (x + i) for i in range(k))


def trigamma(x):
    k = 5000
    return 1 / (x + k - 0.5) + math.fsum(1 / (x + i) ** 2 for i in range(k))


def trigamma_inverse(y):
    low, high = 1e-4, 1e6
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > y else (low, middle)
    return low


# ---- Level 1 ----

base, new = cost[:N], cost[N:]
ranks = [sum(other < c for other in cost) + (cost.count(c) + 1) / 2 for c in cost]
seen = abs(statistics.fmean(ranks[N:]) - statistics.fmean(ranks[:N]))
ways = extreme = 0
for chosen in itertools.combinations(range(runs), M):
    inside = math.fsum(ranks[i] for i in chosen)
    ways += 1
    extreme += abs(inside / M - (math.fsum(ranks) - inside) / N) >= seen * (1 - 1e-12)
total = report["total"]
assert total["exact"]
close("p of the total", extreme / ways, total["p"])
shift = statistics.median(y - x for x in base for y in new)
close("Hodges-Lehmann shift", shift, total["shift"])
close("shift over base", shift / statistics.median(base), total["relative"])


def spread(side):
    distances = [abs(a - b) for a, b in itertools.combinations(side, 2)]
    bias = {2: 1.31, 3: 1.38, 4: 0.98, 5: 1.06, 6: 1.14, 7: 1.10, 8: 1.05}.get(len(side), 1 + 0.47 / len(side))
    return statistics.median_low(distances) / 0.9539 / bias


noise = math.sqrt((spread(base) ** 2 / N + spread(new) ** 2 / M) / (1 / N + 1 / M)) / statistics.median(base)
noise = max(noise, math.sqrt(statistics.fmean(1 / (6 * count * count) for count in samples)))
close("noise", noise, total["noise"])
levels = {}  # two-sided p of each rank sum, ties aside
for chosen in itertools.combinations(range(1, runs + 1), N):
    levels[sum(chosen)] = levels.get(sum(chosen), 0) + 2 / ways
reached = [p for p in itertools.accumulate(levels[s] for s in sorted(levels)) if p <= options["q"]]
if reached:
    close("noise floor", (t_quantile(1 - reached[-1] / 2, df) + t_quantile(0.8, df)) * noise * math.sqrt((1 / N + 1 / M) / 0.9549),
          total["detectable"], 1e-5)
else:
    assert total["detectable"] is None, "so few runs cannot find a change of the total"
assert total["low"] <= total["relative"] <= total["high"], "the interval does not hold the shift"

# ---- Level 2 ----


def loglike(y, count, p):
    return (y * math.log(p) if y else 0) + ((count - y) * math.log(1 - p) if count > y else 0)


tests = []
for family, values in (("self", own), ("total", inclusive)):
    rows = []
    for name in sorted(set().union(*values)):
        y = [v.get(name, 0) for v in values]
        p = (sum(y[:N]) / n[0], sum(y[N:]) / n[1])
        pooled = sum(y) / sum(n)
        if max(pooled, sum(p) / 2) < options["floor"] or pooled >= 1:
            continue
        pearson = sum((y[i] - samples[i] * p[i >= N]) ** 2 / (samples[i] * p[i >= N] * (1 - p[i >= N]))
                      for i in range(runs) if 0 < p[i >= N] < 1)
        deviance = 2 * (loglike(sum(y[:N]), n[0], p[0]) + loglike(sum(y[N:]), n[1], p[1]) - loglike(sum(y), sum(n), pooled))
        rows.append((name, p, pearson / df, sum(n) / runs * pooled * (1 - pooled), deviance, y))
    bias = digamma(df / 2) - math.log(df / 2)

    def mean_log(trend):
        return statistics.fmean(math.log(max(r[2], 1e-3)) - math.log1p(trend * r[3]) for r in rows)

    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_log(middle) > bias else (low, middle)
    trend = low if mean_log(0) > bias else 0.0
    excess = statistics.variance(math.log(max(r[2], 1e-3)) - math.log1p(trend * r[3]) for r in rows) - trigamma(df / 2)
    prior = 2 * trigamma_inverse(excess) if excess > 1e-8 else math.inf
    prior = min(prior, df * (len(rows) - 1))
    freedom = min(prior + df, df * len(rows))
    for name, p, raw, size, deviance, y in rows:
        dispersion = max(1.0, (prior * (1 + trend * size) + df * raw) / (prior + df))
        tests.append([family, name, p, dispersion, t_tail(math.sqrt(max(deviance, 0) / dispersion), freedom), y, freedom,
                      math.sqrt(min(max(sum(y) / sum(n), options["floor"]), 0.05))])

mean_weight = statistics.fmean(t[7] for t in tests)
for t in tests:
    t[7] /= mean_weight
for grew in (False, True):  # Benjamini and Hochberg, over both families, each direction apart
    alike = sorted((t for t in tests if (t[2][1] > t[2][0]) == grew), key=lambda t: t[4] / t[7])
    smallest = 1.0
    for i in range(len(alike) - 1, -1, -1):
        smallest = min(smallest, alike[i][4] / alike[i][7] * len(tests) / (i + 1))
        alike[i].append(smallest)

# What shares were multiplied by: the weighted median of the ratios of own shares.
ratios = sorted((t[2][1] / t[2][0], min(t[2])) for t in tests if t[0] == "self" and min(t[2]) > 0)
weight = math.fsum(w for _, w in ratios)
half = 1.645 * math.sqrt(math.fsum(w * w for _, w in ratios)) / 2


def ratio_at(limit):
    return next(ratio for i, (ratio, _) in enumerate(ratios) if math.fsum(w for _, w in ratios[:i + 1]) >= limit)


reference, reference_error = 1.0, math.inf
if half < weight / 2:
    reference = ratio_at(weight / 2)
    reference_error = math.log(ratio_at(weight / 2 + half) / reference) / 1.645
    if ratio_at(weight / 2 - half) > 1 and total["low"] < 0:
        sys.exit("the shares of all grew: this computation knows nothing of that")


def cost_provably_grew(p, y, dispersion, freedom, by_cost):
    if not sum(y[:N]):
        return True
    share = dispersion * ((1 - p[0]) / (p[0] * n[0]) + (1 - p[1]) / (p[1] * n[1]))
    by_runs = math.log1p(by_cost) - t_quantile(0.975, df) * math.sqrt(share + noise * noise * (1 / N + 1 / M))
    by_others = math.log(p[1] / p[0] / reference) - t_quantile(0.975, freedom) * math.sqrt(share + reference_error**2)
    return by_runs > 0 or by_others > 0


if report["tests"] != len(tests):
    sys.exit(f"fxtdiff tested {report['tests']}, there are {len(tests)} to be tested")
told = {f["name"]: f for f in report["functions"]}
flags = 0
for family, name, p, dispersion, probability, y, freedom, _, q in tests:
    change = told[name][family]
    what = f"{family} of {name}: "
    close(what + "base share", p[0], change["base_share"])
    close(what + "new share", p[1], change["new_share"])
    close(what + "dispersion", dispersion, change["dispersion"], 1e-4)
    close(what + "p", probability, change["p"], 1e-3)
    close(what + "q", q, change["q"], 1e-3)
    by_cost = statistics.fmean(y[N:]) / statistics.fmean(y[:N]) - 1 if sum(y[:N]) else math.inf
    by_share = p[1] / p[0] - 1 if p[0] else math.inf
    flag = None
    if q <= options["q"] and abs(p[1] - p[0]) >= options["min_share"]:
        if min(by_cost, by_share) >= options["min_rel"] and cost_provably_grew(p, y, dispersion, freedom, by_cost):
            flag = "regressed"
        elif max(by_cost, by_share) <= -options["min_rel"]:
            flag = "improved"
    flags += flag is not None
    if (change["flag"] or None) not in ((flag, "moved") if flag == "regressed" else (flag,)):
        sys.exit(f"{what}fxtdiff says {change['flag']}, it is {flag}")
print(f"{len(tests)} tests, {flags} flags")
