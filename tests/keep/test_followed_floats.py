"""Row 6.6: a float that is only handed on is read anew by each replay; any other use makes its value a guard."""

from __future__ import annotations

import math
import operator
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import clew

pytestmark = pytest.mark.records_calls

SPECIAL = [2.0, 1.0, 0.0, -0.0, -1.0, 0.5, 3.0, math.inf, -math.inf, math.nan, 1e-40, 1e30, 7.25]
ARITHMETIC: dict[str, Callable[[Any, float], Any]] = {
    "add": lambda x, t: x + t,
    "reflected add": lambda x, t: t + x,
    "sub": lambda x, t: x - t,
    "reflected sub": lambda x, t: t - x,
    "mul": lambda x, t: x * t,
    "reflected mul": lambda x, t: t * x,
    "div": lambda x, t: x / t,
    "reflected div": lambda x, t: t / x,
    "method": lambda x, t: x.mul(t).add(t).sub(t),
    "function": lambda x, t: clew.mul(clew.add(x, t), t),
    "in place": lambda x, t: (x * 1).mul_(t).add_(t).sub_(t),
    "operators in place": lambda x, t: operator.imul(operator.iadd(x * 1, t), t),
}


def bits(value: Any) -> Any:
    if isinstance(value, clew.Tensor):
        return value.dtype, value.detach().numpy().tobytes()
    return [bits(one) for one in value] if isinstance(value, (tuple, list)) else repr(value)


def counts(function: Any) -> tuple[int, int]:
    return function.hits, function.misses


