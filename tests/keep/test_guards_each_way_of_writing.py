"""6.5: whichever way Python writes to what a compiled function reads, and however often, the next call sees it.

Each way is written many times from one line, so that the interpreter specializes its instructions: it writes in other
places than at first, and not always where a dict would tell of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

import clew
from clew import _core

pytestmark = [pytest.mark.beyond, pytest.mark.filterwarnings("ignore::clew.KeepWarning")]
AT_ONCE = 61  # writes between two calls; odd, as some go back and forth
Read = Callable[[], float]
ways: dict[str, Callable[[], Iterator[Read]]] = {}


def way(generator: Callable[[], Iterator[Read]]) -> Callable[[], Iterator[Read]]:
    """A generator that gives what reads the value first, and then the value after each write."""
    ways[generator.__name__] = generator
    return generator


class Plain:
    factor = -1.0


class Slots:
    __slots__ = ("factor",)


class Many:
    """Of more attributes than an object holds without a dict."""

    def __init__(self) -> None:
        for i in range(40):
            setattr(self, f"a{i}", i)


def numbers() -> Iterator[float]:
    return (float(i) for i in range(1, 15 * AT_ONCE + 1))


@way
def attribute():
    one = Plain()
    one.factor = -2.0
    yield lambda: one.factor
    for one.factor in numbers():
        yield one.factor


@way
def attribute_of_an_object_with_many():
    one = Many()
    one.factor = -2.0
    yield lambda: one.factor
    for number in numbers():
        one.factor = number
        yield number


@way
def first_attribute_of_an_object():
    kept = [Plain()]
    yield lambda: kept[0].factor
    for number in numbers():
        kept[0] = Plain()
        kept[0].factor = number
        yield number


@way
def attribute_that_comes_and_goes():
    one = Plain()
    yield lambda: one.factor
    for number in numbers():
        one.factor = number
        yield number
        del one.factor
        yield Plain.factor


@way
def by_setattr():
    one = Plain()
    yield lambda: one.factor
    for number in numbers():
        setattr(one, "factor", number)  # noqa: B010
        yield number


@way
def entry_of_its_dict():
    one = Plain()
    yield lambda: one.factor
    for number in numbers():
        one.__dict__["factor"] = number
        yield number


@way
def another_dict():
    one = Plain()
    yield lambda: one.factor
    for number in numbers():
        one.__dict__ = {"factor": number}
        yield number


@way
def another_class():
    one = Plain()
    yield lambda: one.factor
    for number in numbers():
        one.__class__ = type("Other", (), {"factor": number})
        yield number


@way
def attribute_of_its_class():
    class Kind:
        factor = -2.0

    one = Kind()
    yield lambda: one.factor
    for number in numbers():
        Kind.factor = number
        yield number


@way
def slot():
    one = Slots()
    one.factor = -2.0
    yield lambda: one.factor
    for number in numbers():
        one.factor = number
        yield number


@way
def cell():
    factor = -2.0
    yield lambda: factor
    for factor in numbers():
        yield factor


@way
def item_of_a_list():
    factors = [0.5, -2.0]
    yield lambda: factors[1]
    for factors[1] in numbers():
        yield factors[1]


@way
def item_of_a_dict():
    factors = {"one": -2.0}
    yield lambda: factors["one"]
    for factors["one"] in numbers():
        yield factors["one"]


shared = -2.0


@way
def variable_of_the_module():
    global shared
    yield lambda: shared
    for number in numbers():
        shared = number
        yield number


@way
def default():
    def read(factor: float = -2.0) -> float:
        return factor

    yield read
    for number in numbers():
        read.__defaults__ = (number,)
        yield number


@pytest.mark.parametrize("name", ways)
def test_the_next_call_sees_it(name: str) -> None:
    writes = ways[name]()
    read = next(writes)
    x = clew.ones(1)
    for _ in range(5):
        function = clew.compile(lambda x: x * read())
        for _ in range(3):
            expected = list(itertools.islice(writes, AT_ONCE))[-1]
            assert function(x).item() == expected
            assert function(x).item() == expected
        assert function.hits >= 3 or not _core.records_calls, function.why()
