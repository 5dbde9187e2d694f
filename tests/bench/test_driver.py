"""The driver's logic, with processes that are played: turns, comparison, failures."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench.driver import Settings, Team, alternate, differences, with_more_rounds
from bench.process import RivalError
from bench.workload import Jit, Module, Run, Workload


class Played:
    """Answers as a rival's process would."""

    def __init__(self, result: Any = 1.0, fails_at: str = "") -> None:
        self.result, self.fails_at = result, fails_at
        self.asked: list[str] = []
        self.hello = {"version": "1"}

    def ask(self, request: str, *_: Any) -> Any:
        self.asked.append(request)
        if request == self.fails_at:
            raise RivalError(f"{request} failed")
        answers = {"make": {"arrays": [np.float32([self.result])], "first_call": 0.5}, "calibrate": 0.001, "round": 7.0}
        return answers.get(request)

    def end(self) -> None: ...


class Anything(Workload):
    name = "anything"

    def eager(self, m: Module, jit: Jit) -> Run:
        raise AssertionError("made in the processes only")

    def numpy(self, np: Module) -> Run:
        raise AssertionError("made in the processes only")


def team(members: dict[str, Played]) -> Team:
    made = Team([], 1)
    made.members = dict(members)
    return made


def test_rounds_alternate() -> None:
    turns: list[str] = []
    timers = {name: lambda name=name: float(len(turns.append(name) or turns)) for name in "ab"}
    times = alternate(timers, 3, {})
    assert "".join(turns) == "abbaab"
    assert [len(rounds) for rounds in times.values()] == [3, 3]


def test_one_round_each_in_turn() -> None:
    members = {"clew": Played(), "torch": Played(), "numpy": Played()}
    measured = team(members).measure(Anything(), Settings(rounds=5))
    assert {name: len(rounds) for name, rounds in measured.rounds.items()} == dict.fromkeys(members, 5)
    assert members["clew"].asked == ["make", "calibrate", *["round"] * 5, "drop"]


def test_who_cannot_do_the_work_is_not_asked() -> None:
    members = {"clew": Played(), "jax": Played(), "torch.compile": Played()}
    measured = team(members).measure(Anything(), Settings(rounds=1))
    assert list(measured.rounds) == ["clew"]
    assert members["jax"].asked == members["torch.compile"].asked == []


def test_a_wrong_result_is_not_timed() -> None:
    members = {"clew": Played(1.1), "torch": Played(1.0)}
    results = team(members).measure(Anything(), Settings(rounds=1)).as_dict()["results"]
    assert "result 0 of clew differs from torch's: by up to 0.1" in results["clew"]["error"]
    assert "best" not in results["torch"]
    assert "round" not in members["torch"].asked


@pytest.mark.parametrize("request_", ["make", "calibrate", "round"])
def test_a_failure_stops_nobody_else(request_: str) -> None:
    members = {"clew": Played(fails_at=request_), "torch": Played()}
    results = team(members).measure(Anything(), Settings(rounds=4)).as_dict()["results"]
    assert results["clew"] == {"error": f"{request_} failed"}
    assert results["torch"]["rounds"] == [7.0] * 4


def test_a_round_that_takes_long_is_repeated_less() -> None:
    measured = team({"clew": Played()}).measure(Anything(), Settings(rounds=40, seconds=0.0105))
    assert len(measured.rounds["clew"]) == 10


@pytest.mark.parametrize(
    ("got", "equal"),
    [
        ([np.float32([1, 2])], True),
        ([np.float32([1, 2.0001])], True),
        ([np.float32([1, 2.001])], False),
        ([np.float32([1, np.nan])], False),
        ([np.float32([[1, 2]])], False),
        ([np.float32([1, 2]), np.float32([])], False),
        ([], False),
    ],
)
def test_differences(got: list[Any], equal: bool) -> None:
    assert (differences({"torch": [np.float32([1, 2])], "clew": got}) == "") is equal


def test_integers_are_compared_exactly() -> None:
    assert differences({"torch": [np.array([10**6])], "clew": [np.array([10**6 + 1])]})


def test_more_rounds_are_added_to_those_there_are() -> None:
    def row(**rounds: list[float]) -> dict[str, Any]:
        results = {name: {"rounds": r, "best": min(r), "median": statistics.median(r)} for name, r in rounds.items()}
        return {"workload": "w", "results": results}

    figures = row(clew=[3.0, 4.0, 5.0], torch=[9.0])
    figures["results"]["jax"] = {"error": "no"}
    with_more_rounds(figures, row(clew=[2.0, 6.0], torch=[11.0], jax=[1.0]))
    assert figures["results"]["clew"] == {"rounds": [3.0, 4.0, 5.0, 2.0, 6.0], "best": 2.0, "median": 4.0}
    assert figures["results"]["torch"] == {"rounds": [9.0, 11.0], "best": 9.0, "median": 10.0}
    assert figures["results"]["jax"] == {"error": "no"}
    assert figures["again"] == 1
