"""The page of fxtdiff --html, as one who reads it without JavaScript has it, against the report of the same runs as JSON.

    html_report.py PAGE JSON       prints the verdict, the functions and what the chart has of each

Whatever is in the page and should not be - a tag that is not closed, a resource elsewhere, a name that is not escaped, a number
that is not that of the JSON - is an error."""
import base64
import html.parser
import json
import re
import struct
import sys
import zlib

VOID = {"meta", "link", "input", "br"}
TAGS = VOID | {"html", "head", "title", "style", "noscript", "body", "div", "span", "b", "small", "p", "ul", "li", "h1", "h2", "table", "thead", "tbody", "tr",
               "th", "td", "svg", "circle", "line", "text", "section", "header", "footer", "nav", "canvas", "label", "select", "option",
               "button", "i", "dialog", "dl", "dt", "dd", "form", "script"}
REFUSED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd-\uffff]")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tables, self.scripts, self.texts = [], {}, {}, [], {}
        self.cell = self.table = None
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag in TAGS, f"<{tag}>"
        for name, value in attributes.items():
            assert not name.startswith("on") and name != "style", f"{name}={value}"
            assert name not in ("src", "href") or value == "data:,", f"{name}={value}"
        if "id" in attributes:
            assert attributes["id"] not in self.ids, f"two are {attributes['id']}"
            self.ids[attributes["id"]] = attributes
        if tag not in VOID:
            self.open.append((tag, attributes.get("id")))
        if tag == "table":
            self.table = self.tables.setdefault(attributes["id"], [])
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.cell = {"class": attributes.get("class"), "value": attributes.get("data-value"), "text": "", "small": [], "dots": []}
            self.table[-1].append(self.cell)
        elif tag == "small":
            self.cell["small"].append("")
        elif tag == "circle":
            self.cell["dots"].append([attributes["class"], float(attributes["cx"]), ""])
        elif tag == "script":
            self.scripts.append([attributes, ""])

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> in {self.open}"
        self.open.pop()
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, text):
        tags = [tag for tag, _ in self.open]
        if "script" in tags:
            self.scripts[-1][1] += text
            return
        if "style" in tags:
            return
        assert not REFUSED.search(text), f"shown as it is: {text!r}"
        for _, name in self.open:
            if name:
                self.texts[name] = self.texts.get(name, "") + text
        if self.cell is None:
            return
        if "small" in tags:
            self.cell["small"][-1] += text
        elif "title" in tags:
            self.cell["dots"][-1][2] += text
        elif "svg" not in tags:
            self.cell["text"] += text


def visible(text):
    """As base/visible.h has it, of what a JSON string can hold."""
    return REFUSED.sub(lambda found: {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        found[0], f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}"), text)


def same(what, got, wanted):
    assert got == wanted, f"{what}: {got!r}, not {wanted!r}"


def check_verdict(page, report):
    verdict = page.texts["verdict"]
    same("verdict", verdict.split()[0].lower(), report["verdict"])
    assert verdict.endswith((report["reasons"] or [""])[0]), verdict
    same("power", page.texts["power"], "Power: " + report["power"])


def check_runs(page, report):
    rows = page.tables["runs"][1:]
    same("runs", [(row[0]["text"], row[1]["text"]) for row in rows], [(run["side"], visible(run["label"])) for run in report["runs"]])
    same("samples", [int(row[3]["text"].replace(",", "")) for row in rows], [run["samples"] for run in report["runs"]])


def check_dots(dots, values, what):
    """On one axis, in the order of runs."""
    same(f"dots of {what}", [dot[0] for dot in dots], ["base"] * len(values["base"]) + ["new"] * len(values["new"]))
    all_values = values["base"] + values["new"]
    low, high = min(all_values), max(all_values)
    for dot, value in zip(dots, all_values):
        place = 6 + 228 * (value - low) / (high - low) if high > low else 120
        assert abs(dot[1] - place) <= 0.06, f"{what}: {dot} for {value}"


def check_total(page, report):
    row = page.tables["total"][1]
    costs = {side: [run["cost"] for run in report["runs"] if run["side"] == side] for side in ("base", "new")}
    check_dots(row[-1]["dots"], costs, "the total")
    same("change", row[3]["text"].rstrip("%"), f"{100 * report['total']['relative']:+.1f}")


def check_functions(page, report):
    rows = page.tables["functions"][1:]
    same("functions", len(rows), min(1000, len(report["functions"])))
    for i, (row, function) in enumerate(zip(rows, report["functions"])):
        name = visible(function["name"])
        change = function["self" if row[2]["text"] == "self" else "total"]
        # JSON does not have the bytes that are no UTF-8.
        pattern = re.escape(name).replace("\\\\ufffd", r"\\x[89a-f][0-9a-f]")
        assert any(re.fullmatch(pattern, text) for text in [row[1]["text"], *row[1]["small"]]), f"{row[1]}, not {name}"
        same("place in the report", row[0]["value"], str(i))
        for cell, key in ((3, "base_share"), (4, "new_share")):
            same(f"{key} of {name}", float(row[cell]["value"]), change[key])
            same(f"{key} of {name}", row[cell]["text"], f"{100 * change[key]:.2f} %")
        same(f"points of {name}", row[5]["text"].split()[0], f"{100 * (change['new_share'] - change['base_share']):+.2f}")
        if function["values"]:
            same(f"family of {name}", row[2]["text"], function["values"]["of"])
            check_dots(row[8]["dots"], function["values"], name)
        else:
            same(f"dots of {name}", row[8]["dots"], [])


def unpack(text):
    return zlib.decompress(base64.b64decode(text))


def numbers(text, kind):
    data = unpack(text)
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def check_chart(page, report):
    """Its totals are those of average runs.  Prints the self costs of each function and module."""
    if "no-chart" in page.texts:
        print("chart:", page.texts["no-chart"])
        same("scripts", len(page.scripts), 1)
        return
    data = json.loads(next(text for attributes, text in page.scripts if attributes.get("id") == "data"))
    same("sides", (data["diff"], len(data["self"])), (True, 2))
    columns = [numbers(column, "d") for column in data["self"]]
    for column, side in zip(columns, ("base", "new")):
        costs = [run["cost"] for run in report["runs"] if run["side"] == side] or [0]
        assert abs(sum(column) - sum(costs) / len(costs)) <= 1e-6 * sum(column), f"{side}: {sum(column)}, not the mean of {costs}"
    strings = unpack(data["strings"]).decode().split("\n")
    functions, modules, places = (numbers(data[key], "I") for key in ("functions", "modules", "places"))
    sums = {}
    for node, name in enumerate(numbers(data["name"], "I")):
        key = (strings[functions[name]], strings[modules[name]], strings[places[name]])
        was = sums.get(key, (0, 0))
        sums[key] = (was[0] + columns[0][node], was[1] + columns[1][node])
    same("nodes", data["nodes"], len(columns[0]))
    for (function, module, place), (base, new) in sorted(sums.items()):
        if function:
            print(f"chart: {function}|{module}|{place}|{base:g}|{new:g}")


def main():
    text = open(sys.argv[1], encoding="utf-8", errors="strict").read()
    report = json.loads(open(sys.argv[2], encoding="utf-8", errors="strict").read())
    page = Page(text)
    check_verdict(page, report)
    check_runs(page, report)
    if report["total"]:
        check_total(page, report)
        check_functions(page, report)
    for row in page.tables.get("environment", [])[1:]:
        print("environment: " + "|".join(cell["text"] for cell in row))
    for row in page.tables.get("budgets", []):
        print("budget: " + "|".join(cell["text"] for cell in row))
    check_chart(page, report)


main()
