"""What changed between two graphs."""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import pytest

import clew
from clew import nn


def line() -> int:
    return sys._getframe(1).f_lineno


def forward(x: Any, layers: int, size: int = 2, scale: bool = False) -> Any:
    h = x[:size].clone()
    for _ in range(layers):
        h = h.tanh()
    if scale:
        h = h.exp()
    return h.sum()


@pytest.fixture
def x() -> Any:
    return clew.ones(8, requires_grad=True)


def test_the_same_is_no_change(x: Any) -> None:
    told = clew.graph.diff(forward(x, 3), forward(x, 3))
    assert not told
    assert "no change" in str(told)


def test_more_nodes_of_one_line(x: Any) -> None:
    told = clew.graph.diff(forward(x, 2), forward(x, 5))
    (change,) = told.added
    assert (change.kind.name, change.nodes, change.saved_bytes) == ("TanhBackward0", 3, 3 * 8)
    assert change.kind.made_at is not None
    assert change.kind.made_at.source == "h = h.tanh()"
    assert "h = h.tanh(); 3 nodes, shape (2,), saved 24 B" in str(told)
    assert (told.changed, told.removed) == ((), ())


def test_added_and_removed(x: Any) -> None:
    there, back = (clew.graph.diff(forward(x, 1, scale=a), forward(x, 1, scale=not a)) for a in (False, True))
    assert [change.kind.name for change in there.added] == ["ExpBackward0"]
    assert [change.kind.name for change in back.removed] == ["ExpBackward0"]
    assert there.added[0].saved_bytes == -back.removed[0].saved_bytes == 8
    assert str(there).splitlines()[1].startswith("+ ExpBackward0 at test_diff.py:")
    assert str(back).splitlines()[1].startswith("- ExpBackward0 at test_diff.py:")


def test_shapes(x: Any) -> None:
    told = clew.graph.diff(forward(x, 1, size=2), forward(x, 1, size=4))
    tanh = next(change for change in told.changed if change.kind.name == "TanhBackward0")
    assert tanh.shapes_changed
    assert tanh.nodes == 0
    assert tanh.saved_bytes == 8
    assert "shape (2,) → (4,)" in str(told)


def test_nodes_of_one_line_are_told_together_by_operation(x: Any) -> None:
    y = x.exp() + x.exp() + x.tanh(); made = line()  # fmt: skip  # noqa: E702
    told = clew.graph.diff(x, y).added
    assert {change.kind.name: change.nodes for change in told if change.kind.name != "AccumulateGrad"} == {
        "AddBackward0": 2,
        "ExpBackward0": 2,
        "TanhBackward0": 1,
    }
    assert {change.kind.made_at.line for change in told if change.kind.name != "AccumulateGrad"} == {made}


def test_a_snapshot_outlives_the_graph(x: Any) -> None:
    alive = clew._core.graph_counters()["nodes_alive"]
    before = clew.graph.snapshot(forward(x, 2))
    assert clew._core.graph_counters()["nodes_alive"] <= alive + 1  # the leaf's own
    assert clew.graph.diff(before, forward(x, 3)).added[0].nodes == 1


def test_a_freed_graph_compares_equal(x: Any) -> None:
    a, b = forward(x, 2), forward(x, 2)
    b.backward()
    assert not clew.graph.diff(a, b)


def test_totals_are_those_of_the_walk(x: Any) -> None:
    y = forward(x, 4, scale=True)
    told = clew.graph.snapshot(y)
    nodes = clew.graph.walk([y.grad_fn])
    assert told.nodes == len(nodes)
    assert told.saved_bytes == sum(slot.view_nbytes for node in nodes for slot in node.saved)


@pytest.mark.parametrize("wrong", [None, 3, "x", [], clew.nn.Linear(1, 1)])
def test_something_else(x: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="snapshot: expected a tensor, a node"):
        clew.graph.diff(x * 2, wrong)


def one(x: Any) -> Any:
    a = x.exp()
    b = x.tanh()
    return (a * b.sin()).sum()


def other(x: Any) -> Any:
    b = x.tanh().sin()

    a = x.exp()
    product = a * b
    return product.sum()


def test_lines_and_their_order_make_no_difference(x: Any) -> None:
    assert not clew.graph.diff(one(x), other(x))


def test_inputs_from_other_nodes(x: Any) -> None:
    def graph(swapped: bool) -> Any:
        a, b = x.exp(), x.tanh()
        return (a * b.sin() if swapped else b * a.sin()).sum()

    told = clew.graph.diff(graph(False), graph(True))
    assert (told.added, told.removed) == ((), ())
    assert sum(change.rewired for change in told.changed) == 2  # of `sin` and of the product
    assert "inputs from other nodes" in str(told)


def test_an_input_without_history(x: Any) -> None:
    (change,) = clew.graph.diff(x + x, x + clew.ones(8)).changed
    assert (change.kind.name, change.rewired) == ("AddBackward0", 1)


def layers(count: int) -> list[nn.Module]:
    return [layer for _ in range(count) for layer in (nn.Linear(8, 8), nn.ReLU())]


