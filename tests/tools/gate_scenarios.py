"""How often fxtdiff is right about builds whose truth is known: runs are simulated, written as folded stacks and compared.

gate_scenarios.py [--rounds N] [--seed S] [--check] [--peers] [--] [NAME...]: prints a line for each scenario with how many of N comparisons
ended as PASS, FAIL and INCONCLUSIVE, and in how many the changed function was flagged.  With --check the status is 1 if a bound is missed.
--peers prints a table in Markdown in which other methods (gate_peers.py) decide on the same runs.

Nothing here knows how fxtdiff decides.  A run has a cost of its own (weather), each function a cost of its own in each run, both log-normal,
and samples are Poisson.  Seeds are fixed, so the same command prints the same lines."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import gate_peers

SAMPLES = 20000  # of a run
LAYOUT = 0.015  # by how much another build moves each function, though nothing changed in it


class Scenario:
    """Stacks with their weights in both builds.

    stacks    {frames, root first: (weight in the base, weight in the new build)}; the leaf's noise is the stack's
    changed   the function that is to be flagged; None: none is
    odd       what the first run of the new build costs more than the others, all functions alike
    series    looks at the runs while they are being added, as fxtdiff run -n auto does; runs are then the most that are taken
    bounds    {"fail": (least, most), ...}: shares of very many comparisons"""

    def __init__(self, stacks, changed=None, noise=0.03, weather=None, layout=0.0, samples=SAMPLES, runs=(5, 5), odd=1.0, series=False,
                 **bounds):
        self.stacks, self.changed, self.noise, self.layout, self.samples, self.runs = stacks, changed, noise, layout, samples, runs
        self.weather = noise if weather is None else weather
        self.odd, self.series = odd, series
        self.bounds = bounds


def poisson(rng, mean):
    if mean > 10:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    count, product, limit = -1, 1.0, math.exp(-mean)
    while product > limit:
        product *= rng.random()
        count += 1
    return count


def write_run(scenario, side, scale, shifts, rng, path):
    weather = math.exp(rng.gauss(0, scenario.weather))
    noises = {}
    with open(path, "w", encoding="utf-8") as out:
        for stack, weights in scenario.stacks.items():
            leaf = stack[-1]
            noise = noises.setdefault(leaf, math.exp(rng.gauss(0, scenario.noise)))
            mean = weights[side] * scale * weather * noise * (shifts[leaf] if side else 1)
            count = poisson(rng, mean) if mean > 0 else 0
            if count:
                out.write(";".join(stack) + f" {count}\n")


def write_runs(scenario, rng, folder):
    """Both sides' runs; returns their paths."""
    scale = scenario.samples / sum(weights[0] for weights in scenario.stacks.values())
    shifts = {leaf: math.exp(rng.gauss(0, scenario.layout)) for leaf in sorted({stack[-1] for stack in scenario.stacks})}
    paths = ([], [])
    for side, count in enumerate(scenario.runs):
        for run in range(count):
            paths[side].append(os.path.join(folder, f"{'new' if side else 'base'}-{run}"))
            odd = scenario.odd if side and run == 0 else 1.0
            write_run(scenario, side, scale * odd, shifts, rng, paths[side][-1])
    return paths


def compare(paths, options=()):
    done = subprocess.run(["fxtdiff", "--json", *options, *paths[0], "--", *paths[1]], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1, 5):
        sys.exit(f"fxtdiff: status {done.returncode}")
    return json.loads(done.stdout)


def is_flagged(report, name):
    return any(function["name"].split(" (")[0] == name and function["flag"] == "regressed" for function in report["functions"])


