"""Who keeps a tensor or a node alive."""

from __future__ import annotations

from typing import Any

import pytest

import clew


def test_names_and_nodes_that_saved_it() -> None:
    class Keeper: ...

    keeper = Keeper()
    keeper.best = clew.ones(3, requires_grad=True) * 2  # type: ignore[attr-defined]
    square = keeper.best * keeper.best  # type: ignore[attr-defined]
    told = clew.graph.why_alive(keeper.best)  # type: ignore[attr-defined]
    assert [holder.path for holder in told.holders] == ["keeper.best", "square", "square"]
    assert [holder.slot for holder in told.holders] == [None, "self", "other"]
    assert "square → MulBackward0 (test_why_alive.py:" in str(told)
    assert square.requires_grad


def test_a_view_shares_memory() -> None:
    x = clew.ones(4)
    part = x[1:]
    told = str(clew.graph.why_alive(x))
    assert "  part, which shares its memory" in told
    assert "16 B" in told
    assert part.shape == (3,)


def test_freed_slots_keep_nothing() -> None:
    x = clew.ones(3, requires_grad=True).clone()
    loss = (x * x).sum()
    loss.backward()
    assert [holder.path for holder in clew.graph.why_alive(x).holders] == ["x"]


def test_a_node() -> None:
    h = clew.ones(3, requires_grad=True) * 2
    losses = [h.sum(), h.exp()]
    told = clew.graph.why_alive(h.grad_fn)
    assert [holder.path for holder in told.holders] == ["h", "losses[0]", "losses[1]"]
    assert "is in its graph" in str(told)
    assert losses


def test_nobody() -> None:
    told = clew.graph.why_alive(clew.ones(2), {})
    assert told.holders == ()
    assert "no name" in str(told)


@pytest.mark.parametrize("wrong", [None, 3, "x"])
def test_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match="why_alive: expected a tensor or a node"):
        clew.graph.why_alive(wrong)
