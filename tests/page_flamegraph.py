"""The page of "fxtq flamegraph" in a real browser: it loads, zooms, searches, says nothing on the console
and asks the network for nothing.

    page_flamegraph.py PAGE DIFF_PAGE MOVED_PAGE [SCREENSHOT]

The pages are made of the rows that test_fxtq_flame_page.sh has.  Needs Selenium and a Chromium with its driver."""
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
        name, _, fragment = str(path).partition("#")
        browser.get("about:blank")  # so that another fragment is another page
        browser.get(pathlib.Path(name).resolve().as_uri() + ("#" + fragment if fragment else ""))
        WebDriverWait(browser, 60).until(lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))

    def table(self):
        """The rows by their function's name; each cell by its column's."""
        rows = {}
        for row in self.browser.find_elements(By.CSS_SELECTOR, "#table tbody tr"):
            cells = row.find_elements(By.TAG_NAME, "td")
            rows[cells[-2].text] = {cell.get_attribute("class"): cell.text for cell in cells[:-2]}
        return rows

    def fragment(self):
        return self.browser.execute_script("return location.hash.slice(1)")

    def label(self, node, room):
        return self.browser.execute_script("return fit(arguments[0], arguments[1])", node, room)

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
    holds("tip", page.text("tip"), "src/alpha.c:12")

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
    rows = page.table()
    check("table", [(row["own"], name) for name, row in rows.items()],
          [("700 µs 70.00 %", "leaf"), ("100 µs 10.00 %", "main"), ("100 µs 10.00 %", "alpha"), ("100 µs 10.00 %", "beta")])
    check("table, total", rows["leaf"]["all"], "700 µs 70.00 %")
    browser.find_element(By.CSS_SELECTOR, "#table tbody button").click()
    check("a function of the table is searched", page.text("matched"), "70.00 % matched, 2 stacks")
    check("the search in the address", page.fragment(), "search=%5Eleaf%24&table=1")
    page.keys(Keys.ESCAPE)
    page.click(0.3, 2)
    rows = page.table()
    check("the table of what is zoomed into", {name: (row["own"], row["all"]) for name, row in rows.items()},
          {"leaf": ("500 µs 83.33 %", "500 µs 83.33 %"), "alpha": ("100 µs 16.67 %", "600 µs 100.00 %")})
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


def test_address(browser, path):
    """What is shown is in the address, and the browser's way back undoes it."""
    page = Page(browser, path)
    check("nothing to say", page.fragment(), "")
    page.click(0.3, 2)
    page.search("leaf")
    shown = page.fragment()
    page.keys(Keys.TAB)
    again = Page(browser, f"{path}#{shown}")
    check("zoom from the address", again.path(), ["all", "main", "alpha"])
    check("search from the address", again.text("matched"), "70.00 % matched, 2 stacks")
    again.browser.find_elements(By.CSS_SELECTOR, "#path button")[1].click()
    check("zoomed out", again.path(), ["all", "main"])
    browser.back()
    WebDriverWait(browser, 60).until(lambda b: again.path() == ["all", "main", "alpha"])
    for odd in ("zoom=99999", "zoom=-1", "zoom=x", "around=7777", "around=", "type=none", "search=(", "%%%"):
        check(f"#{odd} shows all", Page(browser, f"{path}#{odd}").path(), ["all"])
    browser.get_log("browser")  # odd patterns are no failure, and the console keeps what about:blank said
    page.quiet()