def counts(changes: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for change in changes:
        found[change.kind.name] = found.get(change.kind.name, 0) + abs(change.nodes)
    return found


LAYER = {"AccumulateGrad": 2, "TBackward0": 1, "AddmmBackward0": 1, "ReluBackward0": 1}


@pytest.mark.parametrize("place", range(7))
def test_an_inserted_layer_is_all_that_is_new(place: int) -> None:
    before = layers(6)
    after = [*before[: 2 * place], *layers(1), *before[2 * place :]]
    a, b = (nn.Sequential(*parts)(clew.ones(4, 8)).sum() for parts in (before, after))
    there, back = clew.graph.diff(a, b), clew.graph.diff(b, a)
    assert (counts(there.added), there.removed, there.changed) == (LAYER, (), ())
    assert (counts(back.removed), back.added, back.changed) == (LAYER, (), ())


def test_models_without_common_parameters_are_matched_layer_by_layer() -> None:
    a, b = (nn.Sequential(*layers(count))(clew.ones(4, 8)).sum() for count in (5, 6))
    told = clew.graph.diff(a, b)
    assert (counts(told.added), told.removed, told.changed) == (LAYER, (), ())


def test_what_lies_between_two_changes() -> None:
    layer = layers(6)
    a = nn.Sequential(*layer)(clew.ones(4, 8)).sum()
    layer[3] = layer[9] = nn.GELU()
    told = clew.graph.diff(a, nn.Sequential(*layer)(clew.ones(4, 8)).sum())
    assert counts(told.added) == {"GeluBackward0": 2}
    assert counts(told.removed) == {"ReluBackward0": 2}
    assert told.changed == ()


def test_the_module_is_named() -> None:
    layer = layers(2)
    with clew.graph.record_modules():
        a = nn.Sequential(*layer)(clew.ones(4, 8))
        b = nn.Sequential(*layer, nn.Tanh())(clew.ones(4, 8))
        (change,) = clew.graph.diff(a, b).added
    assert change.kind.module.startswith("4")
    assert "4" in str(change)


OPERATIONS = ("exp", "tanh", "sin", "cos", "sigmoid", "relu", "sqrt", "abs", "neg", "square")
RARE = ("erf", "atan", "sinh")  # what is inserted, so that it cannot be taken for what was there


def program(generator: random.Random, size: int) -> list[tuple[str, tuple[int, ...]]]:
    """Operations with the numbers of their inputs: 0 is the leaf."""
    steps = []
    for number in range(1, size + 1):
        recent = range(max(0, number - 4), number)
        inputs = generator.choices(recent, k=generator.choice((1, 1, 2)))
        steps.append(("mul" if len(inputs) == 2 else generator.choice(OPERATIONS), tuple(inputs)))
    return steps


def run(steps: list[tuple[str, tuple[int, ...]]], leaf: Any) -> list[Any]:
    values = [leaf]
    for name, inputs in steps:
        values.append(getattr(values[inputs[0]], name)(*(values[one] for one in inputs[1:])))
    unused = [value for at, value in enumerate(values) if not any(at in inputs for _, inputs in steps)]
    return unused


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_with_known_insertions(seed: int, x: Any) -> None:
    generator = random.Random(seed)
    steps = program(generator, 60)
    inserted = dict(zip(generator.sample(range(1, 60), 3), RARE, strict=False))
    changed: list[tuple[str, tuple[int, ...]]] = []
    number = {0: 0}  # of what stands for a step's result
    for at, (name, inputs) in enumerate(steps, 1):
        changed.append((name, tuple(number[one] for one in inputs)))
        if at in inserted:
            changed.append((inserted[at], (len(changed),)))
        number[at] = len(changed)
    before, after = clew.graph.snapshot(run(steps, x)), clew.graph.snapshot(run(changed, x))
    there, back = clew.graph.diff(before, after), clew.graph.diff(after, before)
    missing = {name for name, _ in changed} - {name for name, _ in steps}
    expected = {f"{name.capitalize()}Backward0": 1 for name in missing}
    assert (counts(there.added), there.removed, there.changed) == (expected, (), ())
    assert (counts(back.removed), back.added, back.changed) == (expected, (), ())


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_in_another_order(seed: int, x: Any) -> None:
    generator = random.Random(seed)
    steps = program(generator, 60)
    waiting, number, shuffled = list(range(1, 61)), {0: 0}, []
    while waiting:
        ready = [at for at in waiting if all(one in number for one in steps[at - 1][1])]
        at = generator.choice(ready)
        waiting.remove(at)
        shuffled.append((steps[at - 1][0], tuple(number[one] for one in steps[at - 1][1])))
        number[at] = len(shuffled)
    told = clew.graph.diff(run(steps, x), run(shuffled, x))
    assert not told, told


def test_time_is_linear() -> None:
    leaf = clew.ones(2, requires_grad=True)
    before, after = (clew.graph.snapshot(forward(leaf, count, scale=count > 20_000)) for count in (20_000, 20_001))
    start = time.process_time()
    told = clew.graph.diff(before, after)
    assert time.process_time() - start < 5  # it takes half a second; a quadratic way would take minutes
    assert counts(told.added) == {"ExpBackward0": 1, "TanhBackward0": 1}
