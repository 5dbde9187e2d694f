"""Row 6.9: a compiled function is compared with the function itself, step by step."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import clew
from clew import nn

pytestmark = pytest.mark.records_calls


def training_step() -> tuple[Any, Any]:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 1))
    optimizer = clew.optim.Adam(model.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, model


def test_checked_calls_are_the_functions() -> None:
    """Steps that draw, write parameters and set gradients: a replay beside them must change none of these."""
    losses, weights = [], []
    for checked in (False, True):
        clew.manual_seed(0)
        step, model = training_step()
        function = clew.compile(step) if checked else step
        losses.append([])
        for i in range(8):
            if checked and i == 4:
                function.check(3)
            losses[-1].append(function(clew.full((5, 3), i / 4)))
        weights.append([one.tolist() for one in model.parameters()])
    assert losses[0] == losses[1]
    assert weights[0] == weights[1]
    assert "checked: 3 calls" in function.why()
    assert function.hits == 3  # two are recorded, two replayed, three checked, and the last is replayed again


def test_a_step_that_is_not_pure_is_named_with_its_line() -> None:
    calls = []

    @clew.pure
    def counted(x: Any) -> Any:
        calls.append(1)
        return clew.from_numpy(x.numpy() + len(calls))

    def function(x: Any) -> Any:
        y = x.exp()
        return counted(y) * 2

    compiled = clew.compile(function)
    compiled(clew.ones(2))
    compiled(clew.ones(2))
    compiled.check(2)
    line = function.__code__.co_firstlineno + 2
    with pytest.raises(clew.ReplayError, match=rf"check: step 1, counted, gives other bits[^$]*:{line}"):
        compiled(clew.ones(2))
    assert "checked" not in compiled.why()


def test_what_the_memory_plan_makes_is_compared() -> None:
    """The replay step by step and the function agree; only what runs by the plan, in between, gives something else."""
    runs: list[int] = []

    @clew.pure
    def counted(x: Any) -> Any:
        runs.append(len(runs))
        return clew.from_numpy(x.numpy() + (len(runs) == 4))

    def function(x: Any) -> Any:
        return counted(x) * 2 + x

    compiled = clew.compile(function)
    compiled(clew.ones(2))
    compiled(clew.ones(2))
    compiled.check(1)
    line = function.__code__.co_firstlineno + 1
    with pytest.raises(clew.ReplayError, match=rf"(?s)gives other bits where the memory plan runs it[^$]*:{line}"):
        compiled(clew.ones(2))
    assert runs == [0, 1, 2, 3, 4]


def test_a_replay_of_another_program_is_found() -> None:
    """An array outside is no part of what is promised to be seen; a check tells that the function uses it."""
    factor = numpy.ones(2)

    @clew.pure
    def scaled(x: Any) -> Any:
        return clew.from_numpy(x.numpy() * factor)

    compiled = clew.compile(lambda x: scaled(x) + 1)
    compiled(clew.ones(2))
    compiled.check(5)
    assert compiled(clew.ones(2)).tolist() == [2, 2]
    factor[:] = 3  # both runs see it
    assert compiled(clew.ones(2)).tolist() == [4, 4]


def test_steps_without_values_are_not_compared() -> None:
    def filled(x: Any) -> Any:
        out = clew.empty(2, 3)  # what is in it is of no meaning
        out[0] = x
        out[1] = x * 2
        return out.sum()

    compiled = clew.compile(filled)
    compiled.check(20)
    for i in range(20):
        assert compiled(clew.full((3,), float(i))).item() == 9 * i
        _ = clew.rand(2, 3)  # other memory is handed out in the next call
    assert "checked: 19 calls" in compiled.why()


def test_a_call_that_is_recorded_is_not_counted() -> None:
    compiled = clew.compile(lambda x: x * 2)
    compiled.check(1)
    compiled(clew.ones(1))
    assert "checked" not in compiled.why()
    compiled(clew.ones(1))
    assert "checked: 1 call," in compiled.why()
    compiled(clew.ones(1))
    assert compiled.hits == 1
    with pytest.raises(ValueError, match="check: expected a number of calls, got -1"):
        compiled.check(-1)
    with pytest.raises(TypeError, match="check: expected a number of calls, got a str"):
        compiled.check("a")  # type: ignore[arg-type]
