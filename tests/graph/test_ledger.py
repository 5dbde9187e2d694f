"""The ledger's records, and how they are passed on. That its sums are exact is in test_ledger_random.py."""

from __future__ import annotations

import builtins
import gc
import json
import sys
from typing import Any

import numpy as np
import pytest

import clew


def line() -> int:
    return sys._getframe(1).f_lineno


@pytest.fixture
def x() -> Any:
    return clew.ones(4, requires_grad=True)


def test_a_record_for_each_slot(x: Any) -> None:
    h = x.exp()
    y = h * x; made = line()  # fmt: skip  # noqa: E702
    told = clew.graph.ledger(y)
    first, second, third = told.records
    assert (first.name, first.op, first.slot, first.state) == ("MulBackward0", "mul", "self", "held")
    assert (first.shape, first.dtype, first.view_bytes, first.storage_bytes) == ((4,), "float32", 16, 16)
    assert first.made_at is not None
    assert (first.made_at.line, first.made_at.function) == (made, sys._getframe().f_code.co_qualname)
    assert (first.held_by, second.held_by, third.held_by) == (("h",), ("x",), ("h",))
    assert first.storage == third.storage != second.storage
    assert (first.node, third.node, third.name) == (1, 2, "ExpBackward0")


def test_freed_by_which_call_at_which_line(x: Any) -> None:
    y = x.exp().sum()
    y.backward(); freed = line()  # fmt: skip  # noqa: E702
    (record,) = clew.graph.ledger(y).records
    assert (record.state, record.storage, record.storage_bytes, record.view_bytes) == ("freed", 0, 0, 16)
    assert record.freed_by is not None
    assert record.freed_by.place is not None
    assert (record.freed_by.call, record.freed_by.place.line) == ("backward", freed)
    totals = clew.graph.ledger(y).totals
    assert (totals.freed, totals.freed_bytes, totals.graph_only_bytes) == (1, 16, 0)


def test_a_storage_counts_once(x: Any) -> None:
    big = clew.ones(100)
    totals = clew.graph.ledger([x * big[:4], x * big[4:8]]).totals
    assert totals.shared_bytes == 400
    del big
    gc.collect()


def test_only_the_graphs_own(x: Any) -> None:
    loss = x.exp().tanh().sum()
    totals = clew.graph.ledger(loss).totals
    assert (totals.graph_only_bytes, totals.shared_bytes) == (32, 0)
    before = clew.memory.stats().live
    del loss
    assert before - clew.memory.stats().live == 32 + 4  # and the loss


def test_foreign_memory_is_a_line_of_its_own(x: Any) -> None:
    y = x * clew.from_numpy(np.ones(4, np.float32))
    told = clew.graph.ledger(y)
    assert [record.is_foreign for record in told.records] == [True]
    assert (told.totals.foreign_bytes, told.totals.graph_only_bytes) == (16, 0)
    assert ("other libraries' memory", "16 B") in told.summary()


def test_packed_objects_are_lines_of_their_own(x: Any) -> None:
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().astype(np.float16), clew.from_numpy):
        y = x.exp()
    told = clew.graph.ledger(y)
    (record,) = told.records
    assert (record.kind, record.state, record.packed_as) == ("packed", "packed", "ndarray")
    assert (record.view_bytes, record.storage_bytes) == (16, 8)
    assert (told.totals.packed_bytes, told.totals.graph_only_bytes) == (8, 0)


