"""Memory over time: every byte of tensor data, and the line of the forward that caused it."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from functools import cached_property
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..model.places import Place
from ..page import Page
from ..program.modules import ModuleLog, record_modules
from .timeline_records import Numbers, Series, Share
from .timeline_views import as_section, as_text, as_trace

_MOST_POINTS = 20_000  # of a trace: more cannot be told apart


class Timeline:
    """The bytes of tensor data over time. Made by :func:`clew.memory.timeline`; complete when its block has ended.

    Example:
        >>> with clew.memory.timeline() as timeline:
        ...     x = clew.ones(1000)
        >>> timeline.allocations, timeline.peak - sum(share.nbytes for share in timeline.at_peak())
        (1, 0)
    """

    def __init__(self, module_log: ModuleLog | None = None) -> None:
        self._native: Any = None
        self._module_log = module_log  # None: keep one
        self._recording: AbstractContextManager[ModuleLog] | None = None
        self._columns: dict[str, Any] = {}

    def __enter__(self) -> Timeline:
        if self._native is not None or self._columns:
            raise RuntimeError("timeline: expected a fresh one, got one that was used before; call timeline() again")
        if self._module_log is None:
            self._recording = record_modules()
            self._module_log = self._recording.__enter__()
        self._native = _core.MemoryTimeline()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._native.stop()
        if self._recording is not None:
            self._recording.__exit__(kind, error, trace)
        raw = self._native.columns()
        self._native = self._recording = None
        self._columns = {
            name: np.frombuffer(value, dtype=np.int64) if isinstance(value, bytes) else value
            for name, value in raw.items()
        }

    # What was written down -------------------------------------------------------------------------------------------

    def _column(self, name: str) -> Numbers:
        if not self._columns:
            raise RuntimeError("timeline: expected the `with` block to have ended, got a timeline that still runs")
        numbers: Numbers = self._columns[name]
        return numbers

    def _in_order(self, taken: Numbers, given: Numbers, released: Numbers) -> Numbers:
        """What belongs to each block that was taken, given back, or released from before, in the order of events."""
        return np.concatenate([taken, given[self._is_given], released])[self._order]

    @cached_property
    def _is_given(self) -> NDArray[np.bool_]:
        return self._column("given_step") >= 0

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        given = self._column("given_step")[self._is_given]
        return np.argsort(
            np.concatenate([self._column("taken_step"), given, self._column("release_step")]), kind="stable"
        )

    @cached_property
    def _changes(self) -> Numbers:
        size = self._column("bytes")
        return self._in_order(size, -size, -self._column("release_bytes"))

    @cached_property
    def _steps(self) -> tuple[Numbers, Numbers]:
        """The numbers of all changes in order, and the live bytes after each."""
        steps = self._in_order(self._column("taken_step"), self._column("given_step"), self._column("release_step"))
        return steps, self._columns["live_at_start"] + np.cumsum(self._changes)

    @property
    def allocations(self) -> int:
        """How many blocks of tensor data were taken."""
        return len(self._column("bytes"))

    @cached_property
    def peak(self) -> int:
        """The most bytes of tensor data that were alive at once, as the allocator counts them."""
        live = self._steps[1]
        at_start: int = self._columns["live_at_start"]
        return max(at_start, int(live.max()) if len(live) else 0)

    @property
    def peak_seconds(self) -> float:
        """When that was, in seconds from the start."""
        step = self._peak_step()
        found = np.flatnonzero(self._column("taken_step") == step)
        return float(self._column("taken_ns")[found[0]]) / 1e9 if len(found) else 0.0

    def _peak_step(self) -> int:
        steps, live = self._steps
        if not len(live) or int(live.max()) <= self._columns["live_at_start"]:
            return 0  # it was never more than at the start
        return int(steps[int(np.argmax(live))])

    @cached_property
    def _places(self) -> list[Place | None]:
        return [Place.of(site) for site in self._columns["sites"]] + [None]  # -1: the last

    @cached_property
    def _groups(self) -> tuple[Numbers, list[tuple[Place | None, str | None, str]]]:
        """For each allocation the number of its (line, module, phase), and what the numbers mean."""
        module_log = self._module_log
        if module_log is None:
            raise RuntimeError("timeline: expected one whose block has ended, got one that recorded nothing")
        paths: dict[int, str | None] = {}
        numbers: dict[tuple[Place | None, str | None, str], int] = {}
        groups = np.empty(self.allocations, dtype=np.int64)
        columns = (self._column(name).tolist() for name in ("site", "sequence", "in_backward"))
        for index, (site, sequence, in_backward) in enumerate(zip(*columns, strict=True)):
            if sequence not in paths:
                paths[sequence] = module_log.path_at(sequence)
            key = self._places[site], paths[sequence], "backward" if in_backward else "forward"
            groups[index] = numbers.setdefault(key, len(numbers))
        return groups, list(numbers)

    # Questions -------------------------------------------------------------------------------------------------------

    def at_peak(self) -> list[Share]:
        """What was alive at the peak, by forward line and module, the largest first. The sum is :attr:`peak`."""
        return self._alive_at(self._peak_step())

    def at_end(self) -> list[Share]:
        """What was alive when the block ended, by forward line and module, the largest first."""
        steps, _ = self._steps
        return self._alive_at(int(steps[-1]) if len(steps) else 0)

    def _alive_at(self, step: int) -> list[Share]:
        groups, keys = self._groups
        given = self._column("given_step")
        alive = (self._column("taken_step") <= step) & ((given < 0) | (given > step))
        sizes = np.bincount(groups[alive], self._column("bytes")[alive], len(keys)).astype(np.int64)
        counts = np.bincount(groups[alive], minlength=len(keys))
        shares = [
            Share(*key, int(size), int(count)) for key, size, count in zip(keys, sizes, counts, strict=True) if count
        ]
        gone = int(self._column("release_bytes")[self._column("release_step") <= step].sum())
        earlier = int(self._columns["live_at_start"]) - gone
        if earlier:
            shares.append(Share(None, None, "forward", earlier, 0, is_earlier=True))
        return sorted(shares, key=lambda share: -share.nbytes)

    def series(self, most_lines: int = 12) -> Series:
        """Bytes over time, stacked by line, for a chart: the lines that held most at some moment, and all others."""
        groups, keys = self._groups
        changes, released = self._changes, np.ones_like(self._column("release_step"))
        owners = self._in_order(groups, groups, len(keys) * released)
        times = self._in_order(self._column("taken_ns"), self._column("given_ns"), -released)
        most = _most_of_each(owners, changes, len(keys))
        chosen = np.argsort(-most, kind="stable")[:most_lines]
        row_of = np.full(len(keys) + 1, len(chosen), dtype=np.int64)
        row_of[chosen] = np.arange(len(chosen))
        row_of[-1] = len(chosen) + 1
        rows, kept = row_of[owners], self._points()
        values = np.stack([np.cumsum(np.where(rows == row, changes, 0))[kept] for row in range(len(chosen) + 2)])
        values[-1] += int(self._columns["live_at_start"])
        seconds = np.maximum(np.maximum.accumulate(times)[kept] / 1e9, 0)
        names = [keys[number] for number in chosen.tolist()]
        labels = [Share(place, module, phase, 0, 0).label for place, module, phase in names]
        return Series(seconds, (*labels, "other lines", "from before"), values)

    def _points(self) -> NDArray[np.intp]:
        """Which changes to draw: all, or as many as can be told apart, the peak always."""
        steps, _ = self._steps
        if len(steps) <= _MOST_POINTS:
            return np.arange(len(steps))
        kept = np.linspace(0, len(steps) - 1, _MOST_POINTS).astype(np.intp)
        return np.unique(np.concatenate([kept, np.flatnonzero(steps == self._peak_step())]))

    def chrome_trace(self) -> dict[str, Any]:
        """Bytes over time in the format of Chrome's tracing and of Perfetto: counters, one a line, and the peak."""
        return as_trace(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Chrome trace (``.json``) or a page (``.html``).

        Raises:
            ValueError: the name ends in something else.
        """
        name = os.fspath(path)
        if name.endswith(".json"):
            text = json.dumps(self.chrome_trace())
        elif name.endswith(".html"):
            text = self.html
        else:
            raise ValueError(f"timeline.save: expected a name that ends in .json or .html, got {name!r}")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def html(self) -> str:
        """A page with the chart and what was alive at the peak; needs nothing else to be shown."""
        page = Page("Memory over time", str(self).splitlines()[0].split(". ")[0])
        page.add("Memory", self.section())
        return page.html

    def section(self) -> str:
        """The chart and the table of that page, as HTML."""
        return as_section(self)

    def __str__(self) -> str:
        return as_text(self)


def _most_of_each(owners: Numbers, changes: Numbers, count: int) -> Numbers:
    """The most bytes that each owner had at once; changes are in the order in which they happened."""
    most = np.zeros(count, dtype=np.int64)
    order = np.argsort(owners, kind="stable")
    order = order[owners[order] < count]
    if not len(order):
        return most
    live = np.cumsum(changes[order])
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    before = np.concatenate([[0], live[starts[1:] - 1]])
    most[owners[order][starts]] = np.maximum.reduceat(live, starts) - before
    return most
