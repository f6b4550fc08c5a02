#!/usr/bin/env python3
"""viewer_import.py firefox|speedscope FILE PACKAGES: what the viewer itself adds up after it has opened FILE.

PACKAGES is a node_modules with @firefox-devtools/profiler-cli and speedscope.  Prints "NAME<tab>SELF<tab>TOTAL" in milliseconds with
two digits, sorted: firefox for all functions in all threads; speedscope, which needs Chromium and Selenium, for the functions of the
profile shown first that fit its window."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def firefox(path, packages):
    program = ["node", packages + "/@firefox-devtools/profiler-cli/dist/profiler-cli.js"]
    totals = collections.defaultdict(lambda: [0, 0])
    session = f"test-{os.getpid()}"
    end = time.monotonic() + 600

    def ask(*arguments):
        return subprocess.run(program + list(arguments) + ["--session", session], capture_output=True, text=True)

    # In the foreground: what starts it in the background gives it half a second.
    daemon = subprocess.Popen(program + ["--daemon", path, "--session", session], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        info = ask("profile", "info", "--all", "--json")
        while info.returncode:
            if daemon.poll() is not None:
                sys.exit(f"profiler-cli: status {daemon.returncode}: {info.stdout}{info.stderr}")
            if time.monotonic() > end:
                sys.exit(f"profiler-cli has not opened the file: {info.stdout}{info.stderr}")
            info = ask("profile", "info", "--all", "--json")
        for number in range(json.loads(info.stdout)["threadCount"]):
            shown = ask("thread", "functions", "--thread", f"t-{number}", "--include-idle", "--limit", "0", "--json")
            if shown.returncode:
                sys.exit(f"profiler-cli: {shown.stdout}{shown.stderr}")
            for function in json.loads(shown.stdout)["functions"]:
                totals[function["name"]][0] += function["selfSamples"]
                totals[function["name"]][1] += function["totalSamples"]
    finally:
        daemon.kill()
        daemon.wait()
    return totals


def speedscope(path, packages):
    import base64
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    script = tempfile.NamedTemporaryFile("w", suffix=".js", dir=".", delete=False)
    with script:
        script.write(f"speedscope.loadFileFromBase64('profile.speedscope.json', '{data}')")
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1600,1200", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        page = os.path.abspath(packages + "/speedscope/dist/release/index.html")
        driver.get(f"file://{page}#localProfilePath={os.path.abspath(script.name)}&view=sandwich")
        # Each row is three lines of text: total, self, name.
        row = re.compile(r"^([0-9.,]+(?:ns|µs|ms|s)) \(.*\n([0-9.,]+(?:ns|µs|ms|s)) \(.*\n(.+)$", re.M)
        WebDriverWait(driver, 120).until(lambda d: row.search(d.find_element("tag name", "body").text))
        rows = row.findall(driver.find_element("tag name", "body").text)
    finally:
        driver.quit()

    def milliseconds(number):
        for unit, factor in (("ns", 1e-6), ("µs", 1e-3), ("ms", 1), ("s", 1e3)):
            if number.endswith(unit):
                return float(number[:-len(unit)]) * factor
        raise ValueError(number)

    return {name: [milliseconds(own), milliseconds(total)] for total, own, name in rows}


def main():
    kind, path, packages = sys.argv[1:]
    totals = {"firefox": firefox, "speedscope": speedscope}[kind](path, packages)
    for name, (own, total) in sorted(totals.items()):
        print(f"{name}\t{own:.2f}\t{total:.2f}")


if __name__ == "__main__":
    main()
