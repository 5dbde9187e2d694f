"""Row 6.3: graphs of results that were written through views (CopySlices) are made anew by each replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import clew

pytestmark = pytest.mark.records_calls


def number(x: Any, w: Any) -> Any:
    y = x * w
    y[0] = 0.5
    return y


def tensor(x: Any, w: Any) -> Any:
    y = x.clone()
    y[:, 1] = w[:, 0] * 2
    return y * w


def scaled(x: Any, w: Any) -> Any:
    y = x * w
    y[1:].mul_(w[1:])
    y[0].exp_()  # saves what it wrote
    return y


def several(x: Any, w: Any) -> Any:
    y = x * w
    y.t()[0].add_(w[:, 1])
    part = y[1:]
    part[:, 0].sin_()
    return y


def through_a_view_of_a_view(x: Any, w: Any) -> Any:
    y = x * w
    y.view(-1)[2:4].view(2, 1).pow_(2)
    return y.sum(0)


def the_view_itself(x: Any, w: Any) -> Any:
    y = x * w
    row = y[1]
    row *= w[0]
    return row, y


def onto_what_needs_no_gradient(x: Any, w: Any) -> Any:
    y = clew.zeros(3, 2)
    y[1] = w[1] * x[1]
    y[2].copy_(w[2])
    return y


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    number,
    tensor,
    scaled,
    several,
    through_a_view_of_a_view,
    the_view_itself,
    onto_what_needs_no_gradient,
]


def outcome(function: Callable[[Any, Any], Any], i: int, twice: bool) -> Any:
    generator = clew.Generator().manual_seed(i)
    x, w = clew.randn(3, 2, generator=generator), clew.randn(3, 2, generator=generator, requires_grad=True)
    given = function(x, w)
    results = given if isinstance(given, tuple) else (given,)
    (first,) = clew.autograd.grad(sum(one.square().sum() for one in results), w, create_graph=twice)
    found = [*results, first]
    if twice:
        found += clew.autograd.grad(first.square().sum(), w)
    names = [one.grad_fn.name() for one in results]
    return names, [one._version for one in results], [one.detach().numpy().tobytes() for one in found]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_gradients_are_those_of_eager(function: Callable[[Any, Any], Any], twice: bool) -> None:
    compiled = clew.compile(function)
    for i in range(5):
        assert outcome(compiled, i, twice) == outcome(function, i, twice)
    assert (compiled.hits, compiled.misses) == (4, 1), compiled.why()


def test_results_of_earlier_calls_stay_as_they_were() -> None:
    compiled = clew.compile(scaled)
    w = clew.ones(3, 2, requires_grad=True)
    results = [compiled(clew.full((3, 2), float(i)), w) for i in range(4)]
    assert compiled.hits == 3
    for i, result in enumerate(results):
        (found,) = clew.autograd.grad(result.sum(), w)
        (expected,) = clew.autograd.grad(scaled(clew.full((3, 2), float(i)), w).sum(), w)
        assert found.tolist() == expected.tolist()


def test_writing_on_is_written_through_the_same_history() -> None:
    compiled = clew.compile(number)
    for _ in range(3):
        w = clew.ones(3, 2, requires_grad=True)
        y = compiled(clew.ones(3, 2), w)
        y[1] = 2.0
        y.sum().backward()
        assert w.grad.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert compiled.hits == 2


@pytest.mark.filterwarnings("ignore::clew.KeepWarning")
def test_a_write_through_data_is_seen_by_the_backward_of_each_call() -> None:
    w = clew.ones(3, requires_grad=True)

    @clew.compile
    def step(x: Any) -> Any:
        y = (w * w * x).sum()
        w.data.add_(1.0)
        return y

    for i in range(4):
        y = step(clew.full((3,), float(i)))
        with pytest.raises(clew.autograd.errors.InplaceError, match="alias"):
            y.backward()
    assert "written through .data" in str(step.why())
