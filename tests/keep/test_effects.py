"""Row 6.7: what a call does to objects older than it is done again by each replay, in order; all else keeps it eager.

Programs in which it could go wrong are in stale_programs/effects.py.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn

pytestmark = [
    pytest.mark.beyond,
    pytest.mark.records_calls,
]
CALLS = 5


class Plain:
    def __init__(self) -> None:
        self.value: Any = None
        self.items: list[Any] = []
        self.table: dict[Any, Any] = {}
        self.recent: Any = collections.deque(maxlen=3)
        self.count = 0


def described(value: Any) -> Any:
    """Values, types and aliasing, in words that compare."""
    if isinstance(value, clew.Tensor):
        return "tensor", value.tolist(), value.requires_grad
    if isinstance(value, Plain):
        return described(vars(value))
    if isinstance(value, dict):
        return [(key, described(one)) for key, one in value.items()]
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [described(one) for one in value]
    return type(value).__name__, repr(value)


def set_attribute(x: Any, at: Any) -> None:
    at.value = x * 2


def setattr_called(x: Any, at: Any) -> None:
    at.value = 1
    setattr(at, "value", x * 2)  # noqa: B010


def set_item_of_a_dict(x: Any, at: Any) -> None:
    at.table["y"] = x * 2


def set_item_of_a_list(x: Any, at: Any) -> None:
    at.items[0] = x.sum().item()


def append(x: Any, at: Any) -> None:
    at.items.append(x * 2)


def append_to_a_deque(x: Any, at: Any) -> None:
    at.recent.append(x.sum().item())


def a_followed_number(x: Any, at: Any) -> None:
    at.value = x.sum().item()
    at.table["loss"] = at.value
    at.items.append(at.value)


def a_constant(x: Any, at: Any) -> None:
    at.value = ("done", 1, None)
    at.items.append("done")


def a_container_of_results(x: Any, at: Any) -> None:
    at.items.append({"y": x * 2, "sum": x.sum().item(), "of": [x]})


def one_tensor_twice(x: Any, at: Any) -> None:
    y = x * 2
    at.value, at.table["y"] = y, y


def count(x: Any, at: Any) -> None:
    at.count += 1


def all_in_order(x: Any, at: Any) -> None:
    at.items.append("before")
    at.value = x * 2
    at.items.append(at.value)
    at.value = "after"
    at.table["b"], at.table["a"] = 1, 2
    at.count += 1


KEPT = [
    *(set_attribute, setattr_called, set_item_of_a_dict, set_item_of_a_list, append, append_to_a_deque),
    *(a_followed_number, a_constant, a_container_of_results, one_tensor_twice, count, all_in_order),
]


def outcomes(effect: Callable[[Any, Any], None], wrap: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """What each call gave and left, and the function that was called."""
    at = Plain()
    at.items.append(0.0)

    def step(x: Any) -> Any:
        effect(x, at)
        return x + 1

    function = wrap(step)
    found = []
    for i in range(CALLS):
        given = function(clew.tensor([1.0, 2.0]) * i)
        found.append((described(given), described(at)))
        if at.value is not None and at.value is at.table.get("y"):
            found.append("one object")
    return found, function


@pytest.mark.parametrize("effect", KEPT, ids=lambda one: one.__name__)
def test_it_is_done_again(effect: Callable[[Any, Any], None]) -> None:
    expected, _ = outcomes(effect, lambda function: function)
    found, function = outcomes(effect, clew.compile)
    assert found == expected
    assert function.hits >= CALLS - 2, function.why()


def test_attributes_and_buffers_of_a_module() -> None:
    class Averaged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", clew.zeros(2))
            self.last = None
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.mean = 0.9 * self.mean + 0.1 * x.detach()
            self.last = x.sum().item()
            self.calls += 1
            return x - self.mean

    modules = [Averaged(), Averaged()]
    compiled = clew.compile(lambda x: modules[1](x))
    for i in range(CALLS):
        x = clew.tensor([1.0, -2.0]) * i
        assert clew.equal(compiled(x), modules[0](x))
        eager, kept = modules
        assert clew.equal(eager.mean, kept.mean)
        assert (eager.last, eager.calls) == (kept.last, kept.calls)
        assert list(kept.state_dict()) == ["mean"]
    assert compiled.hits >= CALLS - 2, compiled.why()


def test_a_hidden_state_in_a_tuple() -> None:
    class Truncated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(2, 3)
            self.state = (clew.zeros(1, 3), clew.zeros(1, 3))

        def forward(self, x: Any) -> Any:
            h, c = self.cell(x, self.state)
            self.state = (h.detach(), c.detach())
            loss = h.square().sum()
            loss.backward()
            return loss.item()

    clew.manual_seed(1)
    modules = [Truncated(), Truncated()]
    modules[1].load_state_dict(modules[0].state_dict())
    compiled = clew.compile(lambda x: modules[1](x))
    for i in range(CALLS):
        if i == CALLS // 2:
            for module in modules:
                module.state = (clew.ones(1, 3), module.state[1])
        x = clew.tensor([[1.0, -2.0]]) * i
        assert compiled(x) == modules[0](x)
        for left, right in zip(modules[0].state, modules[1].state, strict=True):
            assert clew.equal(left, right)
        for left, right in zip(modules[0].parameters(), modules[1].parameters(), strict=True):
            assert clew.equal(left.grad, right.grad)
    assert compiled.hits >= CALLS - 3, compiled.why()


def test_a_count_that_is_read_is_not_replayed_with_a_stale_value() -> None:
    at = Plain()

    def step(x: Any) -> Any:
        at.count += 1
        return x * at.count

    compiled = clew.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        assert [compiled(clew.ones(1)).item() for _ in range(CALLS)] == [1, 2, 3, 4, 5]


def test_a_list_that_got_shorter_is_as_eager() -> None:
    lists: list[list[Any]] = [[0.0, 0.0, 0.0] for _ in range(2)]

    def step(x: Any, at: int) -> Any:
        lists[at][1] = x.sum().item()
        return x + 1

    compiled = clew.compile(lambda x: step(x, 1))
    for i in range(CALLS):
        compiled(clew.ones(2) * i), step(clew.ones(2) * i, 0)
        assert lists[0] == lists[1]
    assert compiled.hits >= CALLS - 2, compiled.why()
    for one in lists:
        del one[1:]
    with pytest.raises(IndexError):
        compiled(clew.ones(2))
    assert lists == [[0.0], [0.0]]


def test_an_item_that_is_set_and_read_is_not_stale() -> None:
    last = [0.0]

    def step(x: Any) -> Any:
        last[0] = x.sum().item()
        return x * last[0]

    compiled = clew.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for i in range(CALLS):
            assert compiled(clew.ones(2) * i).tolist() == [2 * i * i] * 2
            assert last == [2 * i]


class Watched:
    """Does something when an attribute is set, has a slot and a property."""

    __slots__ = ("_size", "log", "slot")

    def __init__(self) -> None:
        object.__setattr__(self, "log", [])

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(name)
        object.__setattr__(self, name, value)


class Sized:
    @property
    def size(self) -> Any:
        return self._size

    @size.setter
    def size(self, value: Any) -> None:
        self._size = value


class Noted(list):  # type: ignore[type-arg]
    pass


REFUSED: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "print": (list, lambda x, at: print("a step")),
    "a set": (set, lambda x, at: at.add(at.__len__())),
    "extend": (list, lambda x, at: at.extend([x * 2])),
    "insert": (list, lambda x, at: at.insert(0, x * 2)),
    "pop": (lambda: [1.0] * 9, lambda x, at: at.pop()),
    "clear": (dict, lambda x, at: at.clear()),
    "sort": (lambda: [3, 1, 2], lambda x, at: at.sort()),
    "a slice": (list, lambda x, at: at.__setitem__(slice(0, 0), [x.sum().item()])),
    "an array": (lambda: bytearray(9), lambda x, at: at.__setitem__(0, at[0] + 1)),
    "a user's list": (Noted, lambda x, at: at.append(x.sum().item())),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_keep_it_eager_with_one_warning_that_names_the_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, effect = REFUSED[name]
    states, printed = [], []
    for wrap in (lambda function: function, clew.compile):
        at = make()

        def step(x: Any, at: Any = at) -> Any:
            effect(x, at)
            return x + 1

        function = wrap(step)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", clew.KeepWarning)
            for i in range(CALLS):
                function(clew.ones(2) * i)
        states.append(described(list(at) if isinstance(at, Noted | set | bytearray) else at))
        printed.append(capsys.readouterr().out)
    assert states[0] == states[1]
    assert printed[0] == printed[1]
    assert function.hits == 0
    assert len(told) == 1, [str(one.message) for one in told]
    assert f"test_effects.py:{effect.__code__.co_firstlineno}" in str(told[0].message)


@pytest.mark.parametrize("make", [Watched, Sized])
def test_setting_an_attribute_that_runs_python_is_as_eager(make: Callable[[], Any]) -> None:
    states = []
    for wrap in (lambda function: function, clew.compile):
        at = make()

        def step(x: Any, at: Any = at) -> Any:
            if isinstance(at, Watched):
                at.slot = x.sum().item()
            else:
                at.size = x.sum().item()
            return x + 1

        function = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", clew.KeepWarning)
            states.append([])
            for i in range(CALLS):
                function(clew.ones(2) * i)
                states[-1].append(at.slot if isinstance(at, Watched) else at.size)
        states[-1].append(getattr(at, "log", None))
    assert states[0] == states[1]


def test_effects_of_a_call_that_raises_are_those_of_eager() -> None:
    at = Plain()

    @clew.compile
    def step(x: Any) -> Any:
        at.items.append(x.sum().item())
        if x.sum() > 10:
            raise ValueError("too large")
        at.count += 1
        return x * 2

    for i in range(CALLS):
        step(clew.ones(2) * i)
    assert step.hits >= CALLS - 2, step.why()
    with pytest.raises(ValueError, match="too large"):
        step(clew.ones(2) * 100)
    assert at.items == [0.0, 2.0, 4.0, 6.0, 8.0, 200.0]
    assert at.count == CALLS
