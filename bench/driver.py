"""Drives the rivals' processes: rounds in turns, one at a time, after what they compute has been compared."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.process import Process, RivalError
from bench.rivals import RIVALS
from bench.workload import Workload

RELATIVE = {"float32": 1e-4, "float64": 1e-9}


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure."""

    rounds: int = 20
    round_ns: int = 3_000_000
    seconds: float = 4.0  # a workload's rounds of all its rivals together take about this long at most
    least_rounds: int = 3


@dataclass(slots=True)
class Measured:
    """A workload under one number of threads: nanoseconds of each rival's rounds, or why there are none."""

    workload: str
    group: str
    threads: int
    facts: dict[str, Any] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)
    first_call: dict[str, float] = field(default_factory=dict)
    tenth_call: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def best(self, rival: str) -> float | None:
        return min(self.rounds[rival]) if self.rounds.get(rival) else None

    def as_dict(self) -> dict[str, Any]:
        results: dict[str, Any] = {
            rival: {
                "best": _short(min(times)),
                "median": _short(statistics.median(times)),
                "rounds": [_short(value) for value in times],
                "first_call_seconds": _short(self.first_call.get(rival, 0.0)),
            }
            for rival, times in self.rounds.items()
        }
        for rival, seconds in self.tenth_call.items():
            if rival in results:
                results[rival]["tenth_call_seconds"] = _short(seconds)
        results |= {rival: {"error": error} for rival, error in self.errors.items()}
        return {
            "workload": self.workload,
            "group": self.group,
            "threads": self.threads,
            "facts": self.facts,
            "unit": "ns",
            "results": results,
        }


def with_more_rounds(row: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add the rounds of ``more``, the same workload's, to those of ``row``, and count how often that was done."""
    for rival, result in more["results"].items():
        ours = row["results"].setdefault(rival, result)
        if ours is result or "rounds" not in ours or "rounds" not in result:
            continue
        rounds = ours["rounds"] + result["rounds"]
        ours |= {"rounds": rounds, "best": min(rounds), "median": _short(statistics.median(rounds))}
    row["again"] = row.get("again", 0) + 1


def _short(value: float) -> float:
    return float(f"{value:.5g}")


class Team:
    """The rivals at one number of threads."""

    def __init__(self, rivals: Iterable[str], threads: int) -> None:
        self.threads = threads
        self.members: dict[str, Any] = {name: Process(RIVALS[name], threads) for name in rivals}

    def __enter__(self) -> Team:
        self._scratch = tempfile.TemporaryDirectory(prefix="clew-bench-")
        for process in self.members.values():
            process.scratch = self._scratch.name
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.members.values():
            process.end()
        self._scratch.cleanup()

    def check_distinct(self, one: str, other: str) -> None:
        """Refuse to measure a library beside itself."""
        try:
            files = {os.path.realpath(self.members[name].start()["file"]) for name in (one, other)}
        except RivalError as error:
            raise SystemExit(f"{other}: {error}") from None
        if len(files) == 1:
            raise SystemExit(f"{other}: there, too, {files.pop()} is imported; another installation is needed")

    def versions(self) -> dict[str, str]:
        return {name: p.hello["version"] for name, p in self.members.items() if p.hello}

    def measure(self, workload: Workload, settings: Settings) -> Measured:
        """Make it in each process, compare what they computed, then time in turns."""
        measured = Measured(workload.name, workload.group, self.threads, workload.facts())
        rivals = [name for name in self.members if RIVALS[name].takes_part(workload)]
        made = self._each(rivals, measured, "make", workload.name)
        measured.first_call = {name: answer["first_call"] for name, answer in made.items()}
        measured.tenth_call = {name: answer["tenth_call"] for name, answer in made.items() if "tenth_call" in answer}
        wrong = differences({name: answer["arrays"] for name, answer in made.items()}, workload.tolerance)
        if wrong:
            measured.errors |= dict.fromkeys(made, wrong)
            made = {}
        seconds = self._each(list(made), measured, "calibrate", settings.round_ns)
        fitting = int(settings.seconds / max(1e-9, sum(seconds.values())))
        rounds = max(min(settings.least_rounds, settings.rounds), min(settings.rounds, fitting))
        asked = {name: lambda name=name: self.members[name].ask("round") for name in seconds}
        measured.rounds = alternate(asked, rounds, measured.errors)
        self._each(list(made), measured, "drop")
        return measured

    @staticmethod
    def peaks(rivals: Iterable[str], threads: int, workload: Workload) -> dict[str, Any]:
        """The peak of resident memory over the import's, in a fresh process for each."""
        results: dict[str, Any] = {}
        for name in rivals:
            if not RIVALS[name].takes_part(workload) or name == "torch.compile":
                continue  # its compiler runs in the process and leaves hundreds of megabytes
            with Team([name], threads) as team:
                try:
                    results[name] = {"bytes": round(team.members[name].ask("peak", workload.name), 1)}
                except RivalError as error:
                    results[name] = {"error": str(error)}
        return {
            "workload": workload.name,
            "group": workload.group,
            "threads": threads,
            "facts": workload.facts(),
            "unit": "B",
            "results": results,
        }

    def _each(self, rivals: Sequence[str], measured: Measured, *request: Any) -> dict[str, Any]:
        """Ask each in turn; who fails is noted and left out."""
        answers = {}
        for name in rivals:
            if name in measured.errors:
                continue
            try:
                answers[name] = self.members[name].ask(*request)
            except RivalError as error:
                measured.errors[name] = str(error)
                measured.rounds.pop(name, None)
        return answers


def alternate(timers: Mapping[str, Callable[[], float]], rounds: int, errors: dict[str, str]) -> dict[str, list[float]]:
    """Let each timer run once a round, in turns; every other round in the opposite order."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(rounds):
        names = [name for name in timers if name in times]
        for name in names if number % 2 == 0 else reversed(names):
            try:
                times[name].append(timers[name]())
            except RivalError as error:
                errors[name] = str(error)
                del times[name]
    return times


def differences(results: Mapping[str, Sequence[np.ndarray[Any, Any]]], tolerance: float = 1.0) -> str:
    """How the rivals' results differ beyond rounding; empty if they do not."""
    compared = {name: arrays for name, arrays in results.items() if name != "machine"}
    if len(compared) < 2:
        return ""
    reference = "torch" if "torch" in compared else next(iter(compared))
    for name, arrays in compared.items():
        if len(arrays) != len(compared[reference]):
            return f"{name} gave {len(arrays)} results, {reference} {len(compared[reference])}"
        for index, (got, wanted) in enumerate(zip(arrays, compared[reference], strict=True)):
            wrong = _difference(got, wanted, tolerance)
            if wrong:
                return f"result {index} of {name} differs from {reference}'s: {wrong}"
    return ""


def _difference(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], tolerance: float) -> str:
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    if got.size == 0:
        return ""
    relative = tolerance * RELATIVE.get(str(np.result_type(got, wanted)), 0.0)
    scale = float(np.abs(wanted).max())
    if np.allclose(got, wanted, relative, relative * scale, equal_nan=True):
        return ""
    return f"by up to {float(np.abs(got.astype(np.float64) - wanted).max()):.3g} where values reach {scale:.3g}"
