"""Timing of statements: `Timer`, what it measures, and tables of several measurements."""

from __future__ import annotations

import math
import statistics
import textwrap
import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .. import get_num_threads, set_num_threads
from .._unsupported import missing_from

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]

timer = time.perf_counter
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NAMES = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}

__getattr__ = missing_from(__name__)


def select_unit(t: float) -> tuple[str, float]:
    """The largest unit of which a time is at least one, and its seconds.

    Example:
        >>> from torch.utils.benchmark import select_unit
        >>> select_unit(3e-7)
        ('ns', 1e-09)
    """
    return max(
        ((name, unit) for name, unit in _UNITS.items() if unit <= t), key=lambda one: one[1], default=("ns", 1e-9)
    )


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")


@dataclass
class Measurement:
    """Times of a statement, in seconds. `raw_times` are those of blocks of `number_per_run` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Of one run, for each block."""
        return [one / self.number_per_run for one in self.raw_times]

    @property
    def mean(self) -> float:
        """Of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """Of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The range of the middle half of the times."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, method="inclusive")
        return third - first

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary by more than a tenth."""
        return self.iqr / self.median > 0.1

    @property
    def as_row_name(self) -> str:
        """What stands before its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt

    def __repr__(self) -> str:
        unit, seconds = select_unit(self.median)
        lines = [self.task_spec.title, *([self.task_spec.description] if self.task_spec.description else [])]
        count = len(self.raw_times)
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / seconds:.2f} {unit}")
        if count > 1:
            lines.append(f"  IQR:    {self.iqr / seconds:.2f} {unit}")
        plural = "s" if self.task_spec.num_threads > 1 else ""
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs, "
                     f"{self.task_spec.num_threads} thread{plural}")  # fmt: skip
        return "\n".join(lines)


def _dedented(statement: str) -> str:
    return textwrap.dedent(statement).strip() or "pass"


class Timer:
    """Measures the time of a statement, as `timeit.Timer` does, with a number of threads.

    Args:
        stmt, setup: code; the setup runs before.
        timer: gives the time in seconds.
        globals: names that the code may use.
        label, sub_label, description, env: words for tables.
        num_threads: how many threads operations may use meanwhile.

    Raises:
        NotImplementedError: a language other than Python.
        ValueError: a `global_setup`, which is for C++ only.

    Example:
        >>> from torch.utils.benchmark import Timer
        >>> x = torch.ones(64, 64)
        >>> measured = Timer("x @ x", globals={"x": x}).timeit(10)
        >>> measured.number_per_run, measured.mean > 0
        (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py"):
            raise NotImplementedError(f"Timer: expected the language 'python', got {language!r}")
        if global_setup:
            raise ValueError("Timer: global_setup is for C++ only; use setup")
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        scope = {"torch": __import__("clew"), **(globals or {})}
        self._timer = timeit.Timer(_dedented(stmt), _dedented(setup), timer, scope)

    def _timeit(self, number: int) -> float:
        threads = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One block of runs, after some that warm up."""
        self._timeit(max(number // 100, 2))
        return Measurement(number, [self._timeit(number)], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of runs, until they took `min_run_time` seconds. A block is so long that the clock costs nothing.

        Args:
            callback: gets the runs of each block and its seconds.
        """
        return self._until(min_run_time, callback, lambda found: sum(found.raw_times) >= min_run_time)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of runs, until the middle half of the times lies within this share of their median."""

        def enough(found: Measurement) -> bool:
            spent = sum(found.raw_times)
            steady = len(found.raw_times) >= 5 and found.iqr / found.median < threshold
            return spent >= max_run_time or (spent >= min_run_time and steady)

        return self._until(min_run_time, callback, enough)

    def _until(self, least: float, callback: Any, enough: Callable[[Measurement], bool]) -> Measurement:
        number = 1
        while self._timeit(number) < min(1e-4, least / 10):
            number *= 10
        found = Measurement(number, [], self._task_spec)
        while not found.raw_times or not enough(found):
            found.raw_times.append(self._timeit(number))
            if callback is not None:
                callback(number, found.raw_times[-1])
        return found


@dataclass
class Compare:
    """A table of measurements: a row for each `sub_label`, a column for each `description`."""

    results: list[Measurement]
    _digits: list[int] = field(default_factory=list)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self.results = [*self.results, *results]

    def trim_significant_figures(self) -> None:
        """Show two digits that count."""
        self._digits = [2]

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted; the table has no colours."""

    def highlight_warnings(self) -> None:
        """Accepted; nothing is highlighted."""

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        return "\n".join(self._table(label) for label in dict.fromkeys(one.task_spec.label for one in self.results))

    def _table(self, label: str | None) -> str:
        own = [one for one in self.results if one.task_spec.label == label]
        unit, seconds = select_unit(min(one.median for one in own))
        columns = list(dict.fromkeys(one.task_spec.description for one in own))
        cells: dict[tuple[int, str], dict[Any, str]] = {}
        for one in own:
            row = cells.setdefault((one.task_spec.num_threads, one.as_row_name), {})
            row[one.task_spec.description] = self._number(one.median / seconds)
        rows = [["", *(str(column or "") for column in columns)]]
        for (threads, name), values in cells.items():
            rows.append([f"{threads} threads: {name}", *(values.get(column, "") for column in columns)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  |  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        title = f" {label or ''} ".center(len(lines[0]), "-")
        return "\n".join([f"[{title}]", *lines, "", f"Times are in {_NAMES[unit]} ({unit}).", ""])

    def _number(self, value: float) -> str:
        if not self._digits:
            return f"{value:.1f}"
        return f"{round(value, self._digits[0] - 1 - math.floor(math.log10(value))):g}"
