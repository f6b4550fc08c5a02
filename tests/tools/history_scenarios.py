"""How often "fxtdiff history" is right about histories whose truth is known: runs of many commits are simulated and written as folded stacks.

history_scenarios.py [--rounds N] [--seed S] [--check] [NAME...]: prints a line for each scenario with the parts of N histories in which the
changed function was found, found within 3 commits, in which the range of commits and the interval of the size (of those that were found)
have the truth, and in which something else was called a change: once, or more than once.  With --check the status is 1 if a bound is missed.

Nothing here knows how fxtdiff finds a change.  A run has a cost of its own (weather), each function a cost of its own in each run, both
log-normal, and samples are Poisson.  Seeds are fixed, so the same command prints the same lines."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

COMMITS, FUNCTIONS, SAMPLES = 100, 200, 20000
HOT, HOT_SHARE = "hot", 0.05


def step(factor):
    """From one commit on, which is drawn, the function costs more."""
    return lambda commit, at: factor if commit >= at else 1.0


def creep(commit, at):
    """A percent more in each of 20 commits."""
    return 1.01 ** min(max(commit - at + 1, 0), 20)


def taken_back(commit, at):
    return 1.3 if at <= commit < at + 8 else 1.0


class Scenario:
    """growth(commit, at) is what the hot function's cost is multiplied by; None: nothing changes.  gone: a function of this share
    disappears at a commit, which no other function is to be blamed for.  odd: part of the runs in which a function costs much more, by
    chance.  factor: of a step, to judge the interval of its size.  hot: the share of the function that changes.
    bounds: {"found": least part, "near": ..., "range": ..., "size": ..., "false": most, "several": most}"""

    def __init__(self, growth=None, noise=0.03, runs=1, gone=0.0, odd=0.0, factor=None, hot=HOT_SHARE, **bounds):
        self.growth = step(factor) if factor else growth
        self.noise, self.runs, self.gone, self.odd, self.hot, self.bounds = noise, runs, gone, odd, hot, bounds
        # What a share grows by of which the cost grows by the factor.
        self.size = factor / (1 + hot * (factor - 1)) - 1 if factor else None


SCENARIOS = {
    "null 1%": Scenario(noise=0.01, false=0.05, several=0.05),
    "null 3%": Scenario(noise=0.03, false=0.05, several=0.05),
    "null 5%": Scenario(noise=0.05, false=0.05, several=0.05),
    "null 5%, 3 runs": Scenario(noise=0.05, runs=3, false=0.05, several=0.05),
    "null 3%, odd runs": Scenario(noise=0.03, odd=0.01, false=0.05, several=0.05),
    "step 1%": Scenario(factor=1.1, noise=0.01, found=0.99, near=0.99, range=0.9, size=0.95, several=0.05),
    "step 3%": Scenario(factor=1.1, noise=0.03, found=0.99, near=0.95, range=0.9, size=0.95, several=0.05),
    "step 5%": Scenario(factor=1.1, noise=0.05, found=0.95, near=0.9, range=0.9, size=0.95, several=0.05),
    "step 5%, 3 runs": Scenario(factor=1.1, noise=0.05, runs=3, found=0.99, near=0.95, range=0.9, size=0.95, several=0.05),
    "improvement 3%": Scenario(factor=1 / 1.1, noise=0.03, found=0.99, near=0.9, range=0.9, size=0.95, several=0.05),
    "half of the program": Scenario(factor=1.2, noise=0.03, hot=0.45, found=0.95, near=0.9, false=0.05, several=0.05),
    "creep 1%": Scenario(creep, noise=0.01, found=0.95, several=0.1),
    "creep 5%": Scenario(creep, noise=0.05, found=0.95, several=0.1),
    "taken back 3%": Scenario(taken_back, noise=0.03, found=0.9, near=0.9, several=0.05),
    "gone 40%": Scenario(noise=0.03, gone=0.4, false=0.05, several=0.05),
}


def poisson(rng, mean):
    if mean > 10:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    count, product, limit = -1, 1.0, math.exp(-mean)
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def shares_of(scenario):
    """Zipf's, beside the hot one."""
    weights = {f"f{i}": 1 / (i + 2) for i in range(FUNCTIONS - 1)}
    rest = 1 - scenario.hot - scenario.gone
    total = sum(weights.values())
    shares = {name: rest * weight / total for name, weight in weights.items()}
    shares[HOT] = scenario.hot
    if scenario.gone:
        shares["gone"] = scenario.gone
    return shares


