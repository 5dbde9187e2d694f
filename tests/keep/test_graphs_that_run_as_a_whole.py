"""Row 6.3: the backward of graphs that compiled calls gave, which runs as a whole: Note [Deferred graphs]."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import _core, nn

pytestmark = pytest.mark.records_calls

Jit = Callable[[Any], Any]
ROUNDS, CALLS = 3, 5


class Policy:
    """A small network, of which each call gives the logarithms of two probabilities."""

    def __init__(self, jit: Jit, dtype: Any = clew.float32) -> None:
        clew.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2)).to(dtype)
        self.parameters = list(self.model.parameters())
        self.act = jit(lambda seen: self.model(seen).log_softmax(1)[0])
        self.numbers = np.random.default_rng(0)
        self.dtype = dtype

    def seen(self, rows: int = 1) -> Any:
        return clew.tensor(self.numbers.standard_normal((rows, 4)), dtype=self.dtype)

    def episode(self) -> Any:
        chosen = [self.act(self.seen())[i % 2] for i in range(CALLS)]
        return (clew.stack(chosen) * clew.arange(1, CALLS + 1)).sum()

    def gradients(self) -> list[Any]:
        return [None if p.grad is None else (p.grad.stride(), p.grad.numpy().tobytes()) for p in self.parameters]


def sums(jit: Jit, dtype: Any = clew.float32) -> Any:
    policy = Policy(jit, dtype)
    for _ in range(ROUNDS):
        for one in policy.parameters:
            one.grad = None
        policy.episode().backward()
        yield policy.gradients()


def sums_of_doubles(jit: Jit) -> Any:
    yield from sums(jit, clew.float64)


def added_to_gradients_that_are_there(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        policy.episode().backward()
        yield policy.gradients()


def twice(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        loss = policy.episode()
        loss.backward(retain_graph=True)
        loss.backward()
        yield policy.gradients()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def for_some_inputs(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        loss = policy.episode()
        found = clew.autograd.grad(loss, [policy.parameters[2], policy.parameters[1]])
        yield [one.numpy().tobytes() for one in found], policy.gradients()


def second_order(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        found = clew.autograd.grad(policy.episode(), policy.parameters, create_graph=True)
        sum(one.square().sum() for one in found).backward()
        yield policy.gradients()


def hooks(jit: Jit) -> Any:
    policy = Policy(jit)
    seen: list[Any] = []
    policy.parameters[0].register_hook(lambda gradient: seen.append(gradient.numpy().tobytes()))
    policy.parameters[1].register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.numpy().tobytes()))
    for i in range(ROUNDS + 3):
        logs = policy.act(policy.seen())
        if i % 3 == 1:
            logs.register_hook(lambda gradient: gradient * 2)
        if i % 3 == 2:
            logs.grad_fn.register_hook(lambda sent, arrived: seen.append([one.numpy().tobytes() for one in arrived]))
        loss = logs[0] * 3 + policy.act(policy.seen())[1]
        loss.backward()
        yield policy.gradients(), list(seen)


def graphs_that_lead_to_one_another(jit: Jit) -> Any:
    clew.manual_seed(0)
    cell = nn.RNNCell(3, 6)
    step = jit(lambda x, state: cell(x, state))
    weight = clew.randn(3, requires_grad=True)
    for _ in range(ROUNDS):
        state = clew.zeros(2, 6) + weight.sum()
        for i in range(CALLS):
            state = step(weight * (clew.ones(2, 3) * i), state)
        state.square().sum().backward()
        yield [one.grad.numpy().tobytes() for one in [weight, *cell.parameters()]]


def one_weight_in_two_places(jit: Jit) -> Any:
    clew.manual_seed(0)
    weight = clew.randn(4, 4, requires_grad=True)
    layer = jit(lambda x: (x @ weight).tanh() @ weight.t() + weight.sum(0))
    for _ in range(ROUNDS):
        sum(layer(clew.randn(2, 4)).sum() for _ in range(CALLS)).backward()
        yield weight.grad.numpy().tobytes()


def two_results(jit: Jit) -> Any:
    clew.manual_seed(0)
    weight = clew.randn(4, 4, requires_grad=True)

    def both(x: Any) -> Any:
        hidden = (x @ weight).tanh() * 2
        return hidden.sum(), (hidden * weight[0]).exp()

    call = jit(both)
    for i in range(ROUNDS + 1):
        total = clew.zeros(())
        for k in range(CALLS):
            first, second = call(clew.randn(2, 4))
            total = total + (first if (i + k) % 3 == 0 else second.sum() if (i + k) % 3 == 1 else first + second.sum())
        total.backward()
        yield weight.grad.numpy().tobytes()


def other_shapes_and_weights_that_are_not_asked_for(jit: Jit) -> Any:
    policy = Policy(jit)
    for rows in (1, 3, 1, 3, 1, 3):
        policy.parameters[0].requires_grad_(rows == 1)
        sum(policy.act(policy.seen(rows)).sum() for _ in range(CALLS)).backward()
        yield policy.gradients()


def data_replaced_between(jit: Jit) -> Any:
    clew.manual_seed(0)
    weight = clew.randn(3, requires_grad=True)
    call = jit(lambda x: (x * weight).exp().sum())
    for _ in range(ROUNDS + 2):
        loss = sum(call(clew.randn(2, 3)) for _ in range(CALLS))
        before = weight.data
        weight.data = clew.ones(5)
        weight.grad = None
        with pytest.raises(RuntimeError, match="AccumulateGrad"):
            loss.backward(retain_graph=True)
        weight.data = before
        weight.grad = None
        loss.backward()
        yield weight.grad.numpy().tobytes()


def a_gradient_that_is_a_view(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        logs = [policy.act(policy.seen()) for _ in range(CALLS)]
        wide = clew.randn(2, 3).t()[1]
        for i, one in enumerate(logs):
            one.backward(wide if i % 2 else clew.ones(2), retain_graph=i == 0)
        yield policy.gradients()


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as caught:
        call()
    text = re.sub(r"/\S+/|line \d+|\.py:\d+", "", str(caught.value))
    return re.sub(r"#\d+|0x[0-9a-f]+", "", text)


def written_before_backward(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        loss = policy.episode()
        with clew.no_grad():
            policy.parameters[2].add_(1)
        yield refused(loss.backward), policy.gradients()


def under_detect_anomaly(jit: Jit) -> Any:
    policy = Policy(jit)
    for _ in range(ROUNDS):
        loss = policy.episode() * float("nan")
        with pytest.warns(UserWarning, match="Anomaly"), clew.autograd.detect_anomaly():
            yield refused(loss.backward).split("\n")[0], policy.gradients()


PROGRAMS = [
    sums,
    sums_of_doubles,
    added_to_gradients_that_are_there,
    twice,
    for_some_inputs,
    second_order,
    hooks,
    graphs_that_lead_to_one_another,
    one_weight_in_two_places,
    two_results,
    other_shapes_and_weights_that_are_not_asked_for,
    data_replaced_between,
    a_gradient_that_is_a_view,
    written_before_backward,
    under_detect_anomaly,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_gradients_are_those_of_eager_to_the_bit(program: Callable[[Jit], Any]) -> None:
    plain = list(program(lambda function: function))
    assert list(program(clew.compile)) == plain


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_code_has_the_same_bits(program: Callable[[Jit], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CODE", "now")
    plain = list(program(lambda function: function))
    assert list(program(clew.compile)) == plain


def test_nodes_and_bytes_are_counted_as_in_eager() -> None:
    counts = []
    for jit in (lambda function: function, clew.compile):
        policy = Policy(jit)
        for _ in range(ROUNDS):
            policy.episode().backward()
        gc.collect()
        found = []
        before = _core.graph_counters()
        for _ in range(2):
            loss = policy.episode()
            found.append(_core.graph_counters())
            loss.backward()
            found.append(_core.graph_counters())
            del loss
            found.append(_core.graph_counters())
        names = [name for name in before if name.startswith("nodes") or name == "slots_alive"]
        counts.append([{name: one[name] - before[name] for name in names} for one in found])
    assert counts[1] == counts[0]


def test_nothing_is_kept() -> None:
    policy = Policy(clew.compile)
    for _ in range(ROUNDS):
        policy.episode().backward()
    alive = []
    for _ in range(4):
        for _ in range(20):
            policy.episode().backward()
        gc.collect()
        alive.append((_core.graph_counters()["nodes_alive"], clew.memory.stats().live))
    assert len(set(alive[1:])) == 1


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("which", [0, 1])
def test_a_recurrent_layer_at_the_root(kind: Any, bias: bool, which: int) -> None:
    """Some of its nodes have outputs that are not there: a GRU has no cell."""
    model = kind(3, 4, bias=bias)

    def plain(x: Any) -> Any:
        result = model(x)[which]
        return result[1] if isinstance(result, tuple) else result

    compiled = clew.compile(plain)
    for factor in (1.0, 2.0, 3.0):
        x = (clew.arange(30.0).reshape(5, 2, 3).sin() * factor).requires_grad_()
        made, expected = compiled(x), plain(x)
        assert made.tolist() == expected.tolist()
        wanted = [x, *model.parameters()]
        for one, other in zip(
            clew.autograd.grad(made.cos().sum(), wanted), clew.autograd.grad(expected.cos().sum(), wanted), strict=True
        ):
            assert one.tolist() == other.tolist()
    assert compiled.hits == 2


def gradients_outside(function: Callable[..., Any], calls: int = 8, zero: bool = True) -> list[Any]:
    """Of calls with new data whose backward is somebody else's."""
    numbers, found = np.random.default_rng(0), []
    weight = clew.tensor(numbers.standard_normal(3), requires_grad=True)
    for _ in range(calls):
        leaf = clew.tensor(numbers.standard_normal(3), requires_grad=True)
        if zero:
            weight.grad = None
        results = function(leaf, weight)
        sum((one * (2 + i)).sum() for i, one in enumerate(results)).backward()
        found.append([None if one.grad is None else one.grad.numpy().tobytes() for one in (leaf, weight)])
    return found


