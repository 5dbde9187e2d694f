"""Row 6.3: steps as people write them give under clew.compile what they give without, to the bit, and replay."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import struct
import warnings
from typing import Any

import ordinary_steps
import pytest
from ordinary_steps.harness import CASES

import clew as torch
from clew import nn

KINDS = [importlib.import_module(f"ordinary_steps.{one.name}") for one in pkgutil.iter_modules(ordinary_steps.__path__)]

pytestmark = pytest.mark.records_calls
CALLS = 6
# Why these are not replayed from their third call on.
EAGER = {
    "exponential_schedule": "the scheduler computes the next rate from a count that it has counted up",
    "least_squares_by_lbfgs": "LBFGS reads lists that it has changed",
}


def bits(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        numbers = value.detach().contiguous().numpy().tobytes()
        return type(value).__name__, tuple(value.shape), str(value.dtype), value.requires_grad, numbers
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, nn.Module):
        return [bits(one) for one in [*value.state_dict().values(), *[p.grad for p in value.parameters()]]]
    if isinstance(value, torch.optim.Optimizer):
        return bits(value.state_dict())
    if isinstance(value, dict):
        return {key: bits(one) for key, one in value.items()}
    if dataclasses.is_dataclass(value):
        return type(value), bits(vars(value))
    if isinstance(value, list | tuple):
        return type(value), [bits(one) for one in value]
    return value


def run(name: str, compiled: bool) -> tuple[list[Any], Any]:
    torch.manual_seed(0)
    step, batch, kept = CASES[name]()
    function = torch.compile(step) if compiled else step
    trace = []
    for i in range(CALLS):
        result = function(*batch(i))
        if isinstance(result, torch.Tensor) and result.grad_fn is not None and name == "backward_outside":
            result.backward()
        trace.append((bits(result), bits(kept), bits(torch.get_rng_state())))
    return trace, function


@pytest.mark.parametrize("name", CASES)
def test_a_step_gives_what_it_gives_without(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.KeepWarning)
        eager, _ = run(name, False)
        trace, function = run(name, True)
    for i, (expected, got) in enumerate(zip(eager, trace, strict=True)):
        assert got == expected, f"call {i}"
    replayed = function.hits >= CALLS - 3
    assert replayed == (name not in EAGER), function.why()


def test_there_are_a_hundred_of_them() -> None:
    assert len(CASES) >= 100
    assert all(kind.__doc__ for kind in KINDS)


def test_most_steps_are_replayed() -> None:
    assert EAGER.keys() <= CASES.keys()
    assert len(CASES) - len(EAGER) >= 0.85 * len(CASES)


def test_what_keeps_a_function_eager_is_named_with_what_to_do() -> None:
    @torch.compile
    def loss(x: torch.Tensor) -> torch.Tensor:
        point = x.detach().requires_grad_()
        return (point * point).sum()

    loss(torch.ones(3)), loss(torch.ones(3))  # what happens in a first call only would not be told
    with pytest.warns(torch.KeepWarning, match=r"graph that ends in a leaf .*: detach the result"):
        loss(torch.ones(3))
