"""Row 6.3: graphs of results that lead through an autograd.Function are made anew by each replay."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew.autograd import Function

pytestmark = pytest.mark.records_calls


class Cube(Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


class Clipped(Function):
    """Holds a number, a shape and a tensor by name."""

    @staticmethod
    def forward(ctx: Any, x: Any, limit: float) -> Any:
        ctx.limit, ctx.size = limit, x.shape
        ctx.inside = x.abs() < limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        assert grad.shape == ctx.size
        return grad * ctx.inside / ctx.limit, None


class Parts(Function):
    """Two inputs, one of which may need no gradient; three outputs, one without a derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.set_materialize_grads(False)
        order = x.argsort()
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(x, y)
        return x * y, x + y, order

    @staticmethod
    def backward(ctx: Any, product: Any, total: Any, _: Any) -> Any:
        x, y = ctx.saved_tensors
        gradients = [0, 0]
        if product is not None:
            gradients = [product * y, product * x]
        if total is not None:
            gradients = [one + total for one in gradients]
        return tuple(one if needed else None for one, needed in zip(gradients, ctx.needs_input_grad, strict=True))


class Same(Function):
    """Gives its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return -grad


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "one": lambda x, w: Cube.apply(x * w),
    "of a leaf": lambda x, w: Cube.apply(w) + x,
    "one in another's graph": lambda x, w: Cube.apply(Clipped.apply(x * w, 1.5)).tanh(),
    "with a number that is given": lambda x, w: Clipped.apply(x * w, 0.75),
    "with parts": lambda x, w: sum(Parts.apply(x, w)[:2]),
    "with a part that is not used": lambda x, w: Parts.apply(x * w, x)[0],
    "a view of its input": lambda x, w: Same.apply(x * w) * 2,
    "twice": lambda x, w: [Cube.apply(w * one) for one in (x, 2 * x)][1] * Cube.apply(w),
}


def gradients(function: Callable[[Any, Any], Any], i: int, twice: bool) -> Any:
    generator = clew.Generator().manual_seed(i)
    x, w = clew.randn(4, generator=generator), clew.randn(4, generator=generator, requires_grad=True)
    y = function(x, w)
    (first,) = clew.autograd.grad(y.square().sum(), w, create_graph=twice)
    found = [y.detach(), first.detach()]
    if twice and first.requires_grad:
        found.append(clew.autograd.grad(first.sum(), w)[0])
    return [one.numpy().tobytes() for one in found], y.grad_fn.name()


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_eager(name: str, twice: bool) -> None:
    gradients(PROGRAMS[name], 0, twice)  # the first use of a Function makes its class of nodes
    compiled = clew.compile(PROGRAMS[name])
    for i in range(5):
        assert gradients(compiled, i, twice) == gradients(PROGRAMS[name], i, twice)
    assert (compiled.hits, compiled.misses) == (4, 1), compiled.why()


def test_results_of_earlier_calls_stay_as_they_were() -> None:
    compiled = clew.compile(lambda w: Cube.apply(w * w))
    w = clew.tensor([1.0, 2.0], requires_grad=True)
    Cube.apply(w)
    results = []
    for _ in range(4):
        results.append(compiled(w))
        with clew.no_grad():
            w.add_(1)
    assert compiled.hits == 3
    contexts = [one.grad_fn for one in results]
    assert len({id(one) for one in contexts}) == 4
    assert [one.saved_tensors[0].tolist() for one in contexts] == [[1, 4], [4, 9], [9, 16], [16, 25]]
    with pytest.raises(clew.autograd.errors.InplaceError):
        results[0].sum().backward()  # `w` was modified since, as in eager


def test_a_freed_graph_says_so() -> None:
    Cube.apply(clew.ones(1, requires_grad=True))
    compiled = clew.compile(lambda x: Cube.apply(x).sum())
    for _ in range(3):
        x = clew.ones(3, requires_grad=True)
        y = compiled(x)
        y.backward()
        assert x.grad.tolist() == [3, 3, 3]
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    assert compiled.hits == 2


def test_contexts_go_with_their_graph() -> None:
    compiled = clew.compile(lambda x: Clipped.apply(x, 2.0).sum())
    for _ in range(3):
        y = compiled(clew.ones(3, requires_grad=True))
    node = weakref.ref(y.grad_fn.next_functions[0][0])
    del y
    gc.collect()
    assert node() is None


def test_what_a_context_cannot_give_again_keeps_it_eager() -> None:
    class Holding(Function):
        """Holds something of which nothing is known."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.thing = iter([1])
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    compiled = clew.compile(Holding.apply)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for _ in range(4):
            compiled(clew.ones(2, requires_grad=True))
    assert compiled.hits == 0
    assert "gives or keeps a list_iterator that it made" in compiled.why()
