"""The search for what the user calls a tensor, with floats in the place of tensors."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import clew
from clew.graph.program.names import find_tensors


def paths(**scope: Any) -> list[str]:
    return [path for path, _ in find_tensors([scope], lambda value: isinstance(value, float))]


def test_names_and_containers() -> None:
    assert paths(a=1.0) == ["a"]
    assert paths(losses=["x", 1.0, (2.0,)]) == ["losses[1]", "losses[2][0]"]
    assert paths(state={"hidden": 1.0, 3: 2.0}) == ["state['hidden']", "state[3]"]
    assert paths(recent=deque([1.0]), some={2.0}) == ["recent[0]", "some{...}"]


def test_attributes_and_slots() -> None:
    class Plain:
        def __init__(self) -> None:
            self.best = 1.0

    class Slotted:
        __slots__ = ("missing", "value")

        def __init__(self) -> None:
            self.value = 2.0

    assert paths(trainer=Plain(), cell=Slotted()) == ["trainer.best", "cell.value"]


def test_functions() -> None:
    def make() -> Any:
        kept, never = 1.0, None

        def closure(step: float = 2.0) -> Any:
            return kept, never, step

        return closure

    assert paths(closure=make()) == ["closure:kept", "closure:0"]
    assert paths(bound=functools.partial(print, 3.0, end=4.0)) == ["bound.args[0]", "bound.keywords['end']"]


def test_methods_and_generators() -> None:
    class Owner:
        def __init__(self) -> None:
            self.value = 1.0

        def method(self) -> None: ...

    def generate() -> Any:
        local = 2.0
        yield local

    generator = generate()
    next(generator)
    assert paths(callback=Owner().method, stream=generator) == ["stream:local", "callback.__self__.value"]


def test_the_shortest_path_is_told_and_each_object_once() -> None:
    value = 1.5
    assert paths(deep=[[value]], short=value) == ["short"]
    loop: list[Any] = [value]
    loop.append(loop)
    assert paths(loop=loop) == ["loop[0]"]


def test_modules_and_dunders_are_left_alone() -> None:
    assert paths(clew=clew, __annotations__={"x": 1.0}) == []


def test_the_search_ends() -> None:
    found = find_tensors([{"many": [object() for _ in range(1000)] + [1.0]}], lambda v: isinstance(v, float), 100)
    assert list(found) == []


def test_parameters_are_named_as_named_parameters_names_them() -> None:
    model = clew.nn.Sequential(clew.nn.Linear(2, 3), clew.nn.Sequential(clew.nn.Linear(3, 1)))
    found = dict(find_tensors([{"model": model}], lambda value: isinstance(value, clew.Tensor)))
    assert sorted(found) == sorted(f"model.{name}" for name, _ in model.named_parameters())


def test_a_gradient_of_a_leaf_is_found() -> None:
    x = clew.ones(2, requires_grad=True)
    (x * x).sum().backward()
    found = dict(find_tensors([{"x": x}], lambda value: isinstance(value, clew.Tensor)))
    assert sorted(found) == ["x", "x.grad"]
    assert found["x.grad"] is x.grad


class Trainer:
    def __init__(self) -> None:
        self.model = clew.nn.Sequential(clew.nn.Linear(2, 2), clew.nn.Linear(2, 2))


def test_a_parameter_has_its_modules_path_before_any_other() -> None:
    trainer = Trainer()
    first = clew.optim.SGD(trainer.model.parameters())
    weight = trainer.model[1].weight
    found = {path for path, _ in find_tensors([{"first": first, "weight": weight, "all": [weight], "t": trainer}])}
    assert found == {f"t.model.{number}.{name}" for number in (0, 1) for name in ("weight", "bias")}


def test_what_no_module_has_keeps_its_own_path() -> None:
    weight = clew.nn.Parameter(clew.ones(2))
    assert {path for path, _ in find_tensors([{"optimizer": clew.optim.SGD([weight])}])} == {
        "optimizer.param_groups[0]['params'][0]"
    }
    assert {path for path, _ in find_tensors([{"o": clew.optim.SGD([weight]), "weights": [weight]}])} == {"weights[0]"}


def test_a_module_deep_in_other_objects_comes_before_a_list_at_hand() -> None:
    model = clew.nn.Linear(1, 1, bias=False)
    scope = {"parameters": list(model.parameters()), "state": {"agents": [{"net": model}]}}
    assert [path for path, _ in find_tensors([scope])] == ["state['agents'][0]['net'].weight"]
