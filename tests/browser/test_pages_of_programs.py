"""The report on three real programs, looked at in three widths, light and dark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.beyond, pytest.mark.browser]

PROGRAMS = Path(__file__).parent / "programs"
NAMES = ("gpt", "resnet18", "lstm")
WIDTHS = (1440, 1024, 420)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The pages, by the program's name."""
    pages = {}
    for name in NAMES:
        target = tmp_path_factory.mktemp(name) / "report.html"
        command = [sys.executable, "-m", "clew.cli", "xray", "--as-torch", "--html", str(target)]
        source = Path(__file__).parents[2] / "src"
        ran = subprocess.run(
            [*command, str(PROGRAMS / f"{name}.py")],
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert ran.returncode == 0, ran.stderr
        pages[name] = target.read_text()
    return pages


def shown(opened, reports, name, width=1440, **options):
    return opened(reports[name], viewport={"width": width, "height": 900}, **options)


# The size of each text in pixels of the screen, scaled pictures included.
SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll("body *")]
  .filter(one => one.checkVisibility() && [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim()))
  .filter(one => !one.closest("script, style, option"))
  .map(one => {
    const size = parseFloat(getComputedStyle(one).fontSize);
    const matrix = one instanceof SVGGraphicsElement ? one.getScreenCTM() : null;
    return matrix ? size * Math.hypot(matrix.a, matrix.b) : size;
  }))"""

# Words of the page (not of its pictures) that a line ends within, and numbers that another line has the unit of.
BROKEN_WORDS = r"""() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.parentElement.checkVisibility() || text.parentElement.closest("script, style, option, svg")) continue;
    for (const match of text.data.matchAll(/[A-Za-z]+|\d\s(?:B|[KMGT]iB|[nµm]?s|[kMGT]?FLOP(?:\/s)?|%)(?!\w)/g)) {
      const range = document.createRange();
      range.setStart(text, match.index);
      range.setEnd(text, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].filter(one => one.width > 0).map(one => Math.round(one.top)));
      if (lines.size > 1) found.push(match[0]);
    }
  }
  return found;
}"""

# Labels that an edge runs through: points of each edge in the rectangles of texts and of titles of frames.
CROSSED_LABELS = """() => {
  const labels = [...document.querySelectorAll(".canvas .box > text, .canvas .frame .fold")]
    .map(one => [one.textContent, one.getBoundingClientRect()]);
  const found = new Set();
  for (const edge of document.querySelectorAll(".canvas .edge")) {
    const around = edge.getBoundingClientRect();
    const near = labels.filter(([, box]) => box.right > around.left && box.left < around.right
                                            && box.bottom > around.top && box.top < around.bottom);
    const matrix = edge.getScreenCTM(), length = near.length ? edge.getTotalLength() : -1;
    for (let at = 0; at <= length; at += 5) {  // no label is lower than 11
      const point = edge.getPointAtLength(at).matrixTransform(matrix);
      for (const [text, box] of near)
        if (point.x > box.left && point.x < box.right && point.y > box.top && point.y < box.bottom) found.add(text);
    }
  }
  return [...found];
}"""

OUT_OF_SIGHT = """() => {
  const canvas = document.querySelector(".canvas").getBoundingClientRect();
  return [...document.querySelectorAll(".canvas .box")].map(one => one.getBoundingClientRect())
    .filter(box => box.left < canvas.left || box.right > canvas.right || box.top < canvas.top || box.bottom > canvas.bottom).length;
}"""  # noqa: E501


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_tab_can_be_read(opened, reports, name, width):
    page = shown(opened, reports, name, width).page
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert page.evaluate(SMALLEST_TEXT) >= 10.99, tab.inner_text()
        assert page.evaluate(BROKEN_WORDS) == [], tab.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab.inner_text()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_it_opens_on_the_graph_as_built_with_all_in_sight(opened, reports, name, width):
    page = shown(opened, reports, name, width)
    assert page.page.locator("[role=tab][aria-selected=true]").inner_text() == "Graph"
    assert page.text(".moment") == "moment 1 of 2: built"
    assert page.page.evaluate(OUT_OF_SIGHT) == 0
    assert len(page.boxes()) >= 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folding", ["automatic", "modules", "loops", "nothing"])
def test_edges_pass_beside_labels(opened, reports, name, folding):
    page = shown(opened, reports, name).page
    page.select_option(".folding", folding)
    assert page.evaluate(CROSSED_LABELS) == []


def test_repeated_blocks_are_one_box(opened, reports):
    page = shown(opened, reports, "gpt")
    page.page.select_option(".folding", "modules")
    assert "blocks.0 … blocks.5 · Block \N{MULTIPLICATION SIGN} 6" in page.boxes()
    page = shown(opened, reports, "lstm")
    page.page.select_option(".folding", "modules")
    assert "cell · LSTMCell, head · Linear \N{MULTIPLICATION SIGN} 200" in page.boxes()


def test_boxes_name_modules_parameters_and_costs(opened, reports):
    page = shown(opened, reports, "gpt")
    page.page.select_option(".folding", "modules")
    head = page.page.locator(".box", has_text="head · Linear").text_content()
    assert f"{65 * 64:,} parameters" in head
    flops = 2 * 8 * 32 * 64 * 65
    assert f"{flops / 1e6:.1f} MFLOP" in head
    assert "target" in page.boxes()  # of a view that nothing names any more
    assert page.text(".panel").count(f"{sum_of_gpt():,}") == 1


def test_data_is_called_as_the_program_calls_it(opened, reports):
    page = shown(opened, reports, "gpt")
    page.page.select_option(".folding", "nothing")
    assert "ids" in page.boxes()


def sum_of_gpt():
    """The model's parameters, counted by hand."""
    width, vocabulary, context = 64, 65, 32
    block = 2 * 2 * width + 3 * width * (width + 1) + width * (width + 1)
    block += 4 * width * (width + 1) + width * (4 * width + 1)
    return 2 * vocabulary * width + context * width + 2 * width + 6 * block


def test_a_match_says_its_module(opened, reports):
    page = shown(opened, reports, "gpt")
    page.page.fill(".search", "FlashAttention")
    matches = page.page.locator(".panel .nodes li").all_inner_texts()
    assert len(matches) == 6
    assert "blocks.5.attn · Attention" in matches[5]


def test_the_last_backward_is_shown_and_others_can_be(opened, reports):
    page = shown(opened, reports, "gpt")
    choices = page.page.locator(".switch").first.locator("option").all_inner_texts()
    assert choices == [f"{number} of 5 at gpt.py:58" for number in (5, 4, 2, 1)]
    page.page.locator(".switch").first.select_option("3")
    page.page.wait_for_selector(".graph:not([hidden])[data-ready=yes]")
    assert page.page.locator(".graph:visible").count() == 1
    page.at_moment(1)
    assert page.text(".moment") == "moment 2 of 2: after backward 1 at gpt.py:58"