PASSED_ON = [
    lambda h, leaf, weight: h + 1,
    lambda h, leaf, weight: h - 0.1 * h.detach(),
    lambda h, leaf, weight: h + weight.detach(),
    lambda h, leaf, weight: h.reshape(-1),
    lambda h, leaf, weight: h + weight,
    lambda h, leaf, weight: h.view(3, 1).reshape(3),
]


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 20])
@pytest.mark.parametrize("step", PASSED_ON)
def test_a_gradient_that_is_passed_on(step: Any, steps: int, zero: bool) -> None:
    def function(leaf: Any, weight: Any) -> Any:
        h = leaf
        for _ in range(steps):
            h = step(h, leaf, weight)
        return [h]

    def with_another(leaf: Any, weight: Any) -> Any:
        h = function(leaf, weight)[0]
        return [(h * weight).sum(), h]

    for one in function, with_another:
        compiled = clew.compile(one)
        assert gradients_outside(compiled, zero=zero) == gradients_outside(one, zero=zero)
        assert compiled.hits


@pytest.mark.parametrize("seed", range(300, 380))
def test_drawn_graphs_whose_backward_is_outside(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    mixing = [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a.tanh(), lambda a, b: -a,
        lambda a, b: clew.where(a > b, a, b), lambda a, b: a.flip(0), lambda a, b: a.sum() + b,
    ]  # fmt: skip
    kinds = len(PASSED_ON) + len(mixing)
    choices = [(int(drawn.integers(kinds)), *drawn.random(2).tolist()) for _ in range(drawn.integers(2, 12))]
    given = drawn.random(drawn.integers(1, 4)).tolist()

    def function(leaf: Any, weight: Any) -> Any:
        made = [leaf, weight]
        for which, one, other in choices:
            a, b = (made[max(-len(made), -1 - int(6 * place * place))] for place in (one, other))
            passes = which < len(PASSED_ON)
            made.append(PASSED_ON[which](a, leaf, weight) if passes else mixing[which - len(PASSED_ON)](a, b))
        results = [made[-1 - int(place * len(choices))] for place in given]
        return results if any(one.requires_grad for one in results) else [*results, leaf + weight]

    compiled = clew.compile(function)
    assert gradients_outside(compiled) == gradients_outside(function)
    assert compiled.hits
