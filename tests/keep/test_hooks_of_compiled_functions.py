"""Hooks that a compiled function adds to what it gives: they are there in replays, too (BEHAVIOUR 6.1, 6.3)."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import clew

pytestmark = pytest.mark.records_calls

w = clew.tensor([1.0, -2.0, 3.0], requires_grad=True)
w.sum().backward()  # makes what a leaf has for ever
log: list[Any] = []


def doubled(gradient: Any) -> Any:
    log.append(gradient.tolist())
    return gradient * 2


def doubled_in_place(leaf: Any) -> None:
    leaf.grad.mul_(2)


@pytest.fixture(autouse=True)
def no_gradient() -> Any:
    yield
    w.grad = None
    log.clear()


class Scaler:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def scale(self, gradient: Any) -> Any:
        log.append(gradient.tolist())
        return gradient * self.factor


scaler = Scaler(3.0)


def on_the_result(x: Any) -> Any:
    y = w * x
    y.register_hook(doubled)
    return y


def below_the_result(x: Any) -> Any:
    y = w * x
    y.register_hook(doubled)
    y.register_hook(doubled)
    return y * 3


def of_a_view(x: Any) -> Any:
    y = w * x
    y.register_hook(doubled)
    part = y[1:]
    part.register_hook(doubled)
    return part * 2


def a_closure(x: Any) -> Any:
    y = w * x
    y.register_hook(lambda gradient: gradient * x)
    return y * 3


def two_closures_over_one_cell(x: Any) -> Any:
    seen: list[Any] = []
    y = w * x
    y.register_hook(lambda gradient: seen.append(gradient.tolist()))
    z = y * 3

    def told(gradient: Any, *, times: int = 2) -> Any:
        log.append(list(seen))
        return gradient * times

    w_again = w * 1
    w_again.register_hook(told)
    return z + w_again.exp() * 0 + y


def a_method(x: Any) -> Any:
    y = w * x
    y.register_hook(scaler.scale)
    return y.sum()


def a_partial(x: Any) -> Any:
    y = w * x
    y.register_hook(functools.partial(clew.mul, x))
    return y * 2


def of_a_node(x: Any) -> Any:
    y = w * x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: log.append((len(inputs), outputs[0].tolist())))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    return y * 3


def removed(x: Any) -> Any:
    y = w * x
    handle = y.register_hook(doubled)
    y.register_hook(scaler.scale)
    handle.remove()
    return y


def after_a_write(x: Any) -> Any:
    y = w * x
    y.register_hook(doubled)
    y.mul_(2)
    y.register_hook(scaler.scale)
    return y


def retained(x: Any) -> Any:
    y = w * x
    y.retain_grad()
    return y, y * 3


def a_leaf_for_a_while(x: Any) -> Any:
    with w.register_post_accumulate_grad_hook(doubled_in_place):
        (w * x).sum().backward()
    return w * x


CASES = [on_the_result, below_the_result, of_a_view, a_closure, two_closures_over_one_cell, a_method, a_partial]
CASES += [of_a_node, removed, after_a_write, retained, a_leaf_for_a_while]


def outcome(function: Callable[[Any], Any], number: int) -> list[Any]:
    log.clear()
    w.grad = None
    result = function(clew.full((3,), float(number)))
    parts = result if isinstance(result, tuple) else (result,)
    for part in parts:
        part.sum().backward(retain_graph=True)
    return [w.grad.tolist(), list(log), *(part.grad.tolist() for part in parts if part.retains_grad)]


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_a_replay_adds_them_again(function: Callable[[Any], Any]) -> None:
    compiled = clew.compile(function, fullgraph=True)
    outcome(function, 9)  # there is a .grad from now on
    for number in range(1, 6):
        assert outcome(compiled, number) == outcome(function, number)
    assert compiled.hits >= 3, compiled.why()


def test_functions_that_a_replay_makes_are_named_as_in_eager() -> None:
    def scale(y: Any) -> Any:
        """Scales."""
        return y

    def scaled(x: Any) -> Any:
        @functools.wraps(scale)
        def times(y: Any) -> Any:
            return y * x

        return times, lambda y: y + x

    compiled = clew.compile(scaled)
    for _ in range(3):
        for made, expected in zip(compiled(clew.ones(1)), scaled(clew.ones(1)), strict=True):
            for name in functools.WRAPPER_ASSIGNMENTS:
                assert getattr(made, name) == getattr(expected, name)
            assert vars(made) == vars(expected)
    assert compiled.hits == 2


def test_each_result_has_its_own() -> None:
    compiled = clew.compile(a_closure, fullgraph=True)
    compiled(clew.ones(3))
    first, second = compiled(clew.full((3,), 2.0)), compiled(clew.full((3,), 5.0))
    w.grad = None
    first.sum().backward()
    assert w.grad.tolist() == [12.0] * 3  # 3 from above, times x in the hook, times x
    second.sum().backward()
    assert w.grad.tolist() == [87.0] * 3


def test_what_a_closure_holds_goes_with_the_result() -> None:
    compiled = clew.compile(a_closure, fullgraph=True)
    compiled(clew.ones(3))
    x = clew.full((3,), 2.0)
    result, held = compiled(x), weakref.ref(x)
    del x
    gc.collect()
    assert held() is not None
    assert compiled.hits == 1
    del result
    gc.collect()
    assert held() is None


def test_a_cycle_through_a_hook_is_collected() -> None:
    def function(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda gradient: gradient * y.detach())
        return y

    compiled = clew.compile(function)
    compiled(clew.ones(3))
    result = compiled(clew.ones(3))
    result.sum().backward()
    died = weakref.ref(result)
    del result
    gc.collect()
    assert died() is None
    assert compiled.hits == 1, compiled.why()