def test_workspaces_are_lines_of_their_own(x: Any) -> None:
    class Keep(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            ctx.mask = clew.ones(10)
            ctx.tables = {"sines": np.zeros(3)}
            ctx.flag = True
            return value * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    told = clew.graph.ledger(Keep.apply(x))
    assert [(record.kind, record.slot, record.storage_bytes) for record in told.records] == [
        ("workspace", "mask", 40),
        ("workspace", "tables['sines']", 24),
    ]
    assert told.totals.workspace_bytes == 64


def test_what_backward_does_not_go_through_is_told_too(x: Any) -> None:
    """The arguments of a checkpoint are saved by a node that only an unpack hook leads to."""
    y = clew.utils.checkpoint.checkpoint(lambda value: value.exp(), x * 2, use_reentrant=False)
    told = clew.graph.ledger(y)
    kept = [record for record in told.records if record.kind == "saved" and record.view_bytes == 16]
    assert [record.held_by for record in kept] == [()]
    assert told.totals.graph_only_bytes == 16 + 8  # and the 2, an int64


def test_an_in_place_write_to_a_view_keeps_what_the_write_saved(x: Any) -> None:
    y = x.clone()
    y[:2].exp_()
    told = clew.graph.ledger(y)
    assert [(record.name, record.slot, record.view_bytes, record.storage_bytes) for record in told.records] == [
        ("CopySlices", "result", 8, 16)
    ]


def test_everything_that_is_alive(x: Any) -> None:
    a, b = x.exp(), x.tanh()
    names = {record.name for record in clew.graph.ledger().records}
    assert names >= {"ExpBackward0", "TanhBackward0"}
    assert a.shape == b.shape


def test_to_dict_and_json(x: Any) -> None:
    y = (x.exp() * x).sum()
    y.backward()
    told = clew.graph.ledger(y)
    data = json.loads(told.to_json(indent=2))
    assert data == told.to_dict()
    assert data["totals"]["freed"] == len(data["records"]) == 3
    row = data["records"][0]
    assert (row["name"], row["shape"], row["state"], row["freed_by"]) == ("MulBackward0", [4], "freed", "backward")
    assert row["file"] == row["freed_at_file"] == __file__
    assert row["freed_at_line"] == row["line"] + 1


def test_to_pandas(x: Any) -> None:
    pytest.importorskip("pandas")
    y = x.exp() * x
    told = clew.graph.ledger(y)
    table = told.to_pandas()
    assert len(table) == 3
    assert list(table.columns) == list(told.records[0].row())
    assert table.groupby("name")["view_bytes"].sum().to_dict() == {"ExpBackward0": 16, "MulBackward0": 32}
    assert list(clew.graph.ledger(x.sum()).to_pandas().columns) == list(table.columns)


def test_without_pandas(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install clew\[viz\]"):
        clew.graph.ledger(x.exp()).to_pandas()


def test_text(x: Any) -> None:
    y = x.exp() * x
    text = str(clew.graph.ledger(y))
    assert "MulBackward0 (test_ledger.py:" in text
    assert "other (4,) float32, 16 B, held, also kept alive by x" in text
    assert text.endswith("kept alive by the graph alone: 16 B\nalso kept alive by other tensors: 16 B")


def test_it_changes_and_holds_nothing(x: Any) -> None:
    (x * x).sum()  # from now on x has its AccumulateGrad, and keeps it
    alive = clew._core.graph_counters()["nodes_alive"]
    y = (x * x).sum()
    before, live = clew._core.graph_counters(), clew.memory.stats().live
    told = clew.graph.ledger(y)
    str(told)
    assert clew._core.graph_counters() == before
    assert clew.memory.stats().live == live
    del y
    assert clew._core.graph_counters()["nodes_alive"] == alive
    assert told.records[0].name == "MulBackward0"


def test_a_graph_without_anything_saved(x: Any) -> None:
    assert clew.graph.ledger(x.sum()).records == ()
    assert clew.graph.ledger(x).records == ()


@pytest.mark.parametrize("wrong", [3, "x", [], [None], builtins])
def test_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match="ledger: expected a tensor, a node or a container"):
        clew.graph.ledger(wrong)


def test_tensors_are_listed_while_a_gradient_edge_stands_for_one():
    """A hook may ask for all memory in a backward that begins at a node whose result is gone."""
    x = clew.ones(2, requires_grad=True)
    edge = clew.autograd.graph.get_gradient_edge(x * 3)
    seen = []
    x.register_hook(lambda grad: seen.append(len([one.shape for one in clew._core.live_tensors()])))
    (grad,) = clew.autograd.grad(edge, x, clew.ones(2))
    assert grad.tolist() == [3.0, 3.0]
    assert seen[0] > 0
