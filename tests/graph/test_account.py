"""One account of bytes: what graphs saved is what they let go and what they hold, and the allocator says the same."""

from __future__ import annotations

import gc
import random
import warnings
from typing import Any

import pytest
from random_programs import Program

import clew
from clew import _core, nn
from clew.graph.model import account


def counters() -> dict[str, int]:
    return dict(_core.graph_counters())


def since(before: dict[str, int], name: str) -> int:
    return counters()[name] - before[name]


def held_by_all_graphs() -> int:
    totals = clew.graph.ledger().totals
    return totals.graph_only_bytes + totals.shared_bytes


def bytes_that_no_tensor_has() -> int:
    """By the allocator's counter and the register of living tensors: neither knows of slots."""
    tensors = [tensor for tensor in _core.live_tensors() if not _core.storage_is_foreign(tensor)]
    return clew.memory.stats().live - sum({t._storage_id: t._storage_nbytes for t in tensors}.values())


@pytest.mark.parametrize("seed", range(100))
def test_saved_is_freed_and_held_and_destroyed(seed: int) -> None:
    gc.collect()
    before, held = counters(), held_by_all_graphs()
    clew.manual_seed(seed)
    program = Program(seed)

    def check() -> None:
        freed, destroyed = since(before, "bytes_freed_by_backward"), since(before, "bytes_freed_by_scope")
        assert since(before, "bytes_saved") == freed + destroyed + held_by_all_graphs() - held
        assert 0 <= since(before, "bytes_released_by_backward") <= freed
        assert 0 <= since(before, "bytes_released_by_scope") <= destroyed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            for _ in range(5):
                program.step()
            check()
            program.finish()
            gc.collect()
            check()
    del program
    gc.collect()
    freed, destroyed = since(before, "bytes_freed_by_backward"), since(before, "bytes_freed_by_scope")
    assert since(before, "bytes_saved") == freed + destroyed + held_by_all_graphs() - held


def network(seed: int) -> tuple[list[Any], Any]:
    """Leaves and a loss: a random graph that saves weights, inputs, results, views and one tensor many times."""
    clew.manual_seed(seed)
    chance = random.Random(seed)
    weights = [clew.rand(8, 8).requires_grad_() for _ in range(3)]
    h = clew.rand(8, 8)
    for _ in range(chance.randrange(3, 12)):
        w = chance.choice(weights)
        h = chance.choice(
            [
                lambda h=h, w=w: (h @ w.t()).tanh(),
                lambda h=h, w=w: h * w * h,
                lambda h=h, w=w: (h[:4] @ w).exp().sum(0, keepdim=True) - h,
                lambda h=h, w=w: nn.functional.softmax(h + w, 1) * h,
            ]
        )()
    return weights, (h * weights[0]).sum()


@pytest.mark.parametrize("seed", range(60))
def test_what_a_backward_frees(seed: int) -> None:
    """Of one graph: what explain said was held is what it says was let go, and the allocator lost what was released."""
    weights, loss = network(seed)
    held = clew.explain(loss).totals
    before, unowned = counters(), bytes_that_no_tensor_has()
    loss.backward()
    told, listed = clew.explain(loss).totals, clew.graph.ledger(loss).totals
    assert told.freed_bytes == held.held_bytes == since(before, "bytes_freed_by_backward")
    assert told.released_bytes == held.graph_only_bytes == since(before, "bytes_released_by_backward")
    assert told.released_bytes == unowned - bytes_that_no_tensor_has()
    assert told.dropped_bytes == held.shared_bytes
    assert (listed.freed_bytes, listed.released_bytes) == (told.freed_bytes, told.released_bytes)
    records = clew.graph.ledger(loss).records
    assert sum(record.freed_bytes for record in records) == told.freed_bytes
    assert told.held_bytes == 0
    by_group = sum(group[-1] for group in _core.graph_groups([loss.grad_fn]))
    assert by_group == told.freed_bytes
    del weights


