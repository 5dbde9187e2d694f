"""Row 6.3: backward passes of a call that lead into a graph from before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import clew

pytestmark = [
    pytest.mark.records_calls,
    pytest.mark.filterwarnings("ignore::clew.KeepWarning"),
]


class PassesBoth(clew.autograd.Function):
    @staticmethod
    def forward(ctx: Any, first: Any, second: Any) -> Any:
        return second * 1

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, None


def root(w: Any) -> Callable[[], Any]:
    y = (w * 2).sum()
    return lambda: y


def operand(w: Any) -> Callable[[], Any]:
    y = w * 2
    return lambda: (y * 3).sum()


def operand_that_a_function_does_not_read(w: Any) -> Callable[[], Any]:
    y, other = w * 2, clew.ones(3)
    return lambda: PassesBoth.apply(y, other).sum()


def view_that_got_its_history_later(w: Any) -> Callable[[], Any]:
    base = clew.zeros(3)
    view = base[0:2]
    base.add_(w)
    return lambda: (view * 3).sum()


def source_of_a_write(w: Any) -> Callable[[], Any]:
    y = w * 2

    def run() -> Any:
        z = clew.zeros(3)
        z += y
        z[0:1].mul_(2)
        return z.sum()

    return run


@pytest.mark.parametrize(
    "make",
    [root, operand, operand_that_a_function_does_not_read, view_that_got_its_history_later, source_of_a_write],
)
def test_a_backward_that_leads_out_of_the_call_stays_eager(make: Callable[[Any], Callable[[], Any]]) -> None:
    def gradient(compiles: bool) -> Any:
        w = clew.ones(3, requires_grad=True)
        loss = make(w)

        def step() -> None:
            loss().backward(retain_graph=True)

        called = clew.compile(step) if compiles else step
        for _ in range(4):
            called()
        assert not compiles or (called.hits == 0 and "which was made before" in called.why())
        return w.grad.tolist()

    assert gradient(compiles=True) == gradient(compiles=False)
