"""6.5: what a functools.lru_cache answers is asked again by each replay, as the function itself would ask."""

import functools
import gc
import warnings
import weakref

import pytest

import clew

pytestmark = [
    pytest.mark.beyond,
    pytest.mark.records_calls,
]


def both(make):
    """The compiled function of one instance of the program, and another instance as it is."""
    (kept, kept_cache), (eager, eager_cache) = make(), make()
    return clew.compile(kept), kept_cache, eager, eager_cache


def scaled():
    calls = []

    @functools.lru_cache
    def scale(n, factor=1):
        calls.append(n)
        return n * factor + 0.5 * len(calls)

    def step(x):
        return x * scale(3) + scale(4, 2)

    return step, scale


def tabled():
    @functools.cache
    def table(n):
        return clew.arange(n) + 1.0

    def step(x):
        return x * table(3)

    return step, table


@pytest.mark.parametrize("make", [scaled, tabled])
def test_values_and_counts_are_eagers(make):
    kept, kept_cache, eager, eager_cache = both(make)
    for i in range(6):
        x = clew.full((3,), float(i))
        assert clew.equal(kept(x), eager(x))
        assert kept_cache.cache_info() == eager_cache.cache_info()
    assert kept.hits == 4  # the first call filled the cache, the second was recorded


@pytest.mark.parametrize("make", [scaled, tabled])
def test_another_answer_is_seen(make):
    kept, kept_cache, eager, eager_cache = both(make)
    for i in range(9):
        if i in (4, 7):
            kept_cache.cache_clear()
            eager_cache.cache_clear()
        x = clew.full((3,), float(i))
        assert clew.equal(kept(x), eager(x))
        assert kept_cache.cache_info().misses == eager_cache.cache_info().misses
    assert kept.hits >= 3


def test_a_tensor_that_it_holds_may_be_written():
    step, table = tabled()
    kept = clew.compile(step)
    for _ in range(3):
        kept(clew.ones(3))
    table(3).mul_(10)
    hits = kept.hits
    assert kept(clew.ones(3)).tolist() == [10, 20, 30]
    assert kept.hits == hits + 1


def test_a_list_that_it_holds_may_be_changed():
    @functools.lru_cache
    def factors(n):
        return [float(n), 2.0]

    @clew.compile
    def step(x):
        return x * factors(3)[0]

    for _ in range(3):
        assert step(clew.ones(2)).tolist() == [3, 3]
    assert step.hits
    factors(3)[0] = 7.0
    assert step(clew.ones(2)).tolist() == [7, 7]


def test_one_cache_may_ask_another():
    @functools.lru_cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @clew.compile
    def step(x):
        return x * fibonacci(10)

    for _ in range(4):
        assert step(clew.ones(2)).tolist() == [55, 55]
    assert step.hits == 2


def test_what_raises_raises():
    left = [3]

    @functools.lru_cache
    def fails(n):
        left[0] -= 1
        if left[0] >= 0:
            raise KeyError(n)
        return 2.0

    @clew.compile
    def step(x):
        return x * fails(1)

    for _ in range(3):
        with pytest.raises(KeyError):
            step(clew.ones(2))
    for _ in range(3):
        assert step(clew.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    "body",
    [lambda cache, x: x * cache(n=3), lambda cache, x: x * cache(*(3,)), lambda cache, x: cache(x)],
    ids=["named", "starred", "tensor"],
)
def test_other_questions_keep_a_function_eager(body):
    @functools.lru_cache
    def cache(n):
        return n * 2

    step = clew.compile(lambda x: body(cache, x))
    x = clew.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for _ in range(4):
            assert clew.equal(step(x), body(cache, x))


def test_the_variant_lets_go_of_an_answer_when_another_is_recorded():
    step, table = tabled()
    kept = clew.compile(step)
    for _ in range(3):
        kept(clew.ones(3))
    answer = weakref.ref(table(3))
    table.cache_clear()
    kept.cache_clear()
    gc.collect()
    assert answer() is None
