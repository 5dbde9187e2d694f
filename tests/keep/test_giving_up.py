"""Row 6.4: a function each of whose calls is of a kind of its own stops being recorded, and says so once."""

from __future__ import annotations

import warnings

import pytest

import clew

pytestmark = pytest.mark.records_calls


def test_calls_that_all_differ_are_recorded_no_more() -> None:
    scaled = clew.compile(lambda x, factor: x * abs(factor), max_variants=4)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        results = [scaled(clew.ones(2), float(i)).tolist() for i in range(40)]
    assert results == [[i, i] for i in range(40)]
    assert (scaled.hits, scaled.variants) == (0, 4)
    texts = [str(one.message) for one in said if issubclass(one.category, clew.KeepWarning)]
    assert len(texts) == 2
    assert "more than 4 variants" in texts[0]
    assert "12 ways in a row" in texts[1]
    scaled.cache_clear()
    scaled(clew.ones(2), 1.0)
    assert scaled(clew.ones(2), 1.0).tolist() == [1, 1]
    assert scaled.hits == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: clew.nn.functional.one_hot(x, 10),
        lambda x: clew.bincount(x, minlength=10),
        lambda x: clew.zeros(10).scatter_reduce(0, x, clew.ones(6), "amax"),
        lambda x: clew.zeros(10).scatter_reduce(0, x, clew.ones(6), "prod", include_self=False),
        lambda x: clew.nn.functional.max_unpool1d(clew.ones(1, 6), x[None], 2, output_size=(12,)),
        lambda x: clew.nn.functional.multilabel_margin_loss(clew.arange(10.0)[:6], x.clamp(max=5)),
        lambda x: clew.isin(x, clew.tensor([1, 4])),
        lambda x: clew.repeat_interleave(clew.arange(7), clew.cat([x, 60 - x.sum().view(1)])),
    ],
    ids=["one_hot", "bincount", "amax", "prod", "max_unpool", "multilabel_margin", "isin", "repeat_interleave"],
)
def test_a_check_reads_only_whether_it_passes(function) -> None:
    """And the size of a result only what it is."""
    compiled = clew.compile(function)
    for seed in range(30):
        x = clew.randint(0, 10, (6,), generator=clew.Generator().manual_seed(seed))
        assert compiled(x).equal(function(x))
    assert compiled.hits == 29


def test_a_check_that_fails_raises_as_ever() -> None:
    compiled = clew.compile(lambda x: clew.nn.functional.one_hot(x, 10))
    for _ in range(3):
        compiled(clew.tensor([1, 9]))
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes: 10, got 10"):
        compiled(clew.tensor([1, 10]))
    with pytest.raises(RuntimeError, match="Class values must be non-negative, got -1"):
        compiled(clew.tensor([-1, 10]))


def test_hits_keep_it_going() -> None:
    scaled = clew.compile(lambda x, factor: x * abs(factor), max_variants=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for i in range(40):
            for _ in range(4):
                assert scaled(clew.ones(1), float(i)).item() == i
    assert scaled.hits == 120


def test_a_short_call_that_reads_too_many_values_is_not_kept() -> None:
    table = {i: i for i in range(10_001)}
    scaled = clew.compile(lambda x: x * len(table))
    assert scaled(clew.ones(1)).item() == 10_001
    assert scaled.variants == 0
    assert "reads more than 10,000 values of Python from before the call" in scaled.why()
