"""The ledger against the allocator, on programs of which nothing is known but the seed."""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from typing import Any

import pytest
from random_programs import OPERATIONS, Program

import clew
from clew import _core


def bytes_that_no_tensor_has() -> int:
    """What the allocator counts, less the storages of the tensors that are alive: all by the core's own registers."""
    tensors = [tensor for tensor in _core.live_tensors() if not _core.storage_is_foreign(tensor)]
    return clew.memory.stats().live - sum({t._storage_id: t._storage_nbytes for t in tensors}.values())


def bytes_that_only_graphs_have(told: clew.graph.Ledger) -> int:
    """From the records, so that the totals can be held against it."""
    return sum(
        {
            record.storage: record.storage_bytes
            for record in told.records
            if record.kind == "saved" and record.state == "held" and not record.is_foreign and not record.held_by
        }.values()
    )


class Ground:
    """What is alive before a program begins: earlier tests may have left something."""

    def __init__(self) -> None:
        gc.collect()
        self.left = bytes_that_no_tensor_has()
        self.told = clew.graph.ledger().totals.graph_only_bytes

    def check(self, everything: list[Any]) -> clew.graph.Ledger:
        now = bytes_that_no_tensor_has()
        expected = now - self.left
        told = clew.graph.ledger(everything)
        assert bytes_that_only_graphs_have(told) == expected
        assert told.totals.graph_only_bytes == expected
        assert clew.graph.ledger().totals.graph_only_bytes - self.told == expected
        assert clew.explain(everything).totals.graph_only_bytes == expected
        assert bytes_that_no_tensor_has() == now
        return told


@pytest.mark.parametrize("seed", range(20))
def test_nodes_have_the_numbers_of_explain(seed: int) -> None:
    clew.manual_seed(seed)
    program = Program(seed)
    with warnings.catch_warnings(action="ignore"):
        for _ in range(40):
            program.step()
    told = clew.explain(program.everything, limit=10_000)
    shown = [(number, slot.name) for number, node in enumerate(told.nodes, 1) for slot in node.saved]
    ledger = clew.graph.ledger(program.everything)
    recorded = [(record.node, record.slot) for record in ledger.records if record.kind != "workspace"]
    assert recorded[: len(shown)] == shown
    assert min((number for number, _ in recorded[len(shown) :]), default=10_000) > len(told.nodes)


@pytest.mark.parametrize("seed", range(200))
def test_exact(seed: int) -> None:
    ground = Ground()
    clew.manual_seed(seed)
    program = Program(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            program.step()
        before = ground.check(program.everything)
        assert before.totals.held + before.totals.packed > 0
        program.finish()
        ground.check(program.everything)
        for _ in range(4):
            program.step()
        program.finish()
        ground.check(program.everything)
    del program, before
    gc.collect()
    assert bytes_that_no_tensor_has() == ground.left


def test_the_programs_are_various() -> None:
    """All kinds of operation and of backward occur, and all states, or the test above would show less than it says."""
    outcomes: Counter[str] = Counter()
    states: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    names: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(60):
            program = Program(seed)
            for _ in range(12):
                program.step()
            outcomes[program.finish()] += 1
            told = clew.graph.ledger(program.everything)
            states.update(record.state for record in told.records)
            kinds.update(record.kind for record in told.records)
            names.update(record.name for record in told.records)
            outcomes["foreign"] += told.totals.foreign_bytes > 0
            outcomes["graph only"] += told.totals.graph_only_bytes > 0
    assert len(OPERATIONS) >= 25
    assert outcomes.keys() >= {"plain", "retained", "twice", "partial", "of_inputs", "with_graph"}
    assert outcomes.keys() >= {"InplaceError", "foreign", "graph only"}
    assert outcomes["plain"] > 3
    assert states.keys() == {"held", "packed", "freed"}
    assert kinds.keys() == {"saved", "packed", "workspace"}
    assert len(names) >= 15
