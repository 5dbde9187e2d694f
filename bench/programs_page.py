"""What is known of the programs of others, and the page that shows it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report import markdown

TOLERANCE = 1e-4


class Compared:
    """The numbers that a program gave under each engine, or why there are none."""

    clew: list[float]
    torch: list[float]
    error: str

    @property
    def difference(self) -> float:
        """The largest relative difference; infinite where one run has more numbers."""
        if self.error or len(self.clew) != len(self.torch) or not self.clew:
            return math.inf
        return max(relative(ours, theirs) for ours, theirs in zip(self.clew, self.torch, strict=True))


@dataclass
class Result(Compared):
    """What is known of a program: its first losses from one seed, the metric from several, the best times."""

    name: str
    clew: list[float] = field(default_factory=list)
    torch: list[float] = field(default_factory=list)
    clew_metrics: list[float] = field(default_factory=list)
    torch_metrics: list[float] = field(default_factory=list)
    clew_seconds: float = math.nan
    torch_seconds: float = math.nan
    steps: int = 0
    stopped: bool = False
    error: str = ""

    @property
    def metric(self) -> float:
        """The mean of clew's."""
        return sum(self.clew_metrics) / len(self.clew_metrics) if self.clew_metrics else math.nan

    @property
    def is_inside(self) -> bool:
        """Whether the metric lies in the spread of PyTorch's, which is a point where no seed matters."""
        if not self.torch_metrics:
            return False
        low, high = min(self.torch_metrics), max(self.torch_metrics)
        return low <= self.metric <= high or relative(self.metric, low) <= TOLERANCE

    @property
    def verdict(self) -> str:
        """What the page says of it."""
        if self.error:
            return self.error
        wrong = [] if self.difference <= TOLERANCE else ["losses differ"]
        wrong += [] if self.is_inside else ["metric outside"]
        return ", ".join(wrong) or "same"


def relative(ours: float, theirs: float) -> float:
    """Their relative difference; none where both are the same, whatever they are."""
    if ours == theirs or (math.isnan(ours) and math.isnan(theirs)):
        return 0.0
    difference = abs(ours - theirs) / max(abs(theirs), sys.float_info.min)
    return difference if math.isfinite(difference) else math.inf


def page(
    programs: Sequence[dict[str, Any]],
    results: dict[str, Result],
    described: dict[str, Any],
) -> str:
    """docs/programs.md."""
    shown = [(program, results[program["name"]]) for program in programs if program["name"] in results]
    same = [program for program, result in shown if result.verdict == "same"]
    new = sum(not program.get("seen", False) for program in same)
    rows = [
        [
            "program",
            "steps",
            "difference",
            "metric",
            "PyTorch, five seeds",
            "PyTorch s",
            "clew s",
            "verdict",
        ]
    ]
    rows += [row(program, result) for program, result in shown]
    return _PAGE.format(
        same=len(same),
        all=len(shown),
        new=new,
        table=markdown(rows),
        sources="\n".join(_source(program) for program, _ in shown),
        load=f"{os.getloadavg()[2]:.0f} of {described['processors']}",
        machine=f"{described['processor']}, one thread, {described['date']}",
    )


def sentence(results: dict[str, Result]) -> str:
    """What the README says of these programs."""
    same = sum(result.verdict == "same" for result in results.values())
    return (
        f"Of {len(results)} programs by other authors, {same} give PyTorch's numbers under `clew run --as-torch`\n"
        "([each, with times](docs/programs.md)). They are unmodified and pinned to commits. If a program stops,\n"
        "nearly always a name is missing."
    )


def row(program: dict[str, Any], result: Result) -> list[str]:
    """A program's line of the table."""
    name = program["name"] + ("" if not program.get("seen", False) else " (seen)")
    if result.error:
        return [name, "", "", "", "", "", "", result.error.replace("|", r"\|")]
    spread = f"{min(result.torch_metrics):.5g} to {max(result.torch_metrics):.5g}"
    times = [f"{result.torch_seconds:.2f}", f"{result.clew_seconds:.2f}"]
    steps = f"{result.steps}{', stopped' if result.stopped else ''}"
    return [
        name,
        steps,
        f"{result.difference:.1e}",
        f"{result.metric:.5g}",
        spread,
        *times,
        result.verdict,
    ]


def _source(program: dict[str, Any]) -> str:
    arguments = " ".join(program.get("arguments", []))
    what = f"`{program['file']}`" + (f" with `{arguments}`" if arguments else "")
    if "package" in program:
        return f"- {program['name']}: the example in the description of {program['package']} {program['version']}"
    repository, commit = program["repository"], program["commit"]
    return (
        f"- {program['name']}: {what} of [{repository}](https://github.com/{repository}/tree/{commit}) at {commit[:10]}"
    )


_PAGE = """# Programs that others wrote

Made by `python bench/programs.py --write`; do not edit. Each program is unmodified and pinned to a commit (the list
below the table). It runs under `clew run --as-torch` and under PyTorch from the same seeds, on one thread.

- *difference*: the largest relative difference of its first 20 losses (as many as it has, if fewer) from one seed. A
  loss is the value that a backward starts from, or what the program prints where it runs none.
- *metric*: what the program prints at its end, or else the mean of its last ten losses; clew's mean of five seeds,
  and beside it the least and the largest of PyTorch's. A seed that the program sets itself is shifted.
- *stopped*: it was ended after so many backward passes, because it runs for longer than a page is worth.
- Times are seconds of the program without the import of the library, the best of the five seeds, in turns.
- (seen): looked at before `clew run --as-torch` was finished.

{same} of {all} give the same numbers: losses within 1e-4, metric inside the spread. {new} of these were not looked at
before.

{table}

Measured on {machine}; processes that wanted a processor in the last quarter of an hour: {load}.

## Where they come from

{sources}
"""