def alike(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> Any:
    """Compiled, as it is itself."""
    compiled = clew.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for arguments in calls:
            assert bits(compiled(*arguments)) == bits(function(*arguments)), arguments
    return compiled


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", [clew.float32, clew.float64, clew.int64, clew.float16])
def test_an_operand_is_delivered_anew(name: str, dtype: Any) -> None:
    whole = dtype == clew.int64

    def function(x: Any, t: float) -> Any:
        if whole:
            return ARITHMETIC[name](x.float() * 1, t)
        x = x.detach().requires_grad_()
        y = ARITHMETIC[name](x, t)
        (first,) = clew.autograd.grad(y.sum(), x, create_graph=True)
        second = clew.autograd.grad(first.square().sum(), x, allow_unused=True)[0] if first.requires_grad else None
        return y.detach(), first.detach(), second

    x = clew.tensor([1, 2, 4, -3]).to(dtype)
    compiled = alike(function, [(x, value) for value in SPECIAL])
    if "operators" not in name:  # functions of the module are not known to hand on
        assert counts(compiled) == (len(SPECIAL) - 1, 1), compiled.why()


def test_graphs_of_earlier_calls_keep_their_number() -> None:
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    scaled = clew.compile(lambda x, t: (x * t).sin())
    results = {value: scaled(x, value) for value in (2.0, 3.0, 5.0)}
    assert counts(scaled) == (2, 1)
    for value, result in results.items():
        (gradient,) = clew.autograd.grad(result.sum(), x)
        (expected,) = clew.autograd.grad((x * value).sin().sum(), x)
        assert bits(gradient) == bits(expected)


def test_a_comparison_with_a_constant_is_the_witness() -> None:
    def function(x: Any, t: float) -> Any:
        if t is None or 10 < t:  # noqa: SIM300 - either side
            return x
        if 0.0 <= t <= 1.0 and t != 0.5:
            return x * t
        return x + t if t else x - 1

    values = [0.2, 0.3, 0.5, 1.5, 2.5, 0.7, -1.0, 11.0, 12.0, 0.0, -0.0, math.nan, 0.9, 1.0]
    compiled = alike(function, [(clew.ones(2), value) for value in values])
    assert compiled.variants < len(values) - 4
    assert compiled.hits >= 5


USED: dict[str, Callable[[Any, float], Any]] = {
    "in Python": lambda x, t: x * (t + 1),
    "negated": lambda x, t: x * -t,
    "in math": lambda x, t: x * math.exp(t),
    "as an exponent": lambda x, t: x**t,
    "as an option": lambda x, t: clew.add(x, x, alpha=t),
    "in a container": lambda x, t: x * max([t, 0.25]),
    "as a key": lambda x, t: x * {0.5: 2}.get(t, 3),
    "rounded": lambda x, t: x * round(t),
    "as an int": lambda x, t: x * int(t),
    "in text": lambda x, t: (x, f"{t:.1f}"),
    "to fill": lambda x, t: clew.full((2,), t) + x,
    "as data": lambda x, t: clew.tensor([t, 1.0]) * x,
    "as a limit": lambda x, t: x.clamp(max=t),
    "compared with another": lambda x, t: x * (t > x.mean().item()),
    "by a method": lambda x, t: x * t.is_integer(),
}


@pytest.mark.parametrize("name", USED)
def test_any_other_use_makes_the_value_a_witness(name: str) -> None:
    values = [0.5, 0.75, 0.5, 0.75, 1.5, 0.5]
    compiled = alike(USED[name], [(clew.tensor([2.0, 3.0]), value) for value in values])
    assert counts(compiled) == (3, 3), compiled.why()


def test_used_in_one_way_and_handed_on_in_another() -> None:
    compiled = alike(lambda x, t: (x * t, t + 1), [(clew.ones(2), value) for value in (0.5, 0.75, 0.5, 0.75)])
    assert counts(compiled) == (2, 2)


def test_one_number_in_two_places() -> None:
    compiled = alike(lambda x, a, b: x * a + b, [(clew.ones(2), a, b) for a in (0.5, 2.0) for b in (0.5, 2.0, 3.0)])
    assert counts(compiled) == (5, 1)


def test_a_constant_of_the_same_value_is_no_argument() -> None:
    rate = 0.5
    holder = types.SimpleNamespace(rate=rate)

    def function(x: Any, t: float) -> Any:
        return x * t + 0.5 * rate, holder.rate, rate

    compiled = alike(function, [(clew.ones(2), value) for value in (rate, 0.25, holder.rate, 4.0)])
    assert counts(compiled) == (3, 1)


def test_results_and_effects_get_the_number_of_the_call() -> None:
    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        log: list[float] = []
        holder = types.SimpleNamespace(rate=0.0)

        def function(x: Any, t: float, *, u: float) -> Any:
            log.append(t)
            holder.rate = u
            return x * holder.rate, {"t": t, "both": (t, u)}

        called = wrap(function)
        given = [called(clew.ones(2), float(i), u=i / 2) for i in range(5)]
        if called is not function:
            assert counts(called) == (4, 1)
        return [[bits(one[0]) for one in given], repr([one[1] for one in given]), log, holder.rate]

    assert run(clew.compile) == run(lambda function: function)


def test_a_learning_rate_given_to_the_step() -> None:
    def run(wrap: Callable[[Any], Any]) -> Any:
        weight = clew.tensor([1.0, 2.0], requires_grad=True)
        optimizer = clew.optim.SGD([weight], lr=0.1)

        def step(rate: float) -> float:
            optimizer.param_groups[0]["lr"] = rate
            optimizer.zero_grad()
            loss = weight.square().sum()
            loss.backward()
            optimizer.step()
            return loss.item()

        function = wrap(step)
        losses = [function(0.1 / (1 + i)) for i in range(6)]
        if function is not step:
            assert counts(function) == (5, 1), function.why()
        return losses, bits(weight), optimizer.param_groups[0]["lr"]

    assert run(clew.compile) == run(lambda function: function)


def test_a_number_that_was_read_is_an_operand() -> None:
    def function(x: Any) -> Any:
        peak = x.abs().max().item()
        scaled = x / peak
        return scaled, scaled * scaled.sum().item(), peak

    x = clew.tensor([1.0, -4.0, 2.0], requires_grad=True)
    compiled = clew.compile(function)
    results = []
    for factor in (1.0, 2.0, 0.25, -3.0):
        with clew.no_grad():
            x.mul_(factor)
        results.append(compiled(x))
        assert bits(results[-1]) == bits(function(x))
    assert counts(compiled) == (3, 1)
    for result in results[-1:]:
        (gradient,) = clew.autograd.grad(result[1].sum(), x)
        (expected,) = clew.autograd.grad(function(x)[1].sum(), x)
        assert bits(gradient) == bits(expected)


def test_a_list_that_is_only_handed_on() -> None:
    log: list[Any] = []

    def function(x: Any) -> Any:
        values = (x * 2).tolist()
        log.append(values)
        return {"values": values, "whole": x.long().tolist()}, values

    compiled = clew.compile(function)
    for i in range(4):
        x = clew.arange(6.0).reshape(2, 3) * i
        given, values = compiled(x)
        assert given == {"values": (x * 2).tolist(), "whole": x.long().tolist()}
        assert given["values"] is values
        assert log[-1] is values
    assert counts(compiled) == (3, 1)
    assert len({id(one) for one in log}) == 4


def test_a_failing_operand_raises_what_eager_raises() -> None:
    compiled = clew.compile(lambda x, t: x + t)
    for value in (1.0, 2.0):
        compiled(clew.ones(2), value)
    with pytest.raises(TypeError):
        compiled(clew.ones(2), object())


def test_a_subclass_of_float_is_another_kind() -> None:
    class Degrees(float):
        pass

    compiled = alike(lambda x, t: x * t, [(clew.ones(2), value) for value in (1.0, Degrees(2.0), 3.0)])
    assert compiled.hits == 1


def test_check_compares_calls_with_other_numbers() -> None:
    compiled = clew.compile(lambda x, t: (x * t).exp().sum())
    compiled(clew.ones(2), 1.0)
    compiled.check(3)
    for value in (2.0, 3.0, 4.0):
        compiled(clew.ones(2), value)
    assert "checked: 3 calls" in compiled.why()
