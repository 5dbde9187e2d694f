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
from ..model import events
from ..model.notebook import page_html
from ..model.places import Place
from ..model.protocol import Node
from ..model.records import Release
from ..page import Page
from ..program.modules import ModuleLog, record_modules
from .blocks import Blocks, blocks_of
from .categories import CATEGORIES, Census
from .timeline_records import Group, Numbers, Series, Share
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
        self._census: Census | None = None

    def __enter__(self) -> Timeline:
        if self._native is not None or self._columns:
            raise RuntimeError("timeline: expected a fresh one, got one that was used before; call timeline() again")
        if self._module_log is None:
            self._recording = record_modules()
            self._module_log = self._recording.__enter__()
        self._native = _core.MemoryTimeline()
        self._census = Census(self._native, self._module_log)
        events.listen_before(self._census.take)
        events.listen(self._after_backward)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._native is None or self._census is None:
            raise RuntimeError("timeline: expected a recording that was begun; use it in a with statement")
        events.stop_listening_before(self._census.take)
        events.stop_listening(self._after_backward)
        self._census.take()
        self._native.stop()
        if self._recording is not None:
            self._recording.__exit__(kind, error, trace)
        raw = self._native.columns()
        self._native = self._recording = None
        self._columns = {
            name: np.frombuffer(value, dtype=np.int64) if isinstance(value, bytes) else value
            for name, value in raw.items()
        }

    def _after_backward(self, roots: tuple[Node, ...], release: Release | None) -> None:
        assert self._census is not None
        self._census.take()

    # What was written down -------------------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> Blocks:
        """All memory, taken in the block or there before, as columns of numbers."""
        if self._census is None:
            raise RuntimeError("timeline: expected one whose block has ended, got one that recorded nothing")
        if not self._columns:
            raise RuntimeError("timeline: expected the `with` block to have ended, got a timeline that still runs")
        return blocks_of(self._columns, self._census)

    @property
    def allocations(self) -> int:
        """How many blocks of tensor data were taken."""
        return int((~self.blocks.is_earlier).sum())

    @cached_property
    def peak(self) -> int:
        """The most bytes of tensor data that were alive at once, as the allocator counts them."""
        return int(self.blocks.live.max())

    @property
    def peak_seconds(self) -> float:
        """When that was, in seconds from the start."""
        at = int(np.argmax(self.blocks.live))
        return float(self.blocks.events[1][at - 1]) / 1e9 if at else 0.0

    def _peak_step(self) -> int:
        at = int(np.argmax(self.blocks.live))
        return int(self.blocks.events[0][at - 1]) if at else 0

    @cached_property
    def _places(self) -> list[Place | None]:
        return [Place.of(site) for site in self._columns["sites"]] + [None]  # -1: the last

    @cached_property
    def groups(self) -> tuple[Numbers, list[Group]]:
        """For each block the number of its (line, module, phase, category, whether it is earlier), and these."""
        blocks = self.blocks
        assert self._module_log is not None
        paths: dict[int, str | None] = {}
        numbers: dict[Group, int] = {}
        groups = np.empty(len(blocks.size), dtype=np.int64)
        columns = (blocks.site, blocks.sequence, blocks.in_backward, blocks.category, blocks.is_earlier)
        for index, (site, sequence, in_backward, category, is_earlier) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if sequence not in paths:
                paths[sequence] = self._module_log.path_at(sequence) if sequence else None
            phase = "backward" if in_backward else "forward"
            key = Group(self._places[site], paths[sequence], phase, CATEGORIES[category], bool(is_earlier))
            groups[index] = numbers.setdefault(key, len(numbers))
        return groups, list(numbers)

    # Questions -------------------------------------------------------------------------------------------------------

    def at_peak(self) -> list[Share]:
        """What was alive at the peak, by line, module and category, the largest first. The sum is :attr:`peak`."""
        return self._alive_at(self._peak_step())

    def at_end(self) -> list[Share]:
        """What was alive when the block ended, by line, module and category, the largest first."""
        steps, _, _ = self.blocks.events
        return self._alive_at(int(steps[-1]) if len(steps) else 0)

    def _alive_at(self, step: int) -> list[Share]:
        groups, keys = self.groups
        alive = self.blocks.alive_after(step)
        sizes = np.bincount(groups[alive], self.blocks.size[alive], len(keys)).astype(np.int64)
        counts = np.bincount(groups[alive], minlength=len(keys))
        found = [
            Share(key.place, key.module, key.phase, int(size), int(count), key.is_earlier, key.category)
            for key, size, count in zip(keys, sizes, counts, strict=True)
            if count
        ]
        return sorted(found, key=lambda share: -share.nbytes)

    def series(self, most_lines: int = 12) -> Series:
        """Bytes over time, stacked by line, for a chart: the lines that held most at some moment, and all others."""
        groups, keys = self.groups
        labels = [Share(key.place, key.module, key.phase, 0, 0, key.is_earlier, key.category).label for key in keys]
        names = list(dict.fromkeys(labels))
        row_of_key = np.array([names.index(label) for label in labels], dtype=np.int64)
        blocks, rows = self.blocks, row_of_key[groups]
        start = np.bincount(rows[blocks.is_earlier], blocks.size[blocks.is_earlier], len(names)).astype(np.int64)
        owners = blocks.owners(rows)
        most = _most_of_each(owners, blocks.changes, start)
        chosen = np.argsort(-most, kind="stable")[:most_lines]
        kept = self._points()
        held = [start[row] + np.append(0, np.cumsum(np.where(owners == row, blocks.changes, 0))) for row in chosen]
        values = np.stack([*held, blocks.live - sum(held)])
        seconds = np.append(0, blocks.events[1]) / 1e9
        return Series(seconds[kept], (*(names[row] for row in chosen), "other lines"), values[:, kept])

    def _points(self) -> NDArray[np.intp]:
        """Which moments to give: all, or as many as can be told apart, the peak always."""
        live = self.blocks.live
        if len(live) <= _MOST_POINTS:
            return np.arange(len(live))
        kept = np.linspace(0, len(live) - 1, _MOST_POINTS).astype(np.intp)
        return np.unique(np.concatenate([kept, [int(np.argmax(live))]]))

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

    def section(self, heading: str = "") -> str:
        """The chart and the table of that page, as HTML. ``heading`` says which time it is about."""
        return as_section(self, heading)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of :attr:`html`."""
        return page_html(self.html)


def _most_of_each(owners: Numbers, changes: Numbers, start: Numbers) -> Numbers:
    """The most bytes that each owner had at once; changes are in the order in which they happened."""
    most = start.copy()
    order = np.argsort(owners, kind="stable")
    if not len(order):
        return most
    live = np.cumsum(changes[order])
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    before = np.concatenate([[0], live[starts[1:] - 1]])
    rows = owners[order][starts]
    most[rows] = np.maximum(start[rows], start[rows] + np.maximum.reduceat(live, starts) - before)
    return most
