"""Row 6.4: arguments that are made for each call are told apart by what they hold, or keep the function eager soon."""

from __future__ import annotations

import dataclasses
import types
import warnings
from collections import OrderedDict as Ordered
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import clew

pytestmark = pytest.mark.records_calls
CALLS = 30


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any
    name: str = "train"


@dataclasses.dataclass(frozen=True)
class Nested:
    batch: Batch
    size: int = 2


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def times(self, x: Any) -> Any:
        return x * self.factor


ones, scale = clew.ones(4), Scale(3.0)
MADE: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "tuple": (lambda b: b[0] * b[1], lambda: ((ones, ones),)),
    "named tuple": (lambda b: b.x * b.y, lambda: (Pair(ones, ones),)),
    "tuple of named tuples": (lambda b: b[0].x * b[1].y, lambda: ((Pair(ones, 2), Pair(1, ones)),)),
    "dataclass": (lambda b: b.x * b.y, lambda: (Batch(ones, ones),)),
    "frozen dataclass in another": (lambda b: b.batch.x * b.size, lambda: (Nested(Batch(ones, ones)),)),
    "size": (lambda x, s: x.expand(s), lambda: (ones, clew.ones(3, 4).shape)),
    "slice": (lambda x, s: x[s], lambda: (ones, slice(0, 2))),
    "range": (lambda x, r: x * len(r), lambda: (ones, range(3))),
    "ordered dict": (lambda d: d["x"] * 2, lambda: (Ordered(x=ones, y=1),)),
    "set": (lambda x, names: x * len(names), lambda: (ones, {"a", "b"})),
    "frozen set": (lambda x, names: x * ("a" in names), lambda: (ones, frozenset({"a", 1, (2, 3)}))),
    "bound method": (lambda x, f: f(x), lambda: (ones, scale.times)),
}


def texts_of(said: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in said if issubclass(one.category, clew.KeepWarning)]


@pytest.mark.parametrize("retained", [True, False])
@pytest.mark.parametrize("name", MADE)
def test_it_replays(name: str, retained: bool) -> None:
    function, make = MADE[name]
    compiled, given = clew.compile(function), []
    for _ in range(CALLS):
        arguments = make()
        if retained:
            given.append(arguments)
        assert compiled(*arguments).equal(function(*arguments))
    assert compiled.hits >= CALLS - 4, compiled.why()  # a recording more for each level of dataclasses


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda x, s: x[s], [slice(0, 2), slice(0, 3), slice(1, 3), slice(0, 2)]),
        (lambda x, r: x * sum(r), [range(3), range(1, 3), range(0, 3, 2), range(3)]),
        (lambda x, b: x * b.x + b.y, [Pair(1, 2), Pair(2, 1), Pair(1, 2)]),
        (lambda x, b: x * b.x + b.y, [Batch(1, 2), Batch(2, 1), Batch(1, 2, "test"), Batch(1, 2), Batch(1.0, 2)]),
        (lambda x, b: x * b.y, [Batch(1, 2), Pair(1, 3), types.SimpleNamespace(y=4)]),
        (lambda x, b: x * len(b.name), [Batch(1, 2), Batch(2, 1), Batch(1, 2, "test"), Batch(1, 2)]),
        (lambda x, s: x * sum(s), [{1, 2}, {1, 3}, frozenset({1, 2}), {1, 2}, {1, 2.5}]),
        (
            lambda x, d: x * next(iter(d.values())),
            [Ordered(a=1, b=2), Ordered(b=2, a=1)],
        ),
        (lambda x, f: f(x), [scale.times, Scale(5.0).times, scale.times]),
        (lambda x, b: x * (2 if b == Batch(1, 2) else 3), [Batch(1, 2), Batch(2, 2), Batch(1, 2)]),
        (lambda x, b: x * (2 if b.x is None else b.x), [Batch(None, 2), Batch(3, 2), Batch(None, 2)]),
    ],
)
def test_what_differs_is_another_call(function: Callable[..., Any], kinds: list[Any]) -> None:
    compiled = clew.compile(function, max_variants=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for _ in range(3):
            for one in kinds:
                assert compiled(ones, one).equal(function(ones, one))


def test_an_attribute_of_a_dataclass_that_changes() -> None:
    compiled, batch = clew.compile(lambda b: b.x * b.y), Batch(ones, 2.0)
    compiled(Batch(ones, 2.0)), compiled(Batch(ones, 2.0)), compiled(batch)
    batch.y = 3.0
    assert compiled(batch).tolist() == [3.0] * 4
    batch.x = ones * 2
    assert compiled(batch).tolist() == [6.0] * 4


def test_which_dataclass_it_is() -> None:
    first, second = Batch(ones, 2.0), Batch(ones, 2.0)
    log: list[Any] = []

    def function(x: Any, batch: Any) -> Any:
        log.append(batch)
        return x * (2 if batch is first else 3)

    compiled = clew.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for one in (second, Batch(ones, 2.0), second, first, second, first):
            log.clear()
            assert compiled(ones, one).tolist() == [2.0 if one is first else 3.0] * 4
            assert log[0] is one


def test_a_dataclass_that_the_call_changes() -> None:
    states = [Batch(ones, 0.0) for _ in range(4)]

    def step(state: Any) -> Any:
        state.x = state.x + 1
        return state.x * 2

    compiled = clew.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for i in range(12):
            assert compiled(states[i % 4]).tolist() == [2.0 * (2 + i // 4)] * 4
    assert all(one.x.tolist() == [4.0] * 4 for one in states)


class Opaque:
    def __init__(self, x: Any) -> None:
        self.x = x


@pytest.mark.parametrize("retained", [True, False])
@pytest.mark.parametrize(
    "make", [lambda: Opaque(ones), lambda: types.SimpleNamespace(x=ones)], ids=["object", "namespace"]
)
def test_objects_that_hold_more_than_can_be_compared_keep_it_eager(make: Callable[[], Any], retained: bool) -> None:
    compiled, given = clew.compile(lambda b: b.x * 2), []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(CALLS):
            one = make()
            if retained:
                given.append(one)
            assert compiled(one).tolist() == [2.0] * 4
    texts = texts_of(said)
    assert [("is given another " in text, "in each call" in text) for text in texts] == [(True, True)]
    assert compiled.hits + compiled.variants <= 3


def test_modules_that_are_given_in_turn_replay() -> None:
    layers = [clew.nn.Linear(4, 4) for _ in range(6)]
    compiled = clew.compile(lambda layer, x: layer(x))
    for _ in range(3):
        for layer in layers:
            assert compiled(layer, ones).equal(layer(ones))
    assert compiled.hits == 12


def test_recordings_that_are_used_once_stop() -> None:
    scaled = clew.compile(lambda x, factor: x * abs(factor), max_variants=4)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(60):
            assert scaled(ones, float(i)).tolist() == scaled(ones, float(i)).tolist() == [float(i)] * 4
    assert any("recording costs more than replays save" in text for text in texts_of(said))
    assert scaled.hits < 40
