#!/usr/bin/env python3
"""Hold a SARIF log against the schema, formats too, and GitHub's rules, and print its results: sarif_check.py LOG

Status 1, and why, if it is not SARIF 2.1.0, or if GitHub would refuse it.  A line a result, then the verdict and the exit status."""
import json
import pathlib
import re
import sys
import urllib.parse

import jsonschema

SCHEMA = pathlib.Path(__file__).parents[2] / "testdata/fxtdiff/sarif-2.1.0-rtm.5.json"

# RFC 3986, appendix A: which characters may stand where, and that there is a scheme.
CHARACTER = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
REST = rf"(?://(?:{CHARACTER}|\[[0-9A-Fa-f:.]+\])*)?(?:{CHARACTER}|/)*(?:\?(?:{CHARACTER}|[/?])*)?(?:#(?:{CHARACTER}|[/?])*)?"
URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*:{REST}")
# Of a reference without a scheme, the first part has no colon.
RELATIVE = re.compile(rf"(?![^/?#]*:){REST}")
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

# The library's own depend on which packages are there.
formats = jsonschema.FormatChecker(formats=())
for name, matches in (("uri", URI.fullmatch), ("uri-reference", lambda text: URI.fullmatch(text) or RELATIVE.fullmatch(text)),
                      ("date-time", DATE_TIME.fullmatch)):
    formats.checks(name)(lambda text, matches=matches: not isinstance(text, str) or bool(matches(text)))


def check(log):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator.check_schema(schema)
    error = jsonschema.exceptions.best_match(jsonschema.Draft4Validator(schema, format_checker=formats).iter_errors(log))
    if error:
        sys.exit(f"/{'/'.join(map(str, error.absolute_path))}: {error.message}")




def check_github(run):
    """What "Sarif.Multitool validate --rule-kind 'Sarif;Ghas'" demands of a log like ours, each as /PATH: REASON."""

    def demand(holds, where, why):
        if not holds:
            sys.exit(f"/runs/0/{where}: {why}")

    driver = run["tool"]["driver"]
    demand(driver.get("name"), "tool/driver", "GH2007: no name")
    demand(len(driver["rules"]) <= 25000 and len(run["results"]) <= 25000, "results", "GH2003: too many")
    for index, rule in enumerate(driver["rules"]):
        where = f"tool/driver/rules/{index}"
        for key in ("shortDescription", "fullDescription", "help"):
            text = rule.get(key, {}).get("text", "")
            demand(text.endswith("."), where, f"GH2012: no {key} that is a sentence")
            demand(len(text) <= 1024, where, f"GH2008: {key} is too long")
        demand(re.fullmatch(r"[A-Z][A-Za-z]+", rule.get("name", "")), where, "SARIF2012: a name in Pascal case")
        demand(rule["name"].lower() != rule["id"].lower(), where, "SARIF1001: the name is the ID")
    demand(len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"]), "tool/driver/rules", "SARIF1012: an ID is used twice")
    for index, result in enumerate(run["results"]):
        where = f"results/{index}"
        demand(result.get("message", {}).get("text"), where, "GH2002: no message")
        demand(len(result.get("locations", ())) == 1, where, "GH1003: not one location")
        place = result["locations"][0].get("physicalLocation", {})
        demand(place.get("artifactLocation", {}).get("uri"), where, "GH1001: no file")
        demand(place.get("region", {}).get("startLine", 0) > 0, where, "GH1003: no line")
        demand(not re.search(r"\.(fxt|fxtq|pb\.gz|folded)(%23\d+)?$", place["artifactLocation"]["uri"]), where, "a run is no place in source")
        demand(result.get("partialFingerprints"), where, "GH2010: no fingerprint")


log = json.load(open(sys.argv[1], encoding="utf-8"))
check(log)
check_github(log["runs"][0])
for run in log["runs"]:
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        print(result["level"], result["ruleId"], urllib.parse.unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"],
              [s["justification"] for s in result.get("suppressions", [])], sep="|")
    print(run["properties"]["verdict"], run["invocations"][0]["exitCode"])
