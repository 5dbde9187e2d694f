"""Row 6.3: a graph that the compiled call's own backward released, for whoever looks at it: Note [Deferred graphs]."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import clew
from clew import _core

pytestmark = pytest.mark.records_calls

F = clew.nn.functional
CALLS = 4


def step_and_parameters() -> tuple[Any, list[Any]]:
    clew.manual_seed(0)
    model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU(), clew.nn.Linear(4, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), clew.ones(2, 1))
        loss.backward()
        optimizer.step()
        return loss

    return step, list(model.parameters())


def both() -> tuple[tuple[Any, list[Any]], tuple[Any, list[Any]]]:
    plain, (step, parameters) = step_and_parameters(), step_and_parameters()
    return plain, (clew.compile(step, fullgraph=True), parameters)


def described(loss: Any, parameters: list[Any]) -> Any:
    """Its nodes from the root down, in words; where edges lead, by place."""
    nodes, lines = [loss.grad_fn], []
    leaves = [id(one) for one in parameters]
    for node in nodes:
        below = []
        for child, index in node.next_functions:
            if child is not None and child not in nodes:
                nodes.append(child)
            below.append((child and nodes.index(child), index))
        variable = getattr(node, "variable", None)
        lines.append((node.name(), below, variable is not None and leaves.index(id(variable))))
    numbers = [node._sequence_nr() for node in nodes if node.name() != "AccumulateGrad"]
    return lines, [sorted(numbers).index(one) for one in numbers], loss.output_nr


def test_its_nodes_are_those_of_eager() -> None:
    (plain, of_plain), (compiled, of_compiled) = both()
    for _ in range(CALLS):
        x = clew.randn(2, 3)
        assert described(compiled(x), of_compiled) == described(plain(x), of_plain)
    assert compiled.hits == CALLS - 1


def test_nodes_are_counted_as_in_eager_whether_somebody_looks_or_not() -> None:
    counts = []
    for function, _ in both():
        kept = [function(clew.ones(2, 3)) for _ in range(CALLS)]
        before = _core.graph_counters()
        kept += [function(clew.ones(2, 3)) for _ in range(CALLS)]
        found = [_core.graph_counters()]
        assert kept[-1].grad_fn.next_functions
        found.append(_core.graph_counters())
        kept.clear()
        found.append(_core.graph_counters())
        names = [name for name in before if name.startswith("nodes")]
        counts.append([{name: one[name] - before[name] for name in names} for one in found])
    assert counts[0] == counts[1]


def used_twice(loss: Any) -> None:
    loss.backward()


def used_further(loss: Any) -> None:
    (loss * 2).backward()


def asked_for(loss: Any) -> None:
    clew.autograd.grad(loss.exp() + 1, loss.grad_fn.next_functions[0][0].next_functions[0][0].variable)


@pytest.mark.parametrize("use", [used_twice, used_further, asked_for])
def test_going_back_again_is_refused_as_in_eager(use: Any) -> None:
    messages = []
    for function, _ in both():
        for _ in range(CALLS):
            loss = function(clew.ones(2, 3))
        with pytest.raises(RuntimeError) as caught:
            use(loss)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_gradient_of_the_loss_itself_needs_nothing_below() -> None:
    _, (compiled, _) = both()
    for _ in range(CALLS):
        loss = compiled(clew.ones(2, 3))
        (gradient,) = clew.autograd.grad(loss * loss, loss)
        assert gradient.item() == 2 * loss.item()


def test_it_goes_with_the_loss() -> None:
    _, (compiled, parameters) = both()
    for _ in range(CALLS):
        loss = compiled(clew.ones(2, 3))
    died = [weakref.ref(one) for one in parameters]
    del compiled, parameters
    gc.collect()
    assert [one() for one in died] == [None] * len(died)  # a graph does not own its leaves
    assert loss.grad_fn.name() == "MseLossBackward0"
    assert loss.grad_fn.next_functions[0][0].name() == "AddmmBackward0"


class Token:
    loss: Any


def leave_a_cycle() -> Any:
    weight = clew.ones(3, requires_grad=True)

    @clew.compile
    def step(x: Any) -> Any:
        weight.grad = None
        loss = (weight * x).exp().sum()
        loss.backward()
        return loss

    for _ in range(CALLS):
        loss = step(clew.ones(3))
    token = Token()
    token.loss = loss
    weight.register_hook(lambda gradient: token and None)
    return weakref.ref(token)


def test_a_cycle_through_a_hook_that_comes_later_is_collected() -> None:
    died = leave_a_cycle()
    gc.collect()
    gc.collect()
    assert died() is None


def test_a_hook_of_the_loss_is_there_with_the_rest() -> None:
    _, (compiled, _) = both()
    seen = []
    for _ in range(CALLS):
        loss = compiled(clew.ones(2, 3))
    loss.register_hook(lambda gradient: seen.append(gradient.item()))
    with pytest.raises(RuntimeError, match="freed by the backward"):
        (loss * 3).backward()
    assert seen == [3.0]