def write_run(scenario, shares, commit, at, rng, path):
    weather = math.exp(rng.gauss(0, scenario.noise))
    with open(path, "w", encoding="utf-8") as out:
        for name, share in shares.items():
            mean = SAMPLES * share * weather * math.exp(rng.gauss(0, scenario.noise))
            if name == HOT and scenario.growth:
                mean *= scenario.growth(commit, at)
            if name == "gone" and commit >= at:
                mean = 0
            if scenario.odd and rng.random() < scenario.odd:
                mean *= math.exp(rng.gauss(0, 10 * scenario.noise))
            count = poisson(rng, mean) if mean > 0 else 0
            if count:
                out.write(f"main;{name} {count}\n")


def write_history(scenario, at, rng, folder):
    shares = shares_of(scenario)
    for commit in range(COMMITS):
        name = os.path.join(folder, f"c{commit:03}")
        os.mkdir(name)
        for run in range(scenario.runs):
            write_run(scenario, shares, commit, at, rng, os.path.join(name, f"{run}.folded"))


def analyse(folder):
    done = subprocess.run(["fxtdiff", "history", "--json", "--order", "name", folder], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"fxtdiff history: status {done.returncode}")
    return json.loads(done.stdout)


def judge(scenario, at, report):
    """What one history came to."""
    mine = [change for series in report["series"] for change in series["changes"] if series["name"] == HOT and scenario.growth]
    others = [series["name"] for series in report["series"] for change in series["changes"]
              if not (series["name"] == HOT and scenario.growth) and not (scenario.gone and series["name"] in ("gone", "total"))
              and not (scenario.hot > HOT_SHARE and series["name"] == "total")]
    best = min(mine, key=lambda change: abs(change["at"] - at), default=None)
    truth = 2 if scenario.growth is taken_back else 1
    wrong = len(others) + max(0, len(mine) - truth)
    return {
        "found": best is not None,
        "near": best is not None and abs(best["at"] - at) <= 3,
        "range": best is not None and best["last_good"] < at <= best["first_bad"],
        "size": best is not None and scenario.size is not None and best["low"] <= scenario.size <= best["high"],
        "width": best["first_bad"] - best["last_good"] if best else 0,
        "false": wrong > 0,
        "several": wrong > 1,
    }


def simulate(name, scenario, rounds, seed):
    results = []
    for i in range(rounds):
        rng = random.Random(f"{name} {seed} {i}")
        at = rng.randrange(10, COMMITS - (10 if scenario.growth is not creep else 30))
        with tempfile.TemporaryDirectory() as folder:
            write_history(scenario, at, rng, folder)
            results.append(judge(scenario, at, analyse(folder)))
    found = max(1, sum(result["found"] for result in results))
    return {key: sum(result[key] for result in results) / (found if key in ("size", "width") else rounds) for key in results[0]}


def misses(scenario, rates, rounds):
    """Bounds that these rates break.  They hold for very many histories: a few may miss by 2 standard deviations of their number."""
    found = []
    for key, bound in scenario.bounds.items():
        slack = 2 * math.sqrt(bound * (1 - bound) / rounds) + 1 / rounds
        at_most = key in ("false", "several")
        if rates[key] > bound + slack if at_most else rates[key] < bound - slack:
            found.append(f"{key} is {rates[key]:.3f}, and not {'at most' if at_most else 'at least'} {bound}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    bad = 0
    for name in arguments.names or SCENARIOS:
        scenario = SCENARIOS[name]
        rates = simulate(name, scenario, arguments.rounds, arguments.seed)
        print(f"{name:20} " + "  ".join(f"{key} {rate:.2f}" for key, rate in rates.items()), flush=True)
        for miss in misses(scenario, rates, arguments.rounds) if arguments.check else ():
            print(f"{name}: {miss}", file=sys.stderr)
            bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
