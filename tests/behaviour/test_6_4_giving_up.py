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


def test_a_hit_now_and_then_keeps_it_going() -> None:
    scaled = clew.compile(lambda x, factor: x * abs(factor), max_variants=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for i in range(40):
            assert scaled(clew.ones(1), float(i)).item() == i
            assert scaled(clew.ones(1), float(i)).item() == i
    assert scaled.hits == 40


def test_a_short_call_that_reads_too_many_values_is_not_kept() -> None:
    table = {i: i for i in range(10_001)}
    scaled = clew.compile(lambda x: x * len(table))
    assert scaled(clew.ones(1)).item() == 10_001
    assert scaled.variants == 0
    assert "reads more than 10,000 values of Python from before the call" in scaled.why()