def test_around(browser, path):
    """Callers and callees: leaf is called by alpha and beta, and by itself."""
    page = Page(browser, path)
    assert not page.element("around").is_enabled(), "callers and callees of nothing"
    page.click(0.3, 3)  # leaf below alpha
    page.keys("s")
    holds("path", page.text("path"), "callers and callees of leaf")
    # Rows: main, alpha and beta above leaf, leaf in leaf below.
    page.pointer(0.5, 2).perform()
    holds("the function", page.text("tip"), "total 700 µs (70.00 %)")
    page.pointer(0.2, 1).perform()
    holds("a caller", page.text("tip"), "alpha")
    holds("a caller's part", page.text("tip"), "71.43 % of leaf")
    page.pointer(0.9, 1).perform()
    holds("the other caller", page.text("tip"), "beta")
    page.pointer(0.9, 0).perform()
    holds("a caller's caller", page.text("tip"), "main")
    page.pointer(0.1, 3).perform()
    holds("a callee", page.text("tip"), "28.57 % of leaf")
    page.keys(Keys.ARROW_UP)
    holds("the widest caller", page.text("detail"), "alpha")
    page.keys(Keys.ARROW_RIGHT)
    holds("its neighbour", page.text("detail"), "beta")
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    holds("down to the callee", page.text("detail"), "28.57 % of leaf")
    shown = page.fragment()
    page.click(0.2, 1)
    holds("another function", page.text("path"), "callers and callees of alpha")
    page.keys(Keys.ESCAPE)
    check("back to all", page.path(), ["all"])
    holds("from the address", Page(browser, f"{path}#{shown}").text("path"), "callers and callees of leaf")
    page.keys(Keys.ESCAPE, "t")
    next(row for row in browser.find_elements(By.CSS_SELECTOR, "#table tbody tr") if "beta" in row.text).find_element(By.CLASS_NAME, "turn").click()
    holds("from the table", page.text("path"), "callers and callees of beta")
    check("its table", {name: row["all"] for name, row in page.table().items()}, {"leaf": "200 µs 66.67 %", "beta": "300 µs 100.00 %"})
    page.quiet()


def test_moved(browser, path):
    """Functions of two builds are the same wherever the builds lie."""
    page = Page(browser, f"{path}#table=1")
    rows = page.table()
    check("changes", {name: (row["before"], row["all"], row["change"]) for name, row in rows.items() if name != "parse"},
          {"main": ("1 ms 100.00 %", "1 ms 100.00 %", "+0.00"), "work": ("500 µs 50.00 %", "500 µs 50.00 %", "+0.00"),
           "std::vector<...>::push_back": ("0 ns 0.00 %", "100 µs 10.00 %", "+10.00")})
    check("two modules have a parse", len(browser.find_elements(By.CSS_SELECTOR, "#table tbody tr")), 5)
    check("the largest change first", browser.find_element(By.CSS_SELECTOR, "#table tbody .change").text, "−30.00")
    assert page.element("legend").is_displayed(), "colours say nothing"

    # Names where there is little room.
    node = browser.execute_script("for (let i = 1; i < tree.count; i++) if (functionOf(i).includes('vector')) return i")
    for room, wanted in ((80, "std::vector<int, std::allocator<int> >::push_back(int const&)"), (40, "std::vector<...>::push_back"),
                         (12, "push_back"), (8, "push_ba…"), (5, "")):
        check(f"a name of {room}", page.label(node, room), wanted)
    page.quiet()


def test_narrow(browser, path, diff):
    """A telephone: nothing sticks out, the table's names are there."""
    for file in (path, diff):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False})
        page = Page(browser, f"{file}#table=1")
        check("no more than is seen", browser.execute_script("return document.documentElement.scrollWidth"), 390)
        for row in browser.find_elements(By.CSS_SELECTOR, "#table tbody tr"):
            name = row.find_elements(By.TAG_NAME, "td")[-2]
            assert name.rect["width"] >= 100 and name.rect["x"] + name.rect["width"] <= 390, f"{row.text}: {name.rect}"
        assert page.element("scroll").size["height"] >= 150, "hardly any chart"
        page.quiet()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
        test_page(browser, sys.argv[1], sys.argv[4] if len(sys.argv) > 4 else None)
        test_address(browser, sys.argv[1])
        test_around(browser, sys.argv[1])
        test_diff(browser, sys.argv[2])
        test_moved(browser, sys.argv[3])
        test_narrow(browser, sys.argv[1], sys.argv[3])
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
