"""Pages in a real browser: Debian's chromium, headless, driven by Playwright. Skipped where one of them is missing."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """A running browser. `CLEW_CHROMIUM` names its executable if it is not on the path."""
    if "LD_PRELOAD" in os.environ:
        pytest.skip("the browser does not start under a sanitizer")
    driver = pytest.importorskip("playwright.sync_api", reason="the browser tests need `pip install playwright`")
    executable = os.environ.get("CLEW_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("the browser tests need chromium (`apt-get install chromium`) or CLEW_CHROMIUM")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


# The contrast of WCAG 2: https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio
_CONTRAST = """element => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= 0.03928 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  const colours = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
  const both = colours.map(numbers).map(luminance);
  return getComputedStyle(element).opacity * (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}"""


SHOWN = ".graph:not([hidden])"


class Opened:
    """A page with what a reader does to it; `complaints` are errors and warnings of its console."""

    def __init__(self, page, complaints):
        self.page = page
        self.complaints = complaints

    def text(self, selector):
        return self.page.locator(f"{selector}:visible").first.inner_text()

    def contrast(self, selector):
        """Of the text to its ground."""
        return self.page.locator(selector).first.evaluate(_CONTRAST)

    def boxes(self):
        """The titles of all boxes, folded groups included."""
        return self.page.locator(f"{SHOWN} .box .title").all_text_contents()

    def classes(self, title):
        box = self.page.locator(f"{SHOWN} .box", has=self.page.get_by_text(title, exact=True))
        return box.first.get_attribute("class").split()

    def click(self, title):
        self.page.locator(f"{SHOWN} .fit").click()  # what is out of sight cannot be clicked
        self.page.locator(f"{SHOWN} .box .title", has_text=title).first.click()

    def at_moment(self, number):
        self.page.locator(f"{SHOWN} .life").evaluate(
            "(slider, number) => { slider.value = number; slider.dispatchEvent(new Event('input')); }", number
        )


@pytest.fixture
def opened(chromium, tmp_path):
    """``opened(html)`` opens a document that has no network; in the end its console must be silent."""
    contexts, all_complaints = [], []

    def open_page(html, wait_for=".graph[data-ready=yes]", **options):
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        options.setdefault("viewport", {"width": 1400, "height": 900})
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: all_complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: all_complaints.append(str(error)))
        page.on("request", lambda request: check_local(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(wait_for, timeout=60_000, state="attached")
        return Opened(page, all_complaints)

    def check_local(url):
        if not url.startswith(("file:", "data:", "blob:")):
            all_complaints.append(f"asked for {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert all_complaints == []
