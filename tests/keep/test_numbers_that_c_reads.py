"""Row 6.6: a float that C code reads through a container, a view or an iterator is no longer only handed on."""

from __future__ import annotations

import collections
import functools
import gc
import heapq
import itertools
import math
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import clew

pytestmark = [pytest.mark.records_calls, pytest.mark.filterwarnings("ignore::clew.autograd.errors.KeepWarning")]


def late(make: Callable[[list[float]], Any]) -> Callable[[float], Any]:
    """What is made of a list before the number is in it."""

    def hold(v: float) -> Any:
        holder = [1.0]
        made = make(holder)
        holder.append(v)
        return made

    return hold


HOLDERS: dict[str, Callable[[float], Any]] = {
    "list": lambda v: [v, 2.5],
    "tuple": lambda v: (v, 2.5),
    "values": lambda v: {"a": v, "b": 2.5}.values(),
    "values of a copy": lambda v: {"a": v, "b": 2.5}.copy().values(),
    "values of a merged dict": lambda v: ({"a": v} | {"b": 2.5}).values(),
    "values of an ordered dict": lambda v: collections.OrderedDict(a=v, b=2.5).values(),
    "values of attributes": lambda v: vars(types.SimpleNamespace(a=v, b=2.5)).values(),
    "deque": lambda v: collections.deque([v, 2.5]),
    "iterator": lambda v: iter([v, 2.5]),
    "iterator of values": lambda v: iter({"a": v, "b": 2.5}.values()),
    "reversed": lambda v: reversed([v, 2.5]),
    "reversed values": lambda v: reversed({"a": v, "b": 2.5}.values()),
    "generator": lambda v: (one for one in [v, 2.5]),
    "map": lambda v: map(abs, [v, -2.5]),
    "map of values": lambda v: map(abs, {"a": v, "b": -2.5}.values()),
    "filter": lambda v: filter(None, [v - 2.0, 2.5, 1.5]),
    "chain": lambda v: itertools.chain([v], {"b": 2.5}.values()),
    "accumulate": lambda v: itertools.accumulate({"a": v, "b": 2.5}.values()),
    "late iterator": late(iter),
    "late map": late(lambda holder: map(abs, holder)),
    "zipped map": late(lambda holder: (one for one, _ in zip(map(abs, holder), "ab", strict=False))),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "sum": sum,
    "max": max,
    "sorted": sorted,
    "any": any,
    "all": all,
    "fsum": math.fsum,
    "list": list,
    "set": lambda held: sorted(set(held)),
    "reduce": lambda held: functools.reduce(operator.add, held),
    "nlargest": lambda held: heapq.nlargest(1, held),
    "in": lambda held: 2.0 in held,
    "star": lambda held: max(*held),
}


def after(change: Callable[[Any, float], Any], make: Callable[[float], Any]) -> Callable[[float], Any]:
    """What became of a container of the number by a method of it."""

    def read(v: float) -> Any:
        made = make(v)
        return change(made, v), len(made), [one == 2.0 for one in made]

    return read


PROGRAMS: dict[str, Callable[[float], Any]] = {
    "items, in": lambda v: ("a", 2.0) in {"a": v}.items(),
    "items, equal": lambda v: {"a": v}.items() == {"a": 2.0}.items(),
    "items, and": lambda v: len({"a": v}.items() & {"a": 2.0}.items()),
    "items, max": lambda v: max({"a": v}.items(), key=operator.itemgetter(1)),
    "dict, equal": lambda v: {"a": v} == {"a": 2.0},
    "list, less": lambda v: [v] < [3.0],
    "list, count": lambda v: [2.5, v].count(2.0),
    "tuple, count": lambda v: (v, 1.0).count(2.0),
    "tuple, index": lambda v: (v, 4.0, 2.0).index(2.0),
    "nested, count": lambda v: [[v], [2.5]].count([2.0]),
    "nested, max": lambda v: max({"a": [v], "b": [3.5]}.values()),
    "list, remove": after(lambda made, _: made.remove(2.0), lambda v: [v, 2.0, 5.0]),
    "list, sort": after(lambda made, _: made.sort(), lambda v: [3.5, v, 1.0]),
    "list, extend by a map": after(lambda made, v: made.extend(map(abs, [v])), lambda v: [3.5]),
    "list, contains": lambda v: [v].__contains__(2.0),
    "list, equal as a method": lambda v: [v].__eq__([2.0]),
    "set, add": after(lambda made, v: made.add(v), lambda v: {2.0}),
    "set, update": after(lambda made, v: made.update({"a": v}.values()), lambda v: {2.0}),
    "set, or": lambda v: len({2.0} | {v}),
    "frozenset": lambda v: len(frozenset([v, 2.0])),
    "set of tuples": lambda v: len({(v,), (2.0,)}),
    "dict, setdefault": after(lambda made, v: made.setdefault(v, 5), lambda v: {2.0: 1}),
    "dict, update": after(lambda made, v: made.update({v: 1}), lambda v: {2.0: 1}),
    "dict, update by pairs": after(lambda made, v: made.update([(v, 1)]), lambda v: {2.0: 1}),
    "dict, pop": after(lambda made, v: made.pop(v, None), lambda v: {2.0: 1, 4.0: 2}),
    "dict of pairs": lambda v: len(dict([(v, 1), (2.0, 2)])),
    "dict of tuples": lambda v: len({(v,): 1, (2.0,): 2}),
    "fromkeys": lambda v: len(dict.fromkeys([v, 2.0])),
    "key by a method of a list": lambda v: sorted(range(2), key=[v, 2.2].__getitem__),
    "key by a method of a dict": lambda v: min("ab", key={"a": v, "b": 3.5}.get),
    "key that is a list": lambda v: max([1, 2], key=lambda i: [v] if i == 1 else [3.5]),
    "generator of tuples": lambda v: max((one, 1) for one in {"a": v, "b": 3.5}.values()),
    "partial": lambda v: functools.partial(max, [v, 3.5])(),
    "text of values": lambda v: str({"a": v}.values()),
    "text by map": lambda v: ",".join(map(str, {"a": v}.values())),
    "enumerated": lambda v: max(enumerate({"a": v}.values())),
    "next": lambda v: next(map(abs, {"a": v}.values())),
    "starmap": lambda v: list(itertools.starmap(max, [(v, 3.5)])),
    "round": lambda v: round(next(iter({"a": v}.values()))),
    "unpacked": lambda v: operator.add(*{"a": v, "b": 3.5}.values()),
}


