"""6.9: program.draw() shows steps with the user's lines, shapes, bytes and guards, by the renderers of graphs."""

import base64
import json
import re
import zlib

import pytest
from graph_support import line_here

import clew

pytestmark = pytest.mark.beyond


def training_step():
    model = clew.nn.Linear(4, 2)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    x = clew.ones(3, 4)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, loss=loss, weight=model.weight)
    return program


def test_each_step_is_a_box_with_its_line_and_bytes():
    x = clew.ones(3, 4)
    with clew.keep_graph() as program:
        line = line_here() + 1
        y = x.exp().sum(1)
        read = y[0].item()
    program.name(x=x, y=y)
    assert read > 0
    rows = list(program.draw().rows())
    assert [row.title for row in rows] == ["x", "exp", "sum", "select", "read.item", "y"]
    assert [row.kind for row in rows] == ["leaf", *["operation"] * 4, "result"]
    assert [row.inputs for row in rows] == [(), (0,), (1,), (2,), (3,), (2,)]
    assert rows[1].shape == "(3, 4) float32, 48 B"
    assert rows[2].shape == "(3,) float32, 12 B"
    assert rows[1].place.line == rows[2].place.line == line
    assert rows[4].attributes == "guard"


def test_all_steps_of_a_training_step_are_there_in_their_order():
    program = training_step()
    rows = list(program.draw(show_attrs=True).rows())
    operations = [row for row in rows if row.kind == "operation"]
    assert [row.title for row in operations] == [step.op for step in program.steps]
    for row, step in zip(operations, program.steps, strict=True):
        assert ("backward" in row.attributes) == step.in_backward
    for number, row in enumerate(rows):
        assert all(below < number for below in row.inputs)
    assert [row.title for row in rows if row.kind == "result"] == ["loss", "weight"]
    assert "lr=0.1" in next(row.attributes for row in operations if row.title.startswith("sgd"))


def test_writes_in_place_are_followed():
    x = clew.ones(3)
    with clew.keep_graph() as program:
        h = x + 1
        part = h[:2]
        part.mul_(3)
        y = h.sum()
    program.name(y=y)
    rows = list(program.draw().rows())
    titles = [row.title for row in rows]
    assert rows[titles.index("sum")].inputs == (titles.index("mul_"),)  # through the view


def test_draws_are_marked():
    with clew.keep_graph() as program:
        y = clew.rand(3) + 1
    rows = [(row.title, row.attributes) for row in program.draw(show_attrs=True).rows()]
    assert [title for title, note in rows if "draws" in note] == ["_rand"]
    assert ("add", "1, alpha=1") in rows
    assert y.shape == (3,)


def test_a_loop_is_folded_as_in_graphs():
    x = clew.ones(3)
    with clew.keep_graph() as program:
        for _ in range(50):
            x = x.sin()
    picture = program.draw()
    labels = [picture.columns.text.values[label] for label in picture.groups.label]
    assert any(label.endswith("\N{MULTIPLICATION SIGN} 50") for label in labels)
    assert x.shape == (3,)


@pytest.mark.parametrize("kind", ["dot", "html"])
def test_the_renderers_of_graphs_take_it(kind, tmp_path):
    program = training_step()
    picture = program.draw()
    assert repr(picture).startswith("<clew.graph.Picture: ")
    assert picture.title == f"graph of {len(program.steps)} steps"
    text = (picture.save(tmp_path / f"program.{kind}")).read_text()
    for step in program.steps:
        assert step.op in text
    if kind == "dot":
        assert text.count("[label=") == len(picture)
        assert text.count(" -> ") == sum(len(row.inputs) for row in picture.rows())
    else:
        data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
        block = zlib.decompress(base64.b64decode(data["columns"]))
        _, code, offset, count = next(part for part in data["layout"] if part[0] == "kind")
        assert (code, count) == ("B", len(picture))
        assert len(block) >= offset + count


def test_svg():
    svg = training_step().draw().svg
    assert svg.startswith("<svg")
    assert "backward" in svg
    assert "sgd" in svg


def test_a_program_without_steps_is_drawn():
    with clew.keep_graph() as program:
        pass
    picture = program.draw()
    assert picture.svg.startswith("<svg")
    assert "<html" in picture.html
    assert picture.dot.startswith("digraph")