def compare_series(paths):
    """Looks at 5, 8, 12, 18, ... runs of each build, which share 0.05; <fxt/compare.h> has the rule."""
    most = len(paths[0])
    looks = [5]
    while looks[-1] < most:
        looks.append(min(most, looks[-1] + (looks[-1] + 1) // 2))
    for look in looks:
        first = [side[:look] for side in paths]
        report = compare(first, ["--q", repr(0.05 / len(looks))])
        if report["verdict"] == "fail" or (report["verdict"] == "pass" and compare(first, ["--q", "0.5"])["verdict"] != "fail"):
            break
    return report


def rates(scenario, name, rounds, seed, peers=False):
    counts = {"pass": 0, "fail": 0, "inconclusive": 0, "found": 0}
    with tempfile.TemporaryDirectory() as folder:
        for index in range(rounds):
            paths = write_runs(scenario, random.Random(f"{name} {seed} {index}"), folder)
            report = compare_series(paths) if scenario.series else compare(paths)
            counts[report["verdict"]] += 1
            counts["found"] += scenario.changed is not None and is_flagged(report, scenario.changed)
            for method, names in (gate_peers.flagged([side[:5] for side in paths]) if peers else {}).items():
                counts[method] = counts.get(method, 0) + (scenario.changed in names if scenario.changed else bool(names))
            for entry in os.listdir(folder):
                os.unlink(os.path.join(folder, entry))
    return {what: count / rounds for what, count in counts.items()}


def is_within(share, least, most, rounds):
    """Whether the share of some rounds is what bounds of very many explain: with 1.645 standard errors."""

    def stray(bound):
        return 1.645 * math.sqrt(bound * (1 - bound) / rounds)

    return least - stray(least) <= share <= most + stray(most)


# ---- Programs ----


def flat(count, changed=None, share=0.0, factor=1.0):
    """Functions of main with Zipf's shares, of which one has the given share."""
    weights = [1 / (k + 1) for k in range(count)]
    if changed is not None:
        weights[changed] = (sum(weights) - weights[changed]) * share / (1 - share)
    return {("main", f"f{k}"): (w, w * (factor if k == changed else 1)) for k, w in enumerate(weights)}


def part_gone(share, parts):
    """Half of the functions are one part of the program, of that share, which is gone: as a compressor that no longer decompresses."""
    stays = {("main", "compress", f"c{k}"): 1 / (k + 3) for k in range(parts)}
    goes = {("main", "expand", f"e{k}"): 1 / (k + 3) for k in range(parts)}
    scale = share / (1 - share)
    return {**{stack: (w, w) for stack, w in stays.items()}, **{stack: (w * scale, 0.0) for stack, w in goes.items()}}


def faster(share, factor, parts=150, planted=0.0, growth=1.0):
    """Functions of two parts: one has that share, and its functions cost factor times as much in the new build, or various factors from a pair
    of them; the other part is as before, but for planted(), which has a share of its own."""
    least, most = factor if isinstance(factor, tuple) else (factor, factor)
    factors = [least + (most - least) * (k * 7919 % parts) / parts for k in range(parts)]
    slow = {("main", "query", f"q{k}"): 1 / (k + 3) for k in range(parts)}
    rest = {("main", "insert", f"i{k}"): 1 / (k + 3) for k in range(parts)}
    unit = sum(slow.values()) / share
    scale = unit * (1 - share - planted) / sum(rest.values())
    stacks = {**{stack: (w, w * own) for (stack, w), own in zip(slow.items(), factors)},
              **{stack: (w * scale, w * scale) for stack, w in rest.items()}}
    if planted:
        stacks["main", "insert", "planted"] = (planted * unit, planted * unit * growth)
    return stacks


def placed(stacks, files):
    """Frames with their file and line, as py-spy writes them; files: {prefix of the name: file}."""

    def place(frame):
        for prefix, file in files.items():
            if frame.startswith(prefix):
                return f"{frame} ({file}:1)"
        return f"{frame} (src/main.c:1)"

    return {tuple(place(frame) for frame in stack): weights for stack, weights in stacks.items()}


def parser(factor):
    """parse() calls text functions of another file, which other callers use as well; what parse() causes grows."""
    stacks = {("main", f"work{k}"): (1 / (k + 1),) * 2 for k in range(60)}
    everything = sum(w for w, _ in stacks.values())
    for k in range(30):
        weight = everything * 0.086 / 0.9 / 30
        stacks["main", "parse", f"text{k}"] = (weight, weight * factor)
        stacks["main", "print", f"text{k}"] = (weight / 3,) * 2
    stacks["main", "parse_rest"] = (everything * 0.01,) * 2
    return stacks


PARSER_FILES = {"parse": "src/parse.c", "print": "src/print.c", "text": "src/text.c", "work": "src/work.c"}


def moved(stacks_before, stacks_after):
    """60 functions of main, and a tenth of the cost that is elsewhere in the new build."""
    stacks = {("main", f"work{k}"): (1 / (k + 1),) * 2 for k in range(60)}
    tenth = sum(w for w, _ in stacks.values()) / 9
    for stack, share in stacks_before.items():
        stacks[stack] = (tenth * share, 0.0)
    for stack, share in stacks_after.items():
        stacks[stack] = (stacks[stack][0] if stack in stacks else 0.0, tenth * share)
    return stacks


def wrapped(name):
    """The same 60 functions, in the new build below a function that the old one does not have."""
    stacks = {}
    for stack, (weight, _) in moved({}, {}).items():
        stacks[stack] = (weight, 0.0)
        stacks[("main", name) + stack[1:]] = (0.0, weight)
    return stacks


MOVED_FILES = {"a": "src/a.c", "b": "src/b.c", "work": "src/work.c"}


def allocations(factor):
    """What a C++ program allocates, by caller: all own cost is in one function of the library."""
    stacks = {("main", f"user{k}", "vector", "operator new"): (1 / (k + 1),) * 2 for k in range(40)}
    rest = sum(w for w, _ in stacks.values())
    stacks["main", "load", "vector", "operator new"] = (rest * 0.25 / 0.75, rest * 0.25 / 0.75 * factor)
    stacks["main", "load_names", "vector", "operator new"] = (rest * 0.02 / 0.75,) * 2
    return placed(stacks, {"user": "src/user.cc", "load": "src/load.cc", "vector": "bits/stl_vector.h", "operator": "new_op.cc"})


RARE = (0, 0.05)
SCENARIOS = {
    "equal builds, noise 0 %": Scenario(flat(300), noise=0, fail=RARE),
    "equal builds, noise 1 %": Scenario(flat(300), noise=0.01, fail=RARE, inconclusive=RARE),
    "equal builds, noise 3 %": Scenario(flat(300), fail=RARE, inconclusive=RARE),
    "equal builds, noise 5 %": Scenario(flat(300), noise=0.05, fail=RARE),
    "equal builds, noise 8 %": Scenario(flat(300), noise=0.08, fail=RARE),
    "equal builds, 30 functions": Scenario(flat(30), fail=RARE),
    "equal builds, an odd run": Scenario(flat(300), odd=1.5, fail=RARE, inconclusive=RARE),
    "equal builds, 20 samples a run": Scenario(flat(300), samples=20, fail=RARE, **{"pass": (0, 0)}),
    "equal builds, series": Scenario(flat(300), runs=(18, 18), series=True, fail=RARE, **{"pass": (0.95, 1)}),
    "equal builds, series, noise 8 %": Scenario(flat(300), noise=0.08, runs=(18, 18), series=True, fail=RARE),
    "4 % function +12 %, series": Scenario(flat(300, 5, 0.04, 1.12), "f5", runs=(18, 18), series=True, found=(0.7, 1)),
    "all functions +7 %": Scenario({stack: (old, new * 1.07) for stack, (old, new) in flat(300).items()}, noise=0, weather=0.03,
                                     fail=(0.65, 0.95)),
    "4 % function +15 %": Scenario(flat(300, 5, 0.04, 1.15), "f5", found=(0.9, 1)),
    "20 % function gone": Scenario(flat(300, 5, 0.2, 0.0), fail=RARE),
    "20 % function twice as fast": Scenario(flat(300, 5, 0.2, 0.5), fail=RARE),
    "half of two functions gone": Scenario({("main", "f0"): (1, 0.5), ("main", "f1"): (1, 1)}, fail=RARE),
    "half of two gone, noise 8 %": Scenario({("main", "f0"): (1, 0.5), ("main", "f1"): (1, 1)}, noise=0.08, fail=RARE),
    "4 % function +20 %, weather 10 %": Scenario(flat(300, 5, 0.04, 1.2), "f5", weather=0.1, found=(0.8, 1)),
    "40 % function +15 %, weather 10 %": Scenario(flat(300, 5, 0.4, 1.15), "f5", noise=0.01, weather=0.1, found=(0.9, 1)),
    "40 % function twice as fast": Scenario(flat(300, 5, 0.4, 0.5), fail=RARE),
    "part of 20 % gone, beside 40 %": Scenario({**part_gone(0.2, 30), ("main", "c"): (2.13, 2.13)}, fail=RARE),
    "part of 20 % gone, 26 functions": Scenario(part_gone(0.2, 13), fail=RARE),
    "part of 20 % gone, noise 1 %": Scenario(part_gone(0.2, 13), noise=0.01, fail=RARE),
    "part of 20 % gone, another layout": Scenario(part_gone(0.2, 13), noise=0.01, weather=0.02, layout=LAYOUT, fail=RARE),
    "part of 40 % gone, 80 functions": Scenario(part_gone(0.4, 40), fail=RARE),
    "half twice as fast": Scenario(faster(0.5, 0.5), fail=RARE),
    "60 % twice as fast, noise 1 %": Scenario(faster(0.6, 0.5), noise=0.01, fail=RARE),
    "60 % twice as fast, noise 8 %": Scenario(faster(0.6, 0.5), noise=0.08, fail=RARE),
    "80 % twice as fast": Scenario(faster(0.8, 0.5), fail=RARE),
    "80 % twice as fast, noise 1 %": Scenario(faster(0.8, 0.5), noise=0.01, fail=RARE),
    "80 % twice as fast, noise 8 %": Scenario(faster(0.8, 0.5), noise=0.08, fail=RARE),
    "80 % twice as fast, 30 functions": Scenario(faster(0.8, 0.5, 15), fail=RARE),
    "80 % twice as fast, 30 functions, noise 8 %": Scenario(faster(0.8, 0.5, 15), noise=0.08, fail=RARE),
    "80 % twice as fast, 5,000 functions": Scenario(faster(0.8, 0.5, 2500), fail=RARE),
    "80 % twice as fast, 2,000 samples a run": Scenario(faster(0.8, 0.5), samples=2000, fail=RARE),
    "80 % twice as fast, weather 10 %": Scenario(faster(0.8, 0.5), weather=0.1, fail=RARE),
    "70 % gone, 100 functions": Scenario(faster(0.7, 0.0, 50), fail=RARE),
    "80 % gone, noise 8 %": Scenario(faster(0.8, 0.0), noise=0.08, fail=RARE),
    "60 % takes 0.2 to 0.9": Scenario(faster(0.6, (0.2, 0.9)), fail=RARE),
    "60 % takes 0.2 to 0.9, noise 8 %": Scenario(faster(0.6, (0.2, 0.9)), noise=0.08, fail=RARE),
    "80 % takes 0.2 to 0.9": Scenario(faster(0.8, (0.2, 0.9)), fail=RARE),
    "70 % takes nine tenths": Scenario(faster(0.7, 0.9), fail=RARE),
    "60 % twice as fast, 5 % function +25 %": Scenario(faster(0.6, 0.5, 150, 0.05, 1.25), "planted", found=(0.95, 1)),
    "80 % twice as fast, 5 % function +25 %": Scenario(faster(0.8, 0.5, 150, 0.05, 1.25), "planted", found=(0.95, 1)),
    "60 % twice as fast, 4 % function +15 %": Scenario(faster(0.6, 0.5, 150, 0.04, 1.15), "planted", found=(0.7, 1)),
    "60 % gone, 5 % function +25 %": Scenario(faster(0.6, 0.0, 150, 0.05, 1.25), "planted", found=(0.95, 1)),
    "20 % gone, 4 % function +25 %": Scenario(faster(0.2, 0.0, 150, 0.04, 1.25), "planted", found=(0.9, 1)),
    "parse() +49 %, without files": Scenario(parser(1.49), "parse", found=(0.9, 1)),
    "parse() +49 %, callees' file": Scenario(placed(parser(1.49), PARSER_FILES), "parse", found=(0.9, 1)),
    "parse() +49 %, a file each": Scenario(placed(parser(1.49), {**PARSER_FILES, **{f"text{k}": f"src/text{k}.c" for k in range(30)}}), "parse",
                                         found=(0.9, 1)),
    "+20 % allocated by a caller": Scenario(allocations(1.8), "load", noise=0.01, found=(0.95, 1)),
    "moved within a file": Scenario(placed(moved({("main", "a1"): 1}, {("main", "a2"): 1}), MOVED_FILES), fail=(0, 0.02)),
    "moved to another file": Scenario(placed(moved({("main", "a0", "a1"): 1, ("main", "a0", "a3"): 0.3},
                                                   {("main", "a0", "b1"): 1, ("main", "a0", "a3"): 0.3}), MOVED_FILES), fail=(0, 0.02)),
    "moved into the caller": Scenario(placed(moved({("main", "a0", "b1"): 1}, {("main", "a0"): 1}), MOVED_FILES), fail=(0, 0.02)),
    "moved to another caller": Scenario(placed(moved({("main", "a0", "b1"): 0.7, ("main", "a2", "b1"): 0.3},
                                                     {("main", "a0", "b1"): 0.2, ("main", "a2", "b1"): 0.8}),
                                               {**MOVED_FILES, "a2": "src/c.c"}), fail=(0, 0.02)),
    "moved to another branch": Scenario(placed(moved({("main", "a0", "a1", "b1"): 0.7, ("main", "c0", "c1", "b1"): 0.3},
                                                     {("main", "a0", "a1", "b1"): 0.2, ("main", "c0", "c1", "b1"): 0.8}),
                                               {**MOVED_FILES, "c0": "src/c.c", "c1": "src/d.c"}), fail=(0, 0.02)),
    "moved within a file, another branch": Scenario(placed(moved({("main", "a0", "b1"): 0.7, ("main", "c0", "c1", "b2"): 0.3},
                                                                 {("main", "a0", "b1"): 0.2, ("main", "c0", "c1", "b2"): 0.8}),
                                                           {**MOVED_FILES, "c0": "src/c.c", "c1": "src/d.c"}), fail=(0, 0.02)),
    "moved out of main": Scenario(placed(moved({("main",): 1}, {("main", "b1"): 1}), MOVED_FILES), fail=(0, 0.02)),
    "moved below a new function": Scenario(placed(wrapped("all"), {**MOVED_FILES, "all": "src/all.c"}), fail=(0, 0.02)),
}


def kind_of(scenario):
    """What the rates of a table are of: comparisons in which the right function was found, or in which the gate failed."""
    return "found" if scenario.changed else "fail"


def print_heading(rounds):
    print(f"Of {rounds} comparisons each, % that failed, or that found the function that regressed:\n")
    print("| scenario | of | fxtdiff | " + " | ".join(gate_peers.METHODS) + " |\n| --- | --- | --- |" + " --- |" * len(gate_peers.METHODS))


def print_row(name, scenario, shares, wrong):
    kind = kind_of(scenario)
    numbers = [shares[kind], *(shares[method] for method in gate_peers.METHODS)]
    print(f"| {name} | {'found' if kind == 'found' else 'failed'} | " + " | ".join(f"{100 * share:.3g}" for share in numbers) + " |" +
          (" MISSED" if wrong else ""), flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--peers", action="store_true")
    arguments.add_argument("names", nargs="*", help="scenarios whose name contains one of these")
    given = arguments.parse_args()
    missed = False
    if given.peers:
        print_heading(given.rounds)
    for name, scenario in SCENARIOS.items():
        if given.names and not any(word in name for word in given.names):
            continue
        shares = rates(scenario, name, given.rounds, given.seed, given.peers)
        wrong = [what for what, (least, most) in scenario.bounds.items() if not is_within(shares[what], least, most, given.rounds)]
        missed |= bool(wrong)
        if given.peers:
            print_row(name, scenario, shares, wrong)
            continue
        print(f"{name:36} " + "  ".join(f"{what} {100 * share:5.1f} %" for what, share in shares.items()) + ("  MISSED" if wrong else ""),
              flush=True)
    sys.exit(1 if missed and given.check else 0)


main()
