"""What answers of `clew.graph` and `clew.memory` show in a notebook."""

import base64
import inspect
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

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


def test_trees_are_in_letters_of_one_width():
    """A page that a notebook is converted to may set another font for everything."""
    scope = {}
    exec(SETUP, scope)
    for question in ("clew.explain(loss)", "clew.graph.ledger(loss)", "before"):
        html = eval(question, scope)._repr_html_()
        assert "<pre" in html
        assert html.count("<pre") == html.count("font-family: monospace; white-space: pre"), question


def test_a_picture_is_there_where_frames_are_not():
    """GitHub leaves frames out, and a PDF has none."""
    x = clew.ones(2, requires_grad=True)
    hidden = x.exp()
    shown = clew.graph.draw(hidden)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html", "image/svg+xml"}
    without_frames = re.sub(r"<iframe.*?</iframe>", "", shown["text/html"], flags=re.DOTALL)
    (data,) = re.findall(r'<img alt="graph of 1 operation" src="data:image/svg\+xml;base64,([^"]+)"', without_frames)
    assert base64.b64decode(data).decode() == shown["image/svg+xml"]
    texts = [one.text for one in ElementTree.fromstring(shown["image/svg+xml"]).iter() if one.text]
    assert {"x", "ExpBackward0", "hidden"} <= set(texts)


def run_notebook(folder, *texts):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    client.execute(cwd=str(folder))
    return [cell.outputs for cell in notebook.cells]


def test_in_a_notebook(tmp_path):
    outputs = run_notebook(tmp_path, SETUP, *QUESTIONS)
    for (output,), (question, expected) in zip(outputs[1:], QUESTIONS.items(), strict=True):
        assert expected in output["data"]["text/html"], question


def test_lines_are_of_cells_as_users_know_them(tmp_path):
    outputs = run_notebook(
        tmp_path,
        "import clew\ndef f(x):\n    return x.exp()\nx = clew.ones(2, requires_grad=True)",
        "loss = f(x).sum()\nloss.backward()\nloss.backward()",
        "loss.detach()",
        "(x * 3).sum()",
        "print(clew.explain(loss))\nprint(clew.why_alive(loss.grad_fn))",
        "clew.graph.draw(loss)",
        "kept = (x * 2).sum()\nkept",
        "print(clew.explain(kept))\nprint(clew.why_alive(kept))",
    )
    (error,) = outputs[1]
    assert "ExpBackward0 (created at Cell In[1], line 3 in f) still holds" in error["evalue"]
    assert "freed by the backward at Cell In[2], line 2." in error["evalue"]
    assert "retain_graph=True at Cell In[2], line 2" in error["evalue"]
    told = outputs[4][0]["text"]
    assert "Cell In[2], line 1: loss = f(x).sum()" in told
    assert "Cell In[1], line 3 in f: return x.exp()" in told
    assert "ipykernel" not in error["evalue"] + told
    shown = outputs[5][0]["data"]
    assert "Cell In[1], line 3" in shown["image/svg+xml"]
    assert "Cell In[1], line 3" in shown["text/html"]
    # What IPython keeps of a cell has no name of the user's; it does keep the memory.
    owners = outputs[7][0]["text"]
    assert "`kept`" in owners
    assert not re.search(r"(^|[ (`])(_+\d*|Out)\b", owners.replace("Out[7]", "")), owners
    assert "\n  Out[7] → " in owners
