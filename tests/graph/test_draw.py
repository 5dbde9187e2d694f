"""`clew.graph.draw` and `film`: what a picture says of a graph."""

import doctest
import gc
import importlib
import re

import numpy
import pytest

import clew
from clew.graph import draw, film, walk

pytestmark = pytest.mark.beyond


@pytest.mark.parametrize(
    "name",
    [
        *(f"pictures.{name}" for name in ("columns", "dot", "draw", "film", "repeats")),
        "page.charts",
        "page.page",
    ],
)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(f"clew.graph.{name}"), extraglobs={"clew": clew})
    assert result.attempted > 0
    assert result.failed == 0


class Double(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


# What is in it


def test_a_picture_has_each_node_of_the_walk_once_and_the_result(mlp, loss):
    nodes = walk([loss.grad_fn])
    rows = list(draw(loss).rows())
    operations = sorted(type(node).__name__ for node in nodes if type(node).__name__ != "AccumulateGrad")
    assert sorted(row.title for row in rows if row.kind == "operation") == operations
    assert sum(row.kind == "leaf" for row in rows) == len(list(mlp.parameters()))
    assert [row.title for row in rows if row.kind == "result"] == ["loss"]
    edges = sum(below is not None for node in nodes for below, _ in node.next_functions)
    data = [row for row in rows if row.kind == "input"]
    assert [(row.title, row.shape) for row in data] == [("mat1", "(3, 4) float32")]  # what the first layer saved
    assert sum(len(row.inputs) for row in rows) == edges + len(data) + 1


def test_inputs_come_before_what_uses_them(loss):
    for number, row in enumerate(draw(loss).rows()):
        assert all(below < number for below in row.inputs)


def test_the_edges_are_those_of_the_graph():
    x = clew.ones(2, requires_grad=True)
    rows = list(draw((x.exp() * x.sin()).sum(), {"x": x}).rows())
    found = sorted((rows[below].title, row.title) for row in rows for below in row.inputs)
    assert found == [
        ("ExpBackward0", "MulBackward0"),
        ("MulBackward0", "SumBackward0"),
        ("SinBackward0", "MulBackward0"),
        ("SumBackward0", "result"),
        ("x", "ExpBackward0"),
        ("x", "SinBackward0"),
    ]


def test_params_name_the_leaves(mlp, loss):
    named = draw(loss, params=dict(mlp.named_parameters()))
    assert sorted(row.title for row in named.rows() if row.kind == "leaf") == sorted(dict(mlp.named_parameters()))
    assert {row.title for row in draw(loss, params={}).rows() if row.kind == "leaf"} == {"leaf"}


def test_without_params_leaves_are_called_as_the_program_calls_them(mlp, loss):
    names = {f"mlp.{name}" for name, _ in mlp.named_parameters()}
    assert {row.title for row in draw(loss).rows() if row.kind == "leaf"} == names


def test_a_row_says_line_shape_and_what_was_saved():
    x = clew.ones(3, 4, requires_grad=True)
    y = x.exp()  # the line that is named
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.place.file == __file__
    assert row.place.source == "y = x.exp()  # the line that is named"
    assert row.shape == "(3, 4) float32"
    (slot,) = row.saved
    assert (slot.name, slot.shape, slot.nbytes, slot.state) == ("result", "(3, 4) float32", 48, "held")


def test_memory_that_two_slots_share_is_marked_once():
    x = clew.ones(5, requires_grad=True)
    (row,) = [row for row in draw(x * x).rows() if row.kind == "operation"]
    assert [slot.is_shared for slot in row.saved] == [False, True]


def test_attributes_are_written_and_cut():
    x = clew.ones(2, 3, requires_grad=True)
    y = (x**3).sum(dim=1)
    by_title = {row.title: row.attributes for row in draw(y, show_attrs=True).rows()}
    assert by_title["SumBackward1"] == "dim=(1,), keepdim=False"
    assert by_title["PowBackward0"] == "exponent=3"
    assert not any(row.attributes for row in draw(y).rows())
    cut = {row.title: row.attributes for row in draw(y, show_attrs=True, max_attr_chars=5).rows()}
    assert cut["PowBackward0"] == "expon"


# What can be drawn


@pytest.mark.parametrize("wrap", [list, tuple, lambda two: dict(zip(("a", "b"), two, strict=True))])
def test_several_tensors_share_one_picture(wrap):
    x = clew.ones(2, requires_grad=True)
    h = x.exp()
    rows = list(draw(wrap([h.sum(), h.mean()])).rows())
    assert [row.title for row in rows].count("ExpBackward0") == 1
    assert sum(row.kind == "result" for row in rows) == 2


def test_the_keys_of_a_dict_are_the_names():
    x = clew.ones(2, requires_grad=True)
    titles = [row.title for row in draw({"loss": x.sum(), "penalty": x.exp()}).rows() if row.kind == "result"]
    assert titles == ["loss", "penalty"]


def test_a_node_can_be_drawn(loss):
    rows = list(draw(loss.grad_fn).rows())
    assert sum(row.kind in ("operation", "leaf") for row in rows) == len(walk([loss.grad_fn]))
    assert not any(row.kind == "result" for row in rows)


@pytest.mark.parametrize(
    ("make", "kind", "remark"),
    [
        (lambda: clew.ones(2, requires_grad=True), "leaf", "a leaf"),
        (lambda: clew.tensor([1, 2]), "result", "int64 values have no gradient"),
        (lambda: clew.ones(2, requires_grad=True).exp().detach(), "result", "lost on the way: detach at test_draw.py"),
    ],
)
def test_a_tensor_without_history_is_one_box_with_the_reason(embedded, make, kind, remark):
    picture = draw(make())
    (row,) = picture.rows()
    assert row.kind == kind
    assert remark in row.remark
    head, columns = embedded(picture.html)
    assert len(columns["kind"]) == 1
    assert remark in head["remarks"]["0"]
    assert picture.dot.count("->") == 0


def test_the_node_of_a_leaf_can_be_drawn():
    x = clew.ones(2, requires_grad=True)
    node = x.exp().grad_fn.next_functions[0][0]
    (row,) = draw(node, {"x": x}).rows()
    assert (row.kind, row.title) == ("leaf", "x")


def test_a_custom_function_is_drawn_with_what_it_saved():
    x = clew.ones(3, requires_grad=True)
    y = Double.apply(x)
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.title == "DoubleBackward"
    assert [(slot.shape, slot.state) for slot in row.saved] == [("(3,) float32", "held")]
    assert row.place.file == __file__


def test_a_freed_graph_says_who_freed_it():
    x = clew.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    rows = {row.title: row for row in draw(y).rows()}
    assert rows["MulBackward0"].state == "freed"
    assert {slot.state for slot in rows["MulBackward0"].saved} == {"freed"}
    assert rows["MulBackward0"].released.place.source == "y.backward()"
    assert draw(y).snapshots[0].label == "now"


def test_packed_tensors_are_packed():
    x = clew.ones(3, requires_grad=True)
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), clew.from_numpy):
        y = x.exp()
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.state == "packed"


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (3, TypeError, "got int"),
        (None, TypeError, "got NoneType"),
        ([], ValueError, "at least one tensor"),
        ({}, ValueError, "at least one tensor"),
        ([1.0], TypeError, "in the list, got float"),
        (clew.nn.Linear(1, 1), TypeError, "got Linear; call the module"),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong, error, words):
    with pytest.raises(error, match=re.escape(words)) as raised:
        draw(wrong)
    assert str(raised.value).startswith("draw: expected")


