"""Second derivatives through what a Function computes in forward and keeps are refused; constants stay constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import clew as torch

pytestmark = pytest.mark.beyond


def function(keep: Callable[[Any, Any], None], rule: Callable[[Any, Any], Any]) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            keep(ctx, x)
            return x**4

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * rule(ctx, ctx.x if hasattr(ctx, "x") else None)

    return F.apply


def second(apply: Any, value: float = 2.0) -> Any:
    x = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(apply(x), x, create_graph=True)
    assert first.item() == pytest.approx(4 * value**3), "the first derivative"
    return torch.autograd.grad(first, x)[0].item()


def keep_attributes(**made: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    def keep(ctx: Any, x: Any) -> None:
        ctx.x = x
        for name, make in made.items():
            setattr(ctx, name, make(x))

    return keep


# Values that are constants, or whose derivative is 0: the second derivative of x ** 4 stays right.
HARMLESS = {
    "a mask": (keep_attributes(m=lambda x: (x > 0).double()), lambda ctx, x: 4 * x**3 * ctx.m),
    "a sign": (keep_attributes(m=lambda x: x.sign()), lambda ctx, x: 4 * x**3 * ctx.m),
    "a choice": (keep_attributes(m=lambda x: torch.where(x > 0, 1.0, 0.0)), lambda ctx, x: 4 * x**3 * ctx.m),
    "detached": (keep_attributes(m=lambda x: x.detach() / x.detach()), lambda ctx, x: 4 * x**3 * ctx.m),
    "an integer": (keep_attributes(m=lambda x: x.long()), lambda ctx, x: 4 * x**3 * (ctx.m > 1)),
    "a shape": (keep_attributes(m=lambda x: x.new_ones(x.shape)), lambda ctx, x: 4 * x**3 * ctx.m),
    "not used": (keep_attributes(m=lambda x: x.exp()), lambda ctx, x: 4 * x**3),
    "used as a condition": (keep_attributes(m=lambda x: x.exp()), lambda ctx, x: 4 * x**3 * (ctx.m > 0)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_constants_stay(name: str) -> None:
    assert second(function(*HARMLESS[name])) == 48


LOST: dict[str, Any] = {
    "an attribute": (keep_attributes(y=lambda x: x**3), lambda ctx, x: 4 * ctx.y),
    "in two steps": (keep_attributes(y=lambda x: (x * x) * x.clone()), lambda ctx, x: 4 * ctx.y),
    "through a mask": (keep_attributes(y=lambda x: x**3 * (x > 0)), lambda ctx, x: 4 * ctx.y),
    "saved": (lambda ctx, x: ctx.save_for_backward(x**3), lambda ctx, x: 4 * ctx.saved_tensors[0]),
}


@pytest.mark.parametrize("name", LOST)
def test_a_lost_part_is_refused(name: str) -> None:
    apply = function(*LOST[name])
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(apply(x), x)[0].item() == 32
    with pytest.raises(RuntimeError, match="expected second derivatives to go through inputs and outputs of forward"):
        second(apply)
    (first,) = torch.autograd.grad(apply(x), x, create_graph=True)  # the attribute is as it was
    assert first.item() == 32


def test_what_was_lost_before_is_a_constant() -> None:
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        scale = x * 0 + 1
    apply = function(keep_attributes(m=lambda _: scale * 1.0), lambda ctx, x: 4 * x**3 * ctx.m)
    assert second(apply) == 48


def test_outputs_and_inputs_have_their_history() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            square = x * x
            ctx.save_for_backward(x, square)
            return square * x, square

        @staticmethod
        def backward(ctx: Any, g: Any, g_square: Any) -> Any:
            x, square = ctx.saved_tensors
            return 3 * square * g + 2 * x * g_square

    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(x)[0], x, create_graph=True)
    assert (first.item(), torch.autograd.grad(first, x)[0].item()) == (12, 12)
