"""The page of "fxtq flamegraph" in a real browser: it loads, zooms, searches, says nothing on the console
and asks the network for nothing.

    page_flamegraph.py PAGE DIFF_PAGE [SCREENSHOT]

PAGE is made of the rows that test_fxtq_flame_page.sh has.  Needs Selenium and a Chromium with its driver."""
import json
import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

ROW = 18


def open_browser():
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,700", "--force-prefers-reduced-motion"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options)


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        browser.get(pathlib.Path(path).resolve().as_uri())
        WebDriverWait(browser, 60).until(lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))

    def text(self, name):
        return self.browser.find_element(By.ID, name).text

    def element(self, name):
        return self.browser.find_element(By.ID, name)

    def path(self):
        return [button.text for button in self.browser.find_elements(By.CSS_SELECTOR, "#path button")]

    def pointer(self, part, row):
        """Go to the frame in that row, part of the chart's width from the left."""
        chart = self.element("scroll")
        x = (part - 0.5) * chart.size["width"]
        return ActionChains(self.browser).move_to_element_with_offset(chart, round(x), round((row + 0.5) * ROW - chart.size["height"] / 2))

    def click(self, part, row):
        self.pointer(part, row).click().perform()

    def keys(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def pixel(self, part, row):
        """The colour drawn there, under the text's line."""
        return self.browser.execute_script(
            "const c = document.getElementById('canvas'), r = devicePixelRatio;"
            "return Array.from(c.getContext('2d').getImageData(Math.round(arguments[0] * c.width), Math.round((arguments[1] * 18 + 14) * r), 1, 1).data)",
            part, row)

    def search(self, text):
        box = self.element("search")
        box.clear()
        box.send_keys(text)

    def quiet(self):
        """Nothing on the console, and no request but for the page itself."""
        said = [entry for entry in self.browser.get_log("browser") if "willReadFrequently" not in entry["message"]]  # that is pixel()
        asked = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        away = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
        assert not said, said
        assert not away, away


def check(what, got, wanted):
    assert got == wanted, f"{what}: {got!r}, not {wanted!r}"


def holds(what, got, part):
    assert part in got, f"{what}: no {part!r} in {got!r}"


def test_page(browser, path, screenshot):
    page = Page(browser, path)
    check("title", page.text("title"), "a <b> & c")
    check("total", page.text("summary"), "1 ms")

    # main 100 %: sorted by name, alpha 60 % left, beta 30 %, own 10 %.
    page.pointer(0.3, 2).perform()
    holds("tip", page.text("tip"), "alpha")
    holds("tip", page.text("tip"), "total 600 µs (60.00 %)")
    holds("tip", page.text("tip"), "self 100 µs (10.00 %)")
    holds("tip", page.text("tip"), "libwork.so")

    page.click(0.3, 2)
    check("path after a click", page.path(), ["all", "main", "alpha"])
    holds("detail", page.text("detail"), "alpha")
    page.pointer(0.5, 3).perform()  # leaf: 5/6 of alpha
    holds("part of what is zoomed into", page.text("tip"), "83.33 % of alpha")
    page.browser.find_elements(By.CSS_SELECTOR, "#path button")[0].click()
    check("path after going back", page.path(), ["all"])

    # Searching: leaf stands below alpha (50 %) and below beta (20 %); a capital letter makes case matter.
    page.search("leaf")
    check("matched", page.text("matched"), "70.00 % matched, 2 stacks")
    page.search("ALPHA|beta")
    check("matched, case", page.text("matched"), "30.00 % matched, 1 stack")
    page.search("main|leaf")
    check("nested matches count once", page.text("matched"), "100.00 % matched, 1 stack")
    page.search("(")
    check("no pattern", page.text("matched"), "not a regular expression")
    page.keys(Keys.ESCAPE)
    check("search is gone", page.text("matched"), "")

    # Keys: down to main, down to its widest callee, right, enter.
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    holds("focus", page.text("detail"), "alpha")
    page.keys(Keys.ARROW_RIGHT)
    holds("focus", page.text("detail"), "beta")
    page.keys(Keys.ARROW_LEFT)
    holds("focus", page.text("detail"), "alpha")
    page.keys(Keys.ENTER)
    check("path after Enter", page.path(), ["all", "main", "alpha"])
    page.keys(Keys.BACK_SPACE)
    check("path after Backspace", page.path(), ["all", "main"])
    page.keys(Keys.ESCAPE)
    check("path after Escape", page.path(), ["all"])

    # Flame or icicle: the root is at the other end.
    top = page.pixel(0.3, 0)
    page.keys("i")
    assert page.pixel(0.3, 0) != top, "the flame stands where the icicle hung"
    page.keys("i")
    check("the icicle is back", page.pixel(0.3, 0), top)

    # The table: a function that calls itself counts once.
    page.keys("t")
    rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in browser.find_elements(By.CSS_SELECTOR, "#table tbody tr")]
    check("table", [(row[0], row[2]) for row in rows], [("700 µs 70.00 %", "leaf"), ("100 µs 10.00 %", "main"), ("100 µs 10.00 %", "alpha"), ("100 µs 10.00 %", "beta")])
    check("table, total", {row[2]: row[1] for row in rows}["leaf"], "700 µs 70.00 %")
    browser.find_element(By.CSS_SELECTOR, "#table tbody button").click()
    check("a function of the table is searched", page.text("matched"), "70.00 % matched, 2 stacks")
    page.keys("t", Keys.ESCAPE)

    # Another sample type; colours; dark.
    Select(page.element("type")).select_by_visible_text("alloc_space")
    check("total of bytes", page.text("summary"), "3 KiB")
    Select(page.element("type")).select_by_index(0)
    warm = page.pixel(0.3, 2)
    Select(page.element("palette")).select_by_visible_text("colour-blind safe")
    assert page.pixel(0.3, 2) != warm, "the palette changes"
    Select(page.element("palette")).select_by_index(0)
    page.element("scroll").click()
    page.keys(Keys.ESCAPE, "d")
    check("dark", browser.execute_script("return document.documentElement.dataset.theme"), "dark")
    assert page.pixel(0.3, 2) != warm, "dark frames"
    page.keys("d")
    check("light again", page.pixel(0.3, 2), warm)
    page.keys("?")
    assert page.element("keys").is_displayed()
    page.keys(Keys.ESCAPE)
    if screenshot:
        browser.save_screenshot(screenshot)
    page.quiet()


def test_diff(browser, path):
    page = Page(browser, path)
    check("both totals", page.text("summary"), "1 ms → 1.2 ms")
    page.pointer(0.3, 2).perform()  # alpha: 60 % before, 66.67 % after
    holds("change", page.text("tip"), "+6.67 points")
    up, down = page.pixel(0.3, 2), page.pixel(0.8, 2)
    assert up[0] > up[2], f"what grew is orange: {up}"
    assert down[2] > down[0], f"what shrank is blue: {down}"
    Select(page.element("width")).select_by_visible_text("before")
    page.pointer(0.97, 2).perform()
    holds("what is gone is seen by its width before", page.text("tip"), "gone")
    page.quiet()


def main():
    browser = open_browser()
    try:
        test_page(browser, sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else None)
        test_diff(browser, sys.argv[2])
    finally:
        browser.quit()


main()
