"""What a timeline of memory answers, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.notebook import Shown
from ..model.places import Place

Numbers = NDArray[np.int64]


class Group(NamedTuple):
    """What is told together of memory: blocks for which all this is the same."""

    place: Place | None
    module: str | None
    phase: str
    category: str
    is_earlier: bool


@dataclass(frozen=True, slots=True)
class Share(Shown):
    """The bytes that were alive at a moment because of one line.

    ``place`` is None for bytes from before the timeline (``is_earlier``), or if no line of yours ran. ``category`` is
    ``"parameters and buffers"``, ``"gradients"``, ``"optimizer state"``, ``"input data"``, ``"activations saved by the
    graph"`` or ``"temporaries"``. ``phase`` is ``"forward"`` for what the line itself allocated, and ``"backward"`` for
    what the backward of its operations allocated.

    Example:
        >>> with clew.memory.timeline() as timeline:
        ...     x = clew.ones(1000)
        >>> [(share.nbytes, share.phase) for share in timeline.at_end() if not share.is_earlier]
        [(4000, 'forward')]
    """

    place: Place | None
    module: str | None
    phase: str
    nbytes: int
    tensors: int
    is_earlier: bool = False
    category: str = "temporaries"

    @property
    def label(self) -> str:
        """``train.py:5 in main, backward``."""
        if self.is_earlier:
            return f"{self.category}, from before"
        where = str(self.place) if self.place else "no line of yours"
        inside = f" [{self.module}]" if self.module else ""
        return f"{where}{inside}{', backward' if self.phase == 'backward' else ''}"


@dataclass(frozen=True, slots=True)
class Series(Shown):
    """Bytes alive over time, by line: ``values[i][j]`` is what ``labels[i]`` held at ``seconds[j]``.

    Example:
        >>> with clew.memory.timeline() as timeline:
        ...     x = clew.ones(1000)
        >>> series = timeline.series()
        >>> len(series.labels) == len(series.values)
        True
    """

    seconds: NDArray[np.float64]
    labels: tuple[str, ...]
    values: Numbers

    @property
    def total(self) -> Numbers:
        """All lines together."""
        return np.asarray(self.values.sum(axis=0), dtype=np.int64)