def test_params_must_map_names_to_tensors(mlp, loss):
    with pytest.raises(TypeError, match=r"draw: expected params .* pass dict\(model.named_parameters\(\)\)"):
        draw(loss, params=mlp.named_parameters())


# Its life


def test_a_film_shows_what_each_backward_frees():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y, {"x": x}) as picture:
        y.sum().backward(retain_graph=True)
        y.sum().backward()
    states = [[slot.state for row in picture.rows(moment) for slot in row.saved] for moment in range(3)]
    assert states == [["held"], ["held"], ["freed"]]
    labels = [snapshot.label for snapshot in picture.snapshots]
    assert labels[:2] == ["built", "after a backward that kept the graph"]
    assert labels[2].startswith("after backward() at test_draw.py:")
    norms = [[row.gradient_norm for row in picture.rows(moment) if row.kind == "leaf"] for moment in range(3)]
    expected = numpy.sqrt(3) * numpy.e
    assert norms[0] == [None]
    assert norms[1] == pytest.approx([expected], rel=1e-6)
    assert norms[2] == pytest.approx([2 * expected], rel=1e-6)


def test_a_film_notes_no_backward_of_another_graph():
    x, other = clew.ones(3, requires_grad=True), clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y) as picture:
        other.exp().sum().backward()
    assert [snapshot.label for snapshot in picture.snapshots] == ["built"]


def test_a_film_notes_the_gradient_that_comes_to_each_node():
    x = clew.tensor([3.0, 4.0], requires_grad=True)
    y = x * 2
    z = y * x.detach()
    with film(z, gradients=True) as picture:
        z.sum().backward()
    norms = [row.gradient_norm for row in picture.rows() if row.title == "MulBackward0"]
    assert norms == pytest.approx([5.0, 2**0.5])  # of y: (3, 4); of z: (1, 1)
    (leaf,) = [row.gradient_norm for row in picture.rows() if row.kind == "leaf"]
    assert leaf == pytest.approx(10.0)


def test_the_hooks_of_a_film_end_with_it():
    x = clew.ones(2, requires_grad=True)
    y = x.exp()
    with film(y, gradients=True) as picture:
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    picture.snapshot("later")
    assert [row.gradient_norm for row in picture.rows() if row.kind == "operation"] == [None]


def test_a_film_ends_when_its_block_does():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y) as picture:
        pass
    y.sum().backward()
    assert len(picture.snapshots) == 1


def test_a_picture_keeps_no_graph_alive():
    before = clew._core.graph_counters()["nodes_alive"]
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    picture = draw(y)
    del y
    gc.collect()
    assert clew._core.graph_counters()["nodes_alive"] <= before + 1  # the leaf's own node
    picture.snapshot("later")
    assert [row.state for row in picture.rows() if row.kind == "operation"] == ["gone"]
    assert [row.state for row in picture.rows(0) if row.kind == "operation"] == ["held"]


def test_a_norm_that_is_no_number_reaches_the_page(embedded):
    x = clew.zeros(1, requires_grad=True)
    y = x.sqrt()
    y.sum().backward()
    head, _ = embedded(draw(y).html)
    assert list(head["snapshots"][0]["gradients"].values()) == ["inf"]


def test_a_norm_does_not_overflow():
    x = clew.ones(2, requires_grad=True)
    y = x * 1e30
    y.sum().backward()
    (norm,) = [row.gradient_norm for row in draw(y).rows() if row.kind == "leaf"]
    assert norm == pytest.approx(2**0.5 * 1e30, rel=1e-6)
