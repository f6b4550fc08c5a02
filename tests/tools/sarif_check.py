#!/usr/bin/env python3
"""Hold a SARIF log against the schema, formats too, and print its results: sarif_check.py LOG

Status 1, and why, if it is not SARIF 2.1.0.  A line a result, then the verdict and the exit status."""
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


log = json.load(open(sys.argv[1], encoding="utf-8"))
check(log)
for run in log["runs"]:
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        print(result["level"], result["ruleId"], urllib.parse.unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"],
              [s["justification"] for s in result.get("suppressions", [])], sep="|")
    print(run["properties"]["verdict"], run["invocations"][0]["exitCode"])
