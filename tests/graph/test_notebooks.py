"""What answers of `clew.graph` and `clew.memory` show in a notebook."""

import inspect
from html.parser import HTMLParser

import pytest

import clew

SETUP = """
import clew
from clew import nn
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
loss = model(clew.ones(2, 3)).square().mean()
before = clew.graph.snapshot(loss)
with clew.memory.timeline() as timeline, clew.memory.budget("1 MB") as budget:
    value = model(clew.ones(2, 3)).square().mean()
    value.backward()
"""
QUESTIONS = {
    "clew.explain(loss)": "MeanBackward0",
    "clew.explain(loss).nodes[0]": "MeanBackward0",
    "clew.explain(loss).totals": "releases",
    "clew.graph.ledger(loss)": "kept alive by the graph alone",
    "clew.graph.diff(before, loss.exp())": "ExpBackward0",
    "before": "11 nodes",
    "clew.why_alive(loss)": "loss",
    "clew.graph.gradient_flow(model)": "0",
    "clew.graph.draw(loss)": "srcdoc",
    "timeline": "srcdoc",
    "timeline.at_peak()[0]": "nbytes",
    "budget.report()": "at most",
    "clew.memory.stats()": "allocations",
}


def test_every_class_shows_itself():
    for module in (clew.graph, clew.memory):
        for name in getattr(module, "__all__", dir(module)):
            kind = getattr(module, name)
            if inspect.isclass(kind) and kind.__module__.startswith("clew."):
                assert hasattr(kind, "_repr_html_"), name


class Balance(HTMLParser):
    """Fails if an element is not closed, or if the text could leave the cell that it stands in."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def balanced(html):
    parser = Balance()
    parser.feed(html)
    assert parser.open == []


def test_it_is_html_without_extras():
    scope = {}
    exec(SETUP, scope)
    for question, expected in QUESTIONS.items():
        if question.startswith("clew.why_alive"):
            continue  # it looks at the variables of frames
        html = eval(question, scope)._repr_html_()
        assert expected in html, question
        if "srcdoc" not in html:
            balanced(html)


def test_names_are_text():
    x = clew.ones(2, requires_grad=True)
    html = clew.graph.draw({"<b>": x.exp()})._repr_html_()
    assert "<b>" not in html


def test_in_a_notebook(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(text) for text in (SETUP, *QUESTIONS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    for cell, (question, expected) in zip(notebook.cells[1:], QUESTIONS.items(), strict=True):
        (output,) = cell.outputs
        assert expected in output["data"]["text/html"], question
