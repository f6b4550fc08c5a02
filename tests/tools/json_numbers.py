"""json_numbers.py FILE...: every number in JSON follows the one rule of all programs (docs/architecture.md, Conventions).

Integers up to 2^53 are numbers, beyond it strings; infinities and NaN are strings; addresses are strings.  The texts in the input
must not be digits alone, but for the keys below.  Prints of each file how many integers and how many strings of digits it has."""
import json
import re
import sys

LIMIT = 1 << 53
TEXTS = {"build_id", "object", "hex", "value_text", "version"} # digits by chance
counts = {}
problems = []


def refuse(text):
    problems.append(f"{text} is no JSON")


def walk(value, key, path):
    if isinstance(value, dict):
        for name, inner in value.items():
            walk(inner, name, f"{path}.{name}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            walk(inner, key, f"{path}[{i}]")
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        counts["numbers"] += 1
        if abs(value) > LIMIT:
            problems.append(f"{path} is the number {value}, beyond 2^53")
    elif isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            problems.append(f"{path} is a number that no double holds")
    elif re.fullmatch("-?[0-9]+", value) and key not in TEXTS:
        counts["strings"] += 1
        if abs(int(value)) <= LIMIT:
            problems.append(f"{path} is the string \"{value}\", up to 2^53")


decoder = json.JSONDecoder(parse_constant=refuse)
failed = False
for name in sys.argv[1:]:
    counts.update(numbers=0, strings=0)
    del problems[:]
    with open(name, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().strip()
    if not text:
        problems.append("no output")
    at = 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        walk(value, None, "")
        while at < len(text) and text[at].isspace():
            at += 1
    failed |= bool(problems)
    print(f"{name}: {problems[0]}" if problems else f"{name}: {counts['numbers']} {counts['strings']}")
sys.exit(failed)
