"""Inputs without a gradient in a picture, costs and modules of its rows."""

import clew
from clew.graph import draw, record_modules


def data_of(picture):
    return [(row.title, row.shape) for row in picture.rows() if row.kind == "input"]


def users_of(picture, title):
    rows = list(picture.rows())
    number = next(number for number, row in enumerate(rows) if row.title == title)
    return [row.title for row in rows if number in row.inputs]


def test_a_batch_and_labels_have_a_box_each():
    model, batch, labels = clew.nn.Linear(3, 2), clew.rand(4, 3), clew.tensor([0, 1, 0, 1])
    loss = clew.nn.functional.cross_entropy(model(batch), labels)
    picture = draw(loss, {**dict(model.named_parameters()), "batch": batch, "labels": labels})
    assert data_of(picture) == [("batch", "(4, 3) float32"), ("labels", "(4,) int64")]
    assert users_of(picture, "batch") == ["AddmmBackward0"]
    assert users_of(picture, "labels") == ["NllLossBackward0"]


def test_memory_that_several_nodes_read_is_one_box():
    weights, batch = [clew.rand(3, 3, requires_grad=True) for _ in range(2)], clew.rand(4, 3)
    loss = sum((batch @ weight).sum() for weight in weights)
    picture = draw(loss, {"batch": batch})
    assert data_of(picture) == [("batch", "(4, 3) float32")]
    assert users_of(picture, "batch") == ["MmBackward0"] * 2


def test_what_the_graph_computed_is_no_data():
    x = clew.rand(3, requires_grad=True)
    assert data_of(draw((x.exp() * x.sin() * 2.0).sum())) == []


def test_rows_say_module_and_work():
    model = clew.nn.Sequential(clew.nn.Linear(3, 2), clew.nn.Tanh())
    with record_modules():
        loss = model(clew.rand(4, 3)).sum()
        rows = {row.title: row for row in draw(loss).rows()}
    assert rows["AddmmBackward0"].module == "0 · Linear"
    assert rows["TanhBackward0"].module == "1 · Tanh"
    assert rows["SumBackward0"].module == ""
    assert rows["AddmmBackward0"].flops == 2 * 4 * 3 * 2
    assert rows["AddmmBackward0"].forward_ns == 0  # nobody measured
