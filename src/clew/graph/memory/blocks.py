"""All memory that a timeline knows of, as columns: what was taken while it ran, and what had been there before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .categories import SAVED, Census
from .timeline_records import Numbers

NEVER = -1


@dataclass(frozen=True)
class Blocks:
    """One element for each block of memory. Steps number everything that was taken or given back, from 1 on.

    ``taken_step`` is 0 for what was there before, ``given_step`` is -1 for what is there still.
    """

    size: Numbers
    taken_step: Numbers
    given_step: Numbers
    taken_ns: Numbers
    given_ns: Numbers
    site: Numbers
    sequence: Numbers
    in_backward: Numbers
    category: Numbers

    @property
    def is_earlier(self) -> NDArray[np.bool_]:
        """Whether it was there before."""
        return np.asarray(self.taken_step == 0)

    def alive_after(self, step: int) -> NDArray[np.bool_]:
        """Which were there after a step; after 0: at the start."""
        is_there = (self.given_step == NEVER) | (self.given_step > step)
        return np.asarray((self.taken_step <= step) & is_there)

    @cached_property
    def events(self) -> tuple[Numbers, Numbers, Numbers]:
        """Everything that happened, in order: its step, its time, and its block (negative: given back, less one)."""
        taken, given = np.flatnonzero(~self.is_earlier), np.flatnonzero(self.given_step != NEVER)
        steps = np.concatenate([self.taken_step[taken], self.given_step[given]])
        times = np.concatenate([self.taken_ns[taken], self.given_ns[given]])
        blocks = np.concatenate([taken, -1 - given])
        order = np.argsort(steps, kind="stable")
        return steps[order], times[order], blocks[order]

    @cached_property
    def changes(self) -> Numbers:
        """The bytes that each event adds."""
        blocks = self.events[2]
        return np.where(blocks >= 0, self.size[blocks], -self.size[-1 - blocks])

    @cached_property
    def live(self) -> Numbers:
        """The bytes that are alive at the start and after each event."""
        start = self.size[self.is_earlier].sum()
        return np.concatenate([[start], start + np.cumsum(self.changes)]).astype(np.int64)

    def owners(self, labels: Numbers) -> Numbers:
        """Of each event the label of its block."""
        blocks = self.events[2]
        return np.where(blocks >= 0, labels[blocks], labels[-1 - blocks])


def blocks_of(columns: Mapping[str, Any], census: Census) -> Blocks:
    """From what the core wrote down, and from the census."""
    earlier = _earlier(columns, census)
    count = len(columns["bytes"])
    nothing = np.zeros(len(earlier), dtype=np.int64)

    def joined(name: str, of_earlier: Numbers) -> Numbers:
        return np.concatenate([columns[name], of_earlier])

    return Blocks(
        size=joined("bytes", earlier[:, 0]),
        taken_step=joined("taken_step", nothing),
        given_step=joined("given_step", earlier[:, 2]),
        taken_ns=joined("taken_ns", nothing),
        given_ns=joined("given_ns", earlier[:, 3]),
        site=joined("site", nothing - 1),
        sequence=joined("sequence", nothing),
        in_backward=joined("in_backward", nothing),
        category=np.concatenate([census.of_allocations(count), earlier[:, 1]]),
    )


def _earlier(columns: Mapping[str, Any], census: Census) -> Numbers:
    """A row for each block from before: bytes, category, step and time of its end.

    What no tensor had is known by its bytes alone: graphs of earlier steps hold it.
    """
    open_ = dict(census.earlier)
    rows: list[tuple[int, int, int, int]] = []
    released = (columns[name].tolist() for name in ("released", "release_bytes", "release_step", "release_ns"))
    for storage, size, step, ns in zip(*released, strict=True):
        known = open_.pop(storage, None)  # its address may be another's later
        rows.append((size, SAVED if known is None else known[1], step, ns))
    rows += [(size, category, NEVER, NEVER) for size, category in open_.values()]
    rest = int(columns["live_at_start"]) - sum(row[0] for row in rows)
    if rest:
        rows.append((rest, SAVED, NEVER, NEVER))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
