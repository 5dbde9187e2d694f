"""The chart of memory over time, as a reader uses it."""

import itertools
import json

import pytest

import clew
from clew import nn

pytestmark = [pytest.mark.browser, pytest.mark.beyond]

CATEGORIES = {
    "parameters and buffers",
    "gradients",
    "optimizer state",
    "input data",
    "activations saved by the graph",
    "temporaries",
}


@pytest.fixture(scope="module")
def recorded():
    """Two steps of training, the first before the recording, the allocator's own peak, and what was there before."""
    others = clew.memory.stats().live
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(30, 40), nn.BatchNorm1d(40), nn.Tanh(), nn.Sequential(nn.Linear(40, 5), nn.Tanh()))
    optimizer = clew.optim.Adam(model.parameters())
    batch = clew.randn(64, 30)
    for step in range(2):
        if step == 1:
            clew.memory.reset_peak()
            timeline = clew.memory.timeline().__enter__()
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
    timeline.__exit__(None, None, None)
    return timeline, clew.memory.stats().peak, model, batch, others


@pytest.fixture
def page(opened, recorded):
    return opened(recorded[0].html, wait_for=".memory[data-ready=yes]").page


def rows(page):
    found = {}
    for row in page.locator(".memory-table tr").all():
        found[row.locator("button").inner_text()] = int(row.locator("[data-bytes]").get_attribute("data-bytes"))
    return found


def test_each_area_has_its_name_and_colour_below_the_chart(page):
    for by in ("category", "module"):
        page.select_option(".memory-by", by)
        areas = page.locator(".memory-chart path[data-name]").all()
        told = page.locator(".memory-legend > span").all()
        assert [one.inner_text() for one in told] == [one.get_attribute("data-name") for one in areas]
        colours = [one.locator(".swatch").evaluate("one => getComputedStyle(one).backgroundColor") for one in told]
        assert colours == [one.evaluate("one => getComputedStyle(one).fill") for one in areas]


def test_totals_are_the_allocators(page, recorded):
    _, peak, _, _, _ = recorded
    assert int(page.locator(".memory-title").get_attribute("data-bytes")) == peak
    assert sum(rows(page).values()) == peak
    for by in ("module", "line"):
        page.select_option(".memory-by", by)
        assert sum(rows(page).values()) == peak


def test_categories_hold_what_they_say(page, recorded):
    _, _, model, batch, others = recorded
    found = rows(page)
    assert found.keys() <= CATEGORIES
    size = sum(one.numel() * 4 for one in model.parameters())
    buffers = sum(one.numel() * one.dtype.itemsize for one in model.buffers())
    assert 0 <= found["parameters and buffers"] - size - buffers <= others
    assert found["optimizer state"] >= 2 * size
    assert found["input data"] >= batch.numel() * 4
    assert found["activations saved by the graph"] >= 64 * 40 * 4 * 2


def test_the_time_axis_is_linear_and_round(page):
    ticks = page.evaluate(
        "() => [...document.querySelectorAll('.memory-chart .tick')].map(one => Number(one.getAttribute('x1')))"
    )
    labels = page.locator(
        ".memory-chart text[text-anchor=middle], .memory-chart text[text-anchor=end]"
    ).all_text_contents()
    times = [float(text.split()[0]) for text in labels if text.endswith("s")]
    assert len(times) >= 3
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert max(steps) == pytest.approx(min(steps))
    assert float(f"{steps[0]:.0e}"[0]) in (1, 2, 5)
    gaps = [after - before for before, after in itertools.pairwise(ticks)]
    assert max(gaps) == pytest.approx(min(gaps), abs=0.1)


def test_an_axis_has_one_unit(page):
    labels = page.locator(".memory-chart text").all_text_contents()
    assert {text.split()[1] for text in labels if text.endswith("B")} == {"KiB"}
    assert len({text.split()[1] for text in labels if text.endswith("s")}) == 1


@pytest.mark.parametrize("by", ["category", "module", "line"])
def test_nothing_is_hidden_in_a_rest(page, by):
    page.select_option(".memory-by", by)
    assert page.locator(".memory-chart [data-name='everything else']").count() == 0


@pytest.mark.parametrize("width", [1440, 420])
def test_the_table_of_lines_is_in_sight(opened, recorded, width):
    page = opened(recorded[0].html, wait_for=".memory[data-ready=yes]", viewport={"width": width, "height": 900}).page
    page.select_option(".memory-by", "line")
    assert page.locator(".memory-side").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_colours_and_what_is_read_off_are_of_the_names_shown(page):
    page.locator(".memory-chart").hover()
    page.select_option(".memory-by", "line")
    assert "activations" not in page.locator(".memory .note").inner_text()
    colours = "rows => rows.map(row => [row.textContent, row.querySelector('.swatch').style.background])"
    swatches = dict(page.locator(".memory-table .drill").evaluate_all(colours))
    areas = "all => all.map(area => [area.dataset.name, area.style.fill])"
    fills = dict(page.locator(".memory-chart [data-name]").evaluate_all(areas))
    assert {name: swatches[name] for name in fills if name in swatches} == {
        name: fill for name, fill in fills.items() if name in swatches
    }
    assert "var(--colour-0)" in next(iter(fills.values()))


def test_down_to_lines_and_back(page):
    saved = rows(page)["activations saved by the graph"]
    page.get_by_role("button", name="activations saved by the graph").click()
    assert sum(rows(page).values()) == saved
    inner = rows(page)["0"]  # the first Linear
    page.locator(".memory-table").get_by_role("button", name="0", exact=True).click()
    assert sum(rows(page).values()) == inner
    assert "test_memory_page.py" in next(iter(rows(page)))
    assert page.locator(".memory-table code").first.inner_text() == "loss = model(batch).square().mean()"
    page.locator(".memory-path").get_by_role("button", name="everything").click()
    assert rows(page)["activations saved by the graph"] == saved


def test_zoom_and_move(page):
    def ticks():  # with their places: a short move may show the same ones
        labels = page.locator(".memory-chart text[text-anchor=middle]").all()
        return [
            (label.text_content(), label.get_attribute("x")) for label in labels if label.text_content().endswith("s")
        ]

    before = ticks()
    page.locator(".memory .closer").click()
    page.locator(".memory .closer").click()
    zoomed = ticks()
    assert zoomed != before
    box = page.locator(".memory-chart").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 100, steps=4)
    page.mouse.up()
    assert ticks() != zoomed
    page.locator(".memory-all").click()
    assert ticks() == before


def test_a_click_tells_of_that_moment(page):
    box = page.locator(".memory-chart").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 100)
    assert page.locator(".memory-title").inner_text().startswith("Moment: ")
    page.locator(".memory-peak").click()
    assert page.locator(".memory-title").inner_text().startswith("Peak: ")


def test_perfetto_gets_the_same_peak(recorded, tmp_path):
    timeline, peak, _, _, _ = recorded
    timeline.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert max(sum(one["args"].values()) for one in events if one["ph"] == "C") == peak
