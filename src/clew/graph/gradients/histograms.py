"""What is told of many numbers: their spread, and how many are zero or not finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._numeric import array_of
from ..model.notebook import Shown

_BLOCKS = " ▁▂▃▄▅▆▇█"
_SPARKS = 16  # characters


@dataclass(frozen=True, slots=True)
class Histogram(Shown):
    """The values of one tensor in bins of equal width, from the smallest finite one to the largest.

    Example:
        >>> model = clew.nn.ReLU()
        >>> with clew.graph.stats(model, bins=3) as seen:
        ...     y = model(clew.tensor([-2.0, 1.0, 1.0, 3.0]))
        >>> histogram = seen[""].activations
        >>> histogram.counts.tolist(), histogram.edges.tolist()
        ([1, 2, 1], [0.0, 1.0, 2.0, 3.0])
        >>> histogram.zeros, histogram.mean
        (0.25, 1.25)
    """

    counts: NDArray[np.int64]
    edges: NDArray[np.float64]
    mean: float
    std: float
    """The standard deviation of the finite values, without a correction for their number."""
    zeros: float
    """The share of exact zeros: of a ReLU's outputs those that are off."""
    not_finite: int
    """How many are infinite or not a number. They are in no bin."""

    @property
    def spark(self) -> str:
        """The histogram in one line of text; empty without values."""
        if not self.counts.sum():
            return ""
        parts = np.array_split(self.counts, min(_SPARKS, len(self.counts)))
        heights = np.array([part.mean() for part in parts])
        return "".join(_BLOCKS[int(np.ceil(8 * height / heights.max()))] for height in heights)


def histogram_of(tensor: Any, bins: int) -> Histogram:
    """The histogram of a tensor's elements, computed in float64."""
    values = np.asarray(array_of(tensor), dtype=np.float64).ravel()
    finite = values[np.isfinite(values)]
    if not len(finite):
        nothing = np.zeros(bins, dtype=np.int64), np.linspace(0, 1, bins + 1)
        return Histogram(*nothing, np.nan, np.nan, 0.0, len(values))
    counts, edges = np.histogram(finite, bins)
    return Histogram(
        counts.astype(np.int64),
        edges.astype(np.float64),
        float(finite.mean()),
        float(finite.std()),
        float((values == 0).mean()),
        len(values) - len(finite),
    )