@pytest.mark.parametrize("seed", range(30))
def test_what_a_picture_counts(seed: int) -> None:
    """The page sums rows: each storage once, and the sums are those of explain, before and after."""
    _, loss = network(seed)
    picture = clew.graph.draw(loss)
    held = clew.explain(loss).totals
    loss.backward()
    picture.snapshot("after")
    told = clew.explain(loss).totals
    for moment, expected in ((0, {"held": held.held_bytes}), (1, {"released": told.released_bytes})):
        sums: dict[str, int] = {}
        for row in picture.rows(moment):
            for slot in row.saved:
                if not slot.is_shared:
                    sums[slot.fate] = sums.get(slot.fate, 0) + slot.nbytes
        assert expected.items() <= sums.items()
        assert sums.get("dropped", 0) == (told.dropped_bytes if moment else 0)
    drawn_late = [slot for row in clew.graph.draw(loss).rows() for slot in row.saved if not slot.is_shared]
    assert sum(slot.nbytes for slot in drawn_late if slot.fate == "released") == told.released_bytes
    assert sum(slot.nbytes for slot in drawn_late if slot.fate == "dropped") == told.dropped_bytes
    table = clew.graph.draw(loss, most_nodes=1).summary
    assert table is not None
    assert sum(line.freed_bytes for line in table.lines) == told.freed_bytes
    assert sum(line.released_bytes for line in table.lines) == told.released_bytes


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_with_the_graph(seed: int) -> None:
    _, loss = network(seed)
    node = loss.grad_fn
    del loss
    gc.collect()
    before, live, told = counters(), clew.memory.stats().live, clew.explain(node).totals
    del node
    assert since(before, "bytes_released_by_scope") == live - clew.memory.stats().live == told.graph_only_bytes
    assert since(before, "bytes_freed_by_scope") == told.held_bytes


def test_a_recurrent_net_of_two_hundred_steps() -> None:
    """It was said to hold 744.8 KiB, and then to have freed 4.0 MiB."""
    clew.manual_seed(0)
    cell = nn.LSTMCell(8, 16)
    state = (clew.zeros(4, 16), clew.zeros(4, 16))
    for _ in range(200):
        state = cell(clew.ones(4, 8), state)
    loss = state[0].sum()
    held = clew.explain(loss).totals.held_bytes
    loss.backward()
    assert clew.explain(loss).totals.freed_bytes == held


def test_a_parameter_is_not_freed() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    out = model(clew.ones(3, 4))
    loss = (out * out).mean()
    loss.backward()
    told = clew.explain(loss)
    (mat2,) = (slot for node in told.nodes for slot in node.saved if slot.name == "mat2" and slot.shape == (8, 2))
    assert (mat2.state, mat2.fate, mat2.still_held_by) == ("freed", "dropped", ("model.2.weight",))
    text = str(told)
    assert "reference dropped by backward() at test_account.py" in text
    assert "still referenced by `model.2.weight`" in text
    assert set(told.totals.still_held_by) >= {"out", "model.2.weight"}
    assert told.totals.dropped_bytes == 8 * 2 * 4 + 3 * 2 * 4


def test_each_that_still_has_the_memory_is_named_at_the_node_as_in_the_totals() -> None:
    x = clew.ones(100, requires_grad=True)
    y = clew.ones(100)
    row = y.view(10, 10)
    loss = (x * y).sum()
    loss.backward()
    told = clew.explain(loss)
    assert [slot.still_held_by for node in told.nodes for slot in node.saved] == [("y", "row")]
    assert told.totals.still_held_by == ("y", "row")
    assert "still referenced by `y` and `row`" in str(told)
    assert row.numel() == 100


def test_a_storage_that_two_graphs_share() -> None:
    x = clew.ones(100, requires_grad=True)
    y = x.detach() + 1
    before = counters()
    first, second = (x * y).sum(), (x.exp() * y).sum()
    assert since(before, "bytes_saved") == 400 + 400  # y, and the result of exp
    first.backward()
    told = clew.explain(first).totals
    assert (told.freed_bytes, told.released_bytes, told.elsewhere_bytes) == (400, 0, 400)
    assert since(before, "bytes_freed_by_backward") == 0, "the second graph has y still"
    second.backward()
    assert since(before, "bytes_saved") == since(before, "bytes_freed_by_backward")


def test_foreign_memory_is_not_in_the_account() -> None:
    numpy = pytest.importorskip("numpy")
    y = clew.from_numpy(numpy.ones(100, numpy.float32))
    x = clew.ones(100, requires_grad=True)
    before = counters()
    loss = (x * y).sum()
    loss.backward()
    assert since(before, "bytes_saved") == since(before, "bytes_freed_by_backward") == 0
    told = clew.explain(loss)
    assert told.totals.freed_bytes == 0
    assert "another library's memory" in str(told)


def test_what_a_hook_packed_has_no_bytes() -> None:
    x = clew.ones(100, requires_grad=True)
    before = counters()
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        loss = x.exp().sum()
    assert since(before, "bytes_saved") == 0
    loss.backward()
    assert clew.explain(loss).totals.freed_bytes == 0
    assert account.settle(slot for slot in loss.grad_fn.next_functions[0][0].saved) == [("", 0)]
