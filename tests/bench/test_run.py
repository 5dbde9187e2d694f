"""How a run is timed, by a clock that is played."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import workload
from bench.worker import SENT_WHOLE, condensed
from bench.workload import Run


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def passes(self, nanoseconds: int) -> None:
        self.now += nanoseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(workload, "perf_counter_ns", lambda: made.now)
    return made


def test_calls_of_a_round(clock: Clock) -> None:
    run = Run(lambda: clock.passes(50))
    assert run.time(4) == 200
    assert run.calls_of_a_round(10_000) == (200, 10_000)


def test_what_takes_longer_than_a_round_is_called_once(clock: Clock) -> None:
    assert Run(lambda: clock.passes(50_000)).calls_of_a_round(10_000) == (1, 50_000)


def test_what_is_prepared_is_not_timed(clock: Clock) -> None:
    run = Run(lambda made: clock.passes(made), prepare=lambda: clock.passes(1000) or 7)
    assert run.time(3) == 21


def test_a_loop_replaces_the_calls(clock: Clock) -> None:
    run = Run(lambda: clock.passes(50), loop=lambda calls: clock.passes(30 * calls))
    assert run.time(4) == 120


def test_steps_are_compared_each(clock: Clock) -> None:
    made, waited = iter(range(10)), list[int]()
    run = Run(lambda: next(made), steps_compared=3, ready=waited.append)
    assert run.results() == [0, 1, 2]
    assert run.first_calls(2) == [3, 4]
    assert waited == [2, 4]


def test_results_are_waited_for(clock: Clock) -> None:
    run = Run(lambda: clock.passes(50) or "late", ready=lambda result: clock.passes(9 * (result == "late")))
    assert run.time(4) == 209


def test_the_collector_is_held_and_let_go(clock: Clock) -> None:
    held: list[bool] = []
    Run(lambda: held.append(gc.isenabled())).time(2)
    assert held == [False, False]
    assert gc.isenabled()


def test_a_large_result_is_sampled_and_summed_up() -> None:
    whole = np.zeros(3 * SENT_WHOLE, np.float32)
    other = whole.copy()
    other[1] = 3.0  # not in the sample: the means tell
    assert condensed(whole).size < whole.size
    assert not np.array_equal(condensed(whole), condensed(other))
    assert condensed(whole[:10]).size == 10
