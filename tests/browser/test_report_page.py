"""The report of `clew xray --html`, as a reader sees it."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.beyond, pytest.mark.browser]

SCRIPT = """\
import clew as torch
from clew import nn

model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
total = 0
for _ in range(24):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 6)).square().mean()
    loss.backward()
    optimizer.step()
    total = total + loss  # grows
loss.backward()
"""


@pytest.fixture
def report(tmp_path, script_environment):
    """What clew xray writes about a script that leaks and ends in an error."""
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "clew.cli", "xray", "--html", "report.html", "train.py"]
    ran = subprocess.run(command, cwd=tmp_path, env=script_environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 1
    assert "GraphFreedError" in ran.stderr
    return (tmp_path / "report.html").read_text()


def test_each_section(report, opened):
    reader = opened(report, wait_for="main")
    page = reader.page
    tabs = ["Error", "Notes (1)", "Graph", "Memory", "Summary", "Growth"]
    assert page.locator("[role=tab]").all_inner_texts() == tabs

    def visible(tab):
        page.get_by_role("tab", name=tab).click()
        if tab in ("Graph", "Memory"):
            page.wait_for_selector(f".{tab.lower()}:visible[data-ready=yes]")
        shown = page.locator("section:visible")
        assert shown.count() == 1
        return shown.inner_text()

    error = visible("Error")
    assert "Trying to backward through the graph a second time" in error
    assert "train.py:9" in error  # made
    assert "train.py:10" in error  # freed
    summary = visible("Summary")
    assert "nodes built" in summary
    assert "optimizer" in summary
    assert "Peak: " in visible("Memory")
    growth = visible("Growth")
    assert "total" in growth
    assert "train.py:12" in growth
    assert "total keeps the graphs of" in visible("Notes (1)")
    assert "total = total + loss" in page.locator(".marked:visible").inner_text()


def test_an_error_can_be_read_on_a_phone(report, opened):
    page = opened(report, wait_for="main", viewport={"width": 420, "height": 900}).page
    heading = page.locator("section:visible h2").first
    assert heading.inner_text().endswith("errors.GraphFreedError")
    assert heading.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert page.locator("[role=tab]").evaluate_all("tabs => new Set(tabs.map(tab => tab.clientHeight)).size") == 1
    said = page.locator(".said:visible").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert said
    assert max(said) < 420


def test_the_graph_of_a_step(report, opened):
    reader = opened(report, wait_for="main")
    reader.page.get_by_role("tab", name="Graph").click()
    reader.page.wait_for_selector(".graph[data-ready=yes]")
    reader.page.locator(".switch").first.select_option(label="24 of 24 at train.py:10")
    reader.page.wait_for_selector(".graph:not([hidden])[data-ready=yes]")
    assert "1 · Tanh" in reader.boxes()
    reader.page.locator(".graph:not([hidden]) .folding").select_option("nothing")
    assert "model.0.weight" in reader.boxes()
    reader.at_moment(0)
    assert "held" in reader.classes("1 · Tanh")
    reader.at_moment(1)
    assert "freed" in reader.classes("1 · Tanh")
    assert reader.text(".moment").endswith("after backward 24 at train.py:10")
    reader.click("1 · Tanh")
    panel = reader.text(".panel")
    assert "train.py:9" in panel
    assert "loss = model(torch.ones(4, 6)).square().mean()" in panel
    assert "freed" in panel


def test_the_chart_tells_what_is_under_the_pointer(report, opened):
    reader = opened(report, wait_for="main")
    reader.page.get_by_role("tab", name="Memory").click()
    reader.page.wait_for_selector(".memory[data-ready=yes]")
    reader.page.locator(".memory-chart").hover()
    assert "parameters and buffers: " in reader.text(".memory .note")


IN_PLACE = """\
import clew as torch

w = torch.ones(3, requires_grad=True)
h = w.exp()
m = h.mean()
h += m
loss = h.sum()
loss.backward()
"""


def test_an_error_shows_its_repair_its_lines_and_its_graph(opened, tmp_path, script_environment):
    (tmp_path / "train.py").write_text(IN_PLACE)
    command = [sys.executable, "-m", "clew.cli", "xray", "--html", "report.html", "train.py"]
    subprocess.run(command, cwd=tmp_path, env=script_environment, capture_output=True, timeout=100)
    reader = opened((tmp_path / "report.html").read_text(), wait_for="main")
    page = reader.page
    assert page.locator(".diff .removed").inner_text().strip("- ") == "h += m"
    assert page.locator(".diff .added").inner_text().strip("+ ") == "h = h + m"
    marked = page.locator(".source .marked").all_inner_texts()
    assert ["h = w.exp()" in marked[0], "h += m" in marked[1], "loss.backward()" in marked[2]] == [True] * 3
    assert reader.contrast(".said") >= 4.5
    assert "saved here" in marked[0]
    assert "written here" in marked[1]
    page.get_by_role("tab", name="Graph").click()
    page.wait_for_selector(".graph[data-ready=yes]")
    shown = page.locator(".box.marked").evaluate_all("boxes => boxes.map(box => box.textContent)")
    assert [text.partition("Backward0")[0] for text in shown] == ["Exp", "Add"]
    assert "saved here" in shown[0]
    assert "written here" in shown[1]


def test_growth_shows_its_curve(report, opened):
    reader = opened(report, wait_for="main")
    reader.page.get_by_role("tab", name="Growth").click()
    points = reader.page.locator(".curve polyline").first.get_attribute("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert len(heights) == 24
    assert heights == sorted(heights, reverse=True)  # it grows with every backward


CARRIED = """\
import clew as torch
from clew import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(7, 8), nn.ReLU(), nn.Linear(8, 4), nn.Tanh())
        self.head = nn.Linear(4, 1)

    def forward(self, x, hidden):
        hidden = self.inner(torch.cat([x, hidden], 1))
        return self.head(hidden), hidden


model, hidden = Model(), torch.zeros(2, 4)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    out, hidden = model(torch.randn(2, 3), hidden)
    loss = nn.functional.mse_loss(out, torch.ones(2, 1))
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
"""


@pytest.mark.parametrize("width", [1440, 420])
def test_the_graph_of_an_error_opens_whole(tmp_path, script_environment, opened, width):
    (tmp_path / "train.py").write_text(CARRIED)
    command = [sys.executable, "-m", "clew.cli", "xray", "--html", "report.html", "train.py"]
    ran = subprocess.run(command, cwd=tmp_path, env=script_environment, capture_output=True, text=True, timeout=100)
    assert "InplaceError" in ran.stderr
    report = (tmp_path / "report.html").read_text()
    page = opened(report, wait_for="main", viewport={"width": width, "height": 900}).page
    page.get_by_role("tab", name="Graph").click()
    page.wait_for_selector(".graph:visible[data-ready=yes]")
    canvas = page.locator(".canvas:visible").first.bounding_box()
    boxes = [one.bounding_box() for one in page.locator(".graph:visible .box").all()]
    assert len(boxes) > 5
    assert min(one["x"] for one in boxes) >= canvas["x"]
    assert min(one["y"] for one in boxes) >= canvas["y"]
    assert max(one["x"] + one["width"] for one in boxes) <= canvas["x"] + canvas["width"]
    assert max(one["y"] + one["height"] for one in boxes) <= canvas["y"] + canvas["height"]
    assert "used again here" in page.locator(".graph:visible .canvas").first.text_content()