def delete(v: float) -> Any:
    made = {2.0: 1, 4.0: 2}
    if v in (2.0, 4.0):
        del made[v]
    return made


def store(v: float) -> Any:
    made = {2.0: 1}
    made[v] = 7
    return len(made), made[2.0]


def extend_while_it_runs(v: float) -> Any:
    holder, found = [1.0], []
    for one in map(abs, holder):
        if len(holder) < 2:
            holder.append(v)
        found.append(one)
    return found


PROGRAMS |= {one.__name__: one for one in (delete, store, extend_while_it_runs)}


def check(read: Callable[[float], Any]) -> None:
    compiled = clew.compile(lambda x: read(x.sum().item()))
    for v in (2.0, 2.0, 2.0, 4.0, 1.5, -1.0, 2.0, 3.5):
        assert repr(compiled(clew.tensor([1.0, v - 1.0]))) == repr(read(v))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_number_is_read_through_what_holds_it(holder: str, reader: str) -> None:
    check(lambda v: READERS[reader](HOLDERS[holder](v)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_is_read_by_a_method_or_a_callable(name: str) -> None:
    check(PROGRAMS[name])


def test_an_argument_is_read_through_the_dict_of_named_ones() -> None:
    compiled = clew.compile(lambda x, **factors: x * factors["a"] + sum(factors.values()))
    for value in (1.0, 1.0, 2.0, 3.0):
        assert compiled(clew.ones(1), a=value).item() == 2 * value


HANDED_ON: dict[str, Callable[[float], Any]] = {
    "dict": lambda v: {"a": v},
    "list of values": lambda v: [*{"a": v, "b": 2.5}.values()],
    "values in a list": lambda v: list({"a": v, "b": 2.5}.values()),
    "copies": lambda v: dict({"a": v}.copy().items()),
    "appended": lambda v: [one for one in {"a": v}.values() for _ in range(2)],
    "popped": lambda v: {"a": v}.pop("a"),
}


@pytest.mark.parametrize("name", HANDED_ON)
def test_what_only_moves_it_hands_it_on(name: str) -> None:
    compiled = clew.compile(lambda x: HANDED_ON[name](x.sum().item()))
    for v in (2.0, 4.0, 1.5, -1.0):
        assert compiled(clew.tensor([1.0, v - 1.0])) == HANDED_ON[name](v)
    assert (compiled.hits, compiled.misses) == (3, 1)


def holding_itself(x: Any) -> Any:
    node: dict[str, Any] = {"name": "a"}
    node["children"] = [{"parent": node}]
    return x * (2 if "name" in node and sorted(node) else 1)


def deep_argument(x: Any) -> Any:
    nest: Any = ()
    for _ in range(20_000):
        nest = (nest,)
    return x * (2 if 3 in nest else 1)


@pytest.mark.parametrize("function", [holding_itself, deep_argument])
def test_containers_that_lie_deep_or_hold_themselves_are_read(function: Callable[[Any], Any]) -> None:
    compiled = clew.compile(function)
    for _ in range(4):
        assert compiled(clew.ones(2)).tolist() == function(clew.ones(2)).tolist()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Where JAX was imported, a collection calls Python of its, which would be watched."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_a_result_that_lies_deep_stays_eager() -> None:
    def nest(x: Any) -> Any:
        found: Any = (x * 2,)
        for _ in range(20_000):
            found = (found,)
        return found

    compiled = clew.compile(nest)
    for _ in range(4):
        found = compiled(clew.ones(1))
        while isinstance(found, tuple):
            (found,) = found
        assert found.item() == 2
    assert "gives containers that lie too deep" in compiled.why()
