"""Row 6.4: which calls share a recording, how many are kept, and when a path stays eager."""

from __future__ import annotations

import types
import warnings
from typing import Any

import pytest

import clew

pytestmark = pytest.mark.records_calls


def said(function: Any, *calls: tuple[Any, ...]) -> list[str]:
    """The warnings of these calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for arguments in calls:
            function(*arguments)
    return [str(one.message) for one in caught if issubclass(one.category, clew.KeepWarning)]


def counts(function: Any) -> tuple[int, int, int]:
    return function.hits, function.misses, function.variants


def test_the_least_recently_used_goes_with_one_warning() -> None:
    double = clew.compile(lambda x: x * 2, max_variants=2)
    one, two, three = ((clew.ones(size),) for size in (1, 2, 3))
    assert said(double, one, two, one) == []
    (text,) = said(double, three)  # the one of two goes
    assert "has more than 2 variants" in text
    assert counts(double) == (1, 3, 2)
    assert said(double, one, three) == []
    assert counts(double) == (3, 3, 2)
    assert said(double, two) == []  # recorded again; it is not said twice
    assert counts(double) == (3, 4, 2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1.0),
        (1, True),
        (1.0, True),
        (0.0, -0.0),
        ("1", 1),
        ("a", "b"),
        ("é", "e\u0301"),
        (b"a", "a"),
        (None, False),
        ((1, 2), [1, 2]),
        ((1, (2,)), ((1, 2),)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1, 2], [1, 3]),
        ([], [[]]),
        (clew.float32, clew.float64),
        (slice(1, 2), slice(1, 3)),
        ({1, 2}, frozenset({1, 2})),
        (range(3), range(4)),
        (2**80, 2**80 + 1),
    ],
)
def test_arguments_that_differ_are_recorded_apart(first: Any, second: Any) -> None:
    function = clew.compile(lambda x, option: (x * 2, type(option).__name__, repr(option)))
    for option in (first, second, first, second):
        assert function(clew.ones(2), option)[1] == type(option).__name__
    assert counts(function) == (2, 2, 2)


@pytest.mark.parametrize("make", [lambda: float("nan"), lambda: 2**80, lambda: [1, [2.5]], lambda: {"a": (1, "b")}])
def test_equal_arguments_share_a_recording(make: Any) -> None:
    function = clew.compile(lambda x, option: x * 2)
    for _ in range(3):
        function(clew.ones(2), make())
    assert counts(function) == (2, 1, 1)


def test_a_mutable_argument_counts_by_its_content() -> None:
    function = clew.compile(lambda x, factors: x * factors[0])
    factors = [2.0]
    assert [function(clew.ones(1), factors).item() for _ in range(2)] == [2, 2]
    factors[0] = 3.0
    assert [function(clew.ones(1), factors).item() for _ in range(2)] == [3, 3]
    assert counts(function) == (2, 2, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: clew.ones(3, 2),
        lambda: clew.ones(2, 3, dtype=clew.float64),
        lambda: clew.ones(3, 2).t(),
        lambda: clew.ones(2, 3, requires_grad=True),
        lambda: clew.ones(2, 3, requires_grad=True) * 2,
        lambda: clew.nn.Parameter(clew.ones(2, 3)),
    ],
)
def test_tensors_of_another_kind_are_recorded_apart(make: Any) -> None:
    function = clew.compile(lambda x: x * 2)
    for x in (clew.ones(2, 3), make(), clew.ones(2, 3), make()):
        assert function(x).tolist() == (x * 2).tolist()
    assert counts(function) == (2, 2, 2)


def test_a_tensor_given_twice_and_a_grad_are_told() -> None:
    product = clew.compile(lambda x, y: (x * y, x is y))
    for _ in range(2):
        x = clew.ones(2)
        assert product(x, x)[1] is True
        assert product(x, clew.ones(2))[1] is False
    assert counts(product) == (2, 2, 2)
    function = clew.compile(lambda x: x.grad is None)
    with_grad = clew.ones(2, requires_grad=True)
    with_grad.grad = clew.ones(2)
    assert [function(x) for x in (clew.ones(2, requires_grad=True), with_grad)] == [True, False]


def test_grad_mode_and_default_dtype_are_told() -> None:
    function = clew.compile(lambda x: x * clew.ones(2))
    for _ in range(2):
        x = clew.ones(2, requires_grad=True)
        assert function(x).requires_grad
        with clew.no_grad():
            assert not function(x).requires_grad
    assert counts(function) == (2, 2, 2)
    clew.set_default_dtype(clew.float64)
    try:
        assert function(clew.ones(2, dtype=clew.float32)).dtype == clew.float64
    finally:
        clew.set_default_dtype(clew.float32)


def test_a_path_whose_guard_fails_in_three_calls_stays_eager() -> None:
    state = types.SimpleNamespace(factor=0)
    scaled = clew.compile(lambda x: x * state.factor)
    texts = []
    for factor in range(1, 9):
        state.factor = factor
        texts += said(scaled, (clew.ones(2),))
    (text,) = texts
    assert "stays eager" in text
    assert "factor of a types.SimpleNamespace" in text
    assert counts(scaled) == (0, 8, 4)
    assert scaled(clew.ones(1)).item() == 8  # another shape is another path
    assert scaled.variants == 5


def test_a_read_value_that_keeps_changing_names_its_line() -> None:
    def doubled(x: Any) -> Any:
        return x * int(x.sum().item())

    function = clew.compile(doubled)
    texts = said(function, *[(clew.ones(2) * factor,) for factor in range(1, 9)])
    (text,) = texts
    assert "(item: 2 then, 8 now)" in text
    assert f"test_variants.py:{doubled.__code__.co_firstlineno + 1} in doubled" in text
    assert function(clew.ones(2) * 3).tolist() == [18, 18]


def test_cache_clear_and_eager() -> None:
    def double(x: Any) -> Any:
        return x * 2

    function = clew.compile(double)
    assert function.eager is double
    function(clew.ones(2))
    function(clew.ones(2))
    assert counts(function) == (1, 1, 1)
    function.cache_clear()
    assert function.variants == 0
    function(clew.ones(2))
    assert counts(function) == (1, 2, 1)
