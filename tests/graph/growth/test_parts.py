"""What the watch is made of: the count of iterations, the schedule of looks, the search for the holder."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

import clew
from clew._core import Iterations, LookSchedule
from clew.graph.iterations.holder import find_holder

pytestmark = pytest.mark.beyond


def test_iteration_of_a_node() -> None:
    iterations = Iterations()
    assert all(iterations.end(serial) for serial in (10, 20, 30))
    assert not iterations.end(30)  # nothing was made since
    assert [iterations.of(sequence) for sequence in (1, 10, 11, 20, 25, 30, 31)] == [0, 0, 1, 1, 2, 2, 3]
    assert iterations.latest == 2


def test_the_memory_of_iterations_is_bounded_and_the_recent_ones_are_exact() -> None:
    iterations = Iterations()
    for serial in range(0, 1_000_000, 2):
        iterations.end(serial)
    assert iterations.remembered <= 1 << 16
    recent = [iterations.of(sequence) for sequence in range(990_000, 999_999, 2)]
    assert recent == list(range(recent[0], recent[0] + len(recent)))
    assert recent[-1] == iterations.latest


def looks(nodes: Any, iteration_seconds: float, look_seconds: float, wait: Any = None) -> list[int]:
    """After which of a thousand iterations it looks, in a loop of so many seconds an iteration and a look."""
    now = 0.0
    schedule = LookSchedule(lambda: now)
    taken = []
    for number in range(1, 1001):
        now += iteration_seconds
        if schedule.is_due(nodes(number)):
            taken.append(number)
            now += look_seconds
            schedule.looked(look_seconds, wait)
    assert schedule.looks == len(taken)
    return taken


def test_looks_cost_one_percent_when_nothing_rises() -> None:
    taken = looks(lambda number: 100, 1.0, 1.0)
    assert taken[:2] == [8, 16]
    assert 5 <= len(taken) <= 2 + 11


def test_looks_cost_a_few_percent_when_it_always_rises() -> None:
    taken = looks(lambda number: number, 1.0, 1.0, wait=1)
    assert len(taken) <= 2 + 6 + 6 + 0.06 * 1000 + 1


def test_a_rise_is_seen_within_twelve_iterations() -> None:
    taken = looks(lambda number: 100 + 10 * max(0, number - 500), 1.0, 0.1)
    assert any(506 <= number <= 513 for number in taken)


def test_it_may_look_always() -> None:
    schedule = LookSchedule(always=True)
    assert all(schedule.is_due(0) for _ in range(20))


@pytest.mark.parametrize(
    ("holds", "held", "expected"),
    [(4, 0, None), (7, 0, 11), (10, 10, None), (10, 12, None), (10, 2, 8), (10, 6, 16), (10, 9, 24), (30, 20, 1)],
)
def test_how_long_to_wait(holds: int, held: int, expected: int | None) -> None:
    schedule = LookSchedule()
    for _ in range(8):
        schedule.is_due(0)
    assert schedule.wait(holds, held, 18) == expected


def frame(values: dict[str, Any], file: str) -> Any:
    return SimpleNamespace(f_locals=values, f_globals={}, f_code=SimpleNamespace(co_flags=0, co_filename=file))


def held(values: dict[str, Any], tensors: list[Any], library: dict[str, Any] | None = None) -> str | None:
    """The holder of tensors that cover one iteration each, among the variables of one function and a library's."""
    bits = {id(tensor): 1 << number for number, tensor in enumerate(tensors)}
    frames = [frame(values, "/home/user/train.py"), frame(library or {}, inspect.getfile(pytest))]
    return find_holder(tensors, lambda tensor: bits[id(tensor)], frames)


def test_the_shortest_path_that_has_all() -> None:
    tensors = [clew.ones(1) for _ in range(5)]
    assert held({"one": tensors[0], "all": list(tensors)}, tensors) == "all"
    assert held({"log": {"loss": tensors, "rate": [1.0]}}, tensors) == "log['loss']"
    assert held({"log": {f"[{number}]": tensor for number, tensor in enumerate(tensors)}}, tensors) == "log"
    assert held({"meter": SimpleNamespace(history=SimpleNamespace(values=tensors))}, tensors) == "meter.history.values"
    assert held({"rows": [[tensor] for tensor in tensors]}, tensors) == "rows"
    assert held({"x": 1}, tensors) is None


def test_the_callers_in_a_package_may_hold_more_and_are_searched_last() -> None:
    tensors = [clew.ones(1) for _ in range(5)]
    assert held({"last": tensors[-1]}, tensors, library={"kept": tensors}) == "kept"
    many = [[number] for number in range(300_000)]
    assert held({"deep": {"deeper": [tensors]}}, tensors, library={"items": many}) == "deep['deeper'][0]"
    assert held({"deep": {"deeper": tensors[1:]}}, tensors, library={"items": many}) == "deep['deeper']"


def test_a_gradient_is_found_under_its_leaf() -> None:
    w = clew.ones(2, requires_grad=True)
    (w * w).sum().backward(create_graph=True)
    gradient = w.grad
    assert held({"w": w}, [gradient]) == "w.grad"
    w.grad = None


def test_a_global_of_a_module_that_is_not_running(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = type(sys)("cache_of_a_module")
    module.__file__ = "/home/user/cache_of_a_module.py"
    module.kept = [clew.ones(1)]
    monkeypatch.setitem(sys.modules, "package.cache_of_a_module", module)
    assert held({}, module.kept) == "cache_of_a_module.kept[0]"


def test_counter_is_a_dictionary_too() -> None:
    tensors = [clew.ones(1), clew.ones(1)]
    assert held({"seen": Counter({"a": 1}), "kept": {1: tensors[0], 2: tensors[1]}}, tensors) == "kept"
