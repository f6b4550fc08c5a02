"""The page of fxtdiff --html in a real browser: sorts and searches its table, draws its chart, is readable without JavaScript, says
nothing on the console and asks the network for nothing.

    page_report.py PAGE [SCREENSHOT_PREFIX]

The page is the one that test_fxtdiff_html.sh makes last.  Needs Selenium and a Chromium with its driver."""
import pathlib
import sys

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from page_flamegraph import Page, check, holds, open_browser


def names(browser):
    return [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, "#functions td.name span") if cell.is_displayed()]


def sort(browser, title):
    next(button for button in browser.find_elements(By.CSS_SELECTOR, "#functions th button") if button.text == title).click()


def screenshot(browser, prefix, name):
    if prefix:
        browser.get_screenshot_as_file(f"{prefix}-{name}.png")


def test_table(browser, path, prefix):
    page = Page(browser, path)
    holds("verdict", page.text("verdict"), "FAIL")
    first = names(browser)
    check("the finding is first", first[0], "hot<int>")
    sort(browser, "base")
    check("the largest share first", names(browser)[0], "main")
    sort(browser, "base")
    check("the smallest share first", names(browser)[-1], "main")
    sort(browser, "function")
    check("by name", names(browser), sorted(first))
    sort(browser, "result")
    check("as it was", names(browser), first)
    box = browser.find_element(By.ID, "functions-search")
    box.send_keys("PARSE")
    check("found", names(browser), ["parse_new (was parse_old)"])
    check("how many", page.text("functions-found"), "1 of 3")
    # Keys of the chart are the chart's.
    box.clear()
    box.send_keys("t/")
    check("nothing happens to the chart", browser.find_element(By.ID, "table").is_displayed(), False)
    check("the search keeps its keys", box.get_attribute("value"), "t/")
    box.clear()
    box.send_keys(Keys.SPACE, Keys.BACKSPACE)
    screenshot(browser, prefix, "light")
    page.quiet()


def test_chart(browser, path, prefix):
    page = Page(browser, path)
    holds("totals", page.text("summary"), "10,030 → 11,030")
    chart = browser.find_element(By.ID, "flame")
    browser.execute_script("arguments[0].scrollIntoView()", chart)
    page.pointer(0.1, 1).perform()
    holds("a frame", page.text("tip"), "main")
    browser.find_element(By.ID, "top").click()
    rows = {name: row["change"] for name, row in page.table().items()}
    check("changes", rows, {"main": "+0.00", "hot<int>": "+6.33", "parse_new": "−2.71"})
    up = page.pixel(0.1, 2)
    assert up[0] > up[2], f"what grew is orange: {up}"
    screenshot(browser, prefix, "chart")
    browser.find_element(By.ID, "theme").click()
    check("dark", browser.execute_script("return document.documentElement.dataset.theme"), "dark")
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    check("the whole page is", background, "rgb(23, 24, 26)")
    browser.execute_script("scrollTo(0, 0)")
    screenshot(browser, prefix, "dark")
    page.quiet()


def test_narrow(browser, path):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False})
    Page(browser, path).quiet()
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= 390, f"{width} pixels are wider than the window"
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_script(browser, path, prefix):
    """Verdict, table and runs are there, the chart says why it is not; it is dark where the reader's pages are."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    browser.get("about:blank")
    browser.get(pathlib.Path(path).resolve().as_uri())
    holds("verdict", browser.find_element(By.ID, "verdict").text, "FAIL")
    check("functions", len(names(browser)), 3)
    check("runs", len(browser.find_elements(By.CSS_SELECTOR, "#runs tbody tr")), 10)
    check("dots", len(browser.find_elements(By.CSS_SELECTOR, "#functions tbody tr:first-child circle")), 10)
    check("no chart", browser.find_element(By.ID, "flame").is_displayed(), False)
    check("no search", browser.find_element(By.ID, "functions-search").is_displayed(), False)
    holds("why", browser.find_element(By.TAG_NAME, "body").text, "The flame graph is drawn with JavaScript.")
    screenshot(browser, prefix, "plain")


def main():
    browser = open_browser()
    prefix = sys.argv[2] if len(sys.argv) > 2 else None
    try:
        test_table(browser, sys.argv[1], prefix)
        test_chart(browser, sys.argv[1], prefix)
        test_narrow(browser, sys.argv[1])
        test_without_script(browser, sys.argv[1], prefix)
    finally:
        browser.quit()


main()
