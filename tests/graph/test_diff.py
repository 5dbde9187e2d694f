"""What changed between two graphs."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import clew


def line() -> int:
    return sys._getframe(1).f_lineno


def forward(x: Any, layers: int, size: int = 2, scale: bool = False) -> Any:
    h = x[:size].clone()
    for _ in range(layers):
        h = h.tanh()
    if scale:
        h = h.exp()
    return h.sum()


@pytest.fixture
def x() -> Any:
    return clew.ones(8, requires_grad=True)


def test_the_same_is_no_change(x: Any) -> None:
    told = clew.graph.diff(forward(x, 3), forward(x, 3))
    assert not told
    assert "no change" in str(told)


def test_more_nodes_of_one_line(x: Any) -> None:
    told = clew.graph.diff(forward(x, 2), forward(x, 5))
    (change,) = told.changed
    assert (change.kind.name, change.nodes, change.saved_bytes) == ("TanhBackward0", 3, 3 * 8)
    assert change.kind.made_at is not None
    assert change.kind.made_at.source == "h = h.tanh()"
    assert "+3 nodes: 2 → 5" in str(told)
    assert (told.added, told.removed) == ((), ())


def test_added_and_removed(x: Any) -> None:
    there, back = (clew.graph.diff(forward(x, 1, scale=a), forward(x, 1, scale=not a)) for a in (False, True))
    assert [change.kind.name for change in there.added] == ["ExpBackward0"]
    assert [change.kind.name for change in back.removed] == ["ExpBackward0"]
    assert there.added[0].saved_bytes == -back.removed[0].saved_bytes == 8
    assert str(there).splitlines()[1].startswith("+ ExpBackward0 at test_diff.py:")
    assert str(back).splitlines()[1].startswith("- ExpBackward0 at test_diff.py:")


def test_shapes(x: Any) -> None:
    told = clew.graph.diff(forward(x, 1, size=2), forward(x, 1, size=4))
    tanh = next(change for change in told.changed if change.kind.name == "TanhBackward0")
    assert tanh.shapes_changed
    assert tanh.nodes == 0
    assert tanh.saved_bytes == 8
    assert "shape (2,) → (4,)" in str(told)


def test_operations_of_one_line_are_told_apart_and_its_calls_put_together(x: Any) -> None:
    y = x.exp() + x.exp() + x.tanh(); made = line()  # fmt: skip  # noqa: E702
    counts = {kind.name: count for kind, count in clew.graph.snapshot(y).kinds.items() if kind.name != "AccumulateGrad"}
    assert {name: count.nodes for name, count in counts.items()} == {
        "AddBackward0": 2,
        "ExpBackward0": 2,
        "TanhBackward0": 1,
    }
    lines = {
        kind.made_at.line for kind in clew.graph.snapshot(y).kinds if kind.made_at and kind.name != "AccumulateGrad"
    }
    assert lines == {made}


def test_a_snapshot_outlives_the_graph(x: Any) -> None:
    alive = clew._core.graph_counters()["nodes_alive"]
    before = clew.graph.snapshot(forward(x, 2))
    assert clew._core.graph_counters()["nodes_alive"] <= alive + 1  # the leaf's own
    assert clew.graph.diff(before, forward(x, 3)).changed[0].nodes == 1


def test_a_freed_graph_compares_equal(x: Any) -> None:
    a, b = forward(x, 2), forward(x, 2)
    b.backward()
    assert not clew.graph.diff(a, b)


def test_totals_are_those_of_the_walk(x: Any) -> None:
    y = forward(x, 4, scale=True)
    told = clew.graph.snapshot(y)
    nodes = clew.graph.walk([y.grad_fn])
    assert told.nodes == len(nodes)
    assert told.saved_bytes == sum(slot.view_nbytes for node in nodes for slot in node.saved)


@pytest.mark.parametrize("wrong", [None, 3, "x", [], clew.nn.Linear(1, 1)])
def test_something_else(x: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="snapshot: expected a tensor, a node"):
        clew.graph.diff(x * 2, wrong)
