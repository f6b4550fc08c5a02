"""Other ways to compare the runs of two builds, on the same folded stacks: what they flag as regressed.

Each method tests the own cost and the cost with callees of each function whose share reaches 0.5 %, as fxtdiff does, by the share of samples;
a finding needs a growth of share by 5 % and 0.3 points, also as fxtdiff's do.  So only the test differs.

    z-test        two proportions of all samples of both sides, as if samples were independent; Benjamini and Hochberg at 0.05
    Welch         Welch's t-test over the shares in each run; likewise
    Mann-Whitney  the exact rank test over the shares in each run, without ties; likewise
    threshold     no test: the growth alone"""
import functools
import itertools
import math
import statistics

FLOOR, MIN_SHARE, MIN_REL, LEVEL = 0.005, 0.003, 0.05, 0.05


def read_run(path):
    """{(family, function): samples}, and all samples."""
    counts, total = {}, 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, _, number = line.rpartition(" ")
            frames = [frame.split(" (")[0] for frame in stack.split(";")]
            total += int(number)
            for key in {("self", frames[-1]), *(("total", frame) for frame in frames)}:
                counts[key] = counts.get(key, 0) + int(number)
    return counts, total


def t_two_sided(t, df):
    """By the continued fraction of the incomplete beta function (Numerical Recipes, 6.4)."""
    x, a, b = df / (df + t * t), df / 2, 0.5
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    return incomplete_beta(x, a, b)


def incomplete_beta(x, a, b):
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 300):
        for factor in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + factor * d)
            c = 1 + factor / c
            result *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * result


def z_test(base, new):
    (y0, n0), (y1, n1) = ((sum(y for y, _ in side), sum(n for _, n in side)) for side in (base, new))
    pooled = (y0 + y1) / (n0 + n1)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n0 + 1 / n1))
    return math.erfc(abs(y1 / n1 - y0 / n0) / error / math.sqrt(2)) if error > 0 else 1.0


def welch(base, new):
    shares = [[y / n for y, n in side] for side in (base, new)]
    errors = [statistics.variance(side) / len(side) for side in shares]
    difference = statistics.fmean(shares[1]) - statistics.fmean(shares[0])
    if sum(errors) == 0:
        return float(difference == 0)
    df = sum(errors) ** 2 / sum(error ** 2 / (len(side) - 1) for error, side in zip(errors, shares))
    return t_two_sided(difference / math.sqrt(sum(errors)), df)


@functools.lru_cache(maxsize=None)
def rank_sums(n, m):
    """How many choices of n of n + m ranks have each sum."""
    ways = {}
    for chosen in itertools.combinations(range(1, n + m + 1), n):
        ways[sum(chosen)] = ways.get(sum(chosen), 0) + 1
    return ways


def mann_whitney(base, new):
    shares = [y / n for side in (base, new) for y, n in side]
    ranks = [sum(other < one for other in shares) + (1 + sum(other == one for other in shares)) / 2 for one in shares]
    n, m = len(base), len(new)
    distance = abs(sum(ranks[:n]) - n * (n + m + 1) / 2)
    ways = rank_sums(n, m)
    return sum(count for total, count in ways.items() if abs(total - n * (n + m + 1) / 2) >= distance - 1e-9) / sum(ways.values())


METHODS = {"z-test": z_test, "Welch": welch, "Mann-Whitney": mann_whitney, "threshold": lambda base, new: 0.0}


def grew(base, new):
    before, after = (sum(y for y, _ in side) / sum(n for _, n in side) for side in (base, new))
    return after - before >= MIN_SHARE and after >= before * (1 + MIN_REL)


def flagged(paths):
    """{method: names of functions that it calls regressed}."""
    sides = [[read_run(path) for path in side] for side in paths]
    keys = sorted({key for side in sides for counts, _ in side for key in counts})
    everything = sum(total for side in sides for _, total in side)
    rows = {}
    for key in keys:
        samples = sum(counts.get(key, 0) for side in sides for counts, _ in side)
        if FLOOR * everything <= samples < everything:
            rows[key] = [[(counts.get(key, 0), total) for counts, total in side] for side in sides]
    return {name: {key[1] for key in adjusted({key: test(*row) for key, row in rows.items()}) if grew(*rows[key])} for name, test in METHODS.items()}


def adjusted(probabilities):
    """The keys that Benjamini and Hochberg reject."""
    order = sorted(probabilities, key=probabilities.get)
    last = max((rank for rank, key in enumerate(order, 1) if probabilities[key] * len(order) <= rank * LEVEL), default=0)
    return order[:last]
