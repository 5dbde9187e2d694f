"""Sugiyama's method: an order in each layer in which few lines cross, and places where long lines are straight."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

GAP = 22.0  # between neighbours
_SWEEPS = 12
_STRAIGHT = 8.0  # how much more a piece of a long line counts than the others


@dataclass(slots=True, eq=False)
class Vertex:
    """What has a place in a layer: an item, or (``item`` is -1) a point that a line passes."""

    width: float = 0.0
    item: int = -1
    x: float = 0.0  # of its middle
    rank: int = 0
    up: list[Segment] = field(default_factory=list)
    down: list[Segment] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of a line from one layer to the next, with where it ends beside the vertices' middles."""

    above: Vertex
    below: Vertex
    above_offset: float = 0.0
    below_offset: float = 0.0

    def __post_init__(self) -> None:
        self.above.down.append(self)
        self.below.up.append(self)

    @property
    def pull(self) -> tuple[float, float]:
        """By how much the lower end should be right of the upper one, and how much that counts."""
        if self.above.item >= 0 and self.below.item >= 0:
            return 0.0, 1.0  # items stand below each other, even if that bends the line
        return self.above_offset - self.below_offset, 1.0 if self.above.item >= 0 or self.below.item >= 0 else _STRAIGHT


Layers = Sequence[list[Vertex]]


def place(layers: Layers) -> None:
    """Order each layer, and give each vertex its ``x``."""
    _number(layers)
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            layer.sort(key=_mean_rank_above if downwards else _mean_rank_below)
            _number([layer])
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    for layer, ordered in zip(layers, best, strict=True):
        layer[:] = ordered
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _settle(layer, above=sweep % 2 == 0 or sweep > 4, below=sweep % 2 == 1 or sweep > 4)


def _number(layers: Layers) -> None:
    for layer in layers:
        for rank, vertex in enumerate(layer):
            vertex.rank = rank


def _mean_rank_above(vertex: Vertex) -> float:
    return sum(one.above.rank for one in vertex.up) / len(vertex.up) if vertex.up else vertex.rank


def _mean_rank_below(vertex: Vertex) -> float:
    return sum(one.below.rank for one in vertex.down) / len(vertex.down) if vertex.down else vertex.rank


def _crossings(layers: Layers) -> int:
    """How many pairs of segments cross."""
    count = 0
    for layer in layers:
        ends = [(one.above.rank, one.below.rank) for vertex in layer for one in vertex.down]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2))
    return count


def _settle(layer: list[Vertex], above: bool, below: bool) -> None:
    """Move each vertex as near to its neighbours in other layers as those beside it allow."""
    wanted, weights = [], []
    for vertex in layer:
        pulls = [(one.above.x + one.pull[0], one.pull[1]) for one in vertex.up if above]
        pulls += [(one.below.x - one.pull[0], one.pull[1]) for one in vertex.down if below]
        weight = sum(weight for _, weight in pulls)
        wanted.append(sum(x * weight for x, weight in pulls) / weight if pulls else vertex.x)
        weights.append(weight or 0.01)
    for vertex, x in zip(layer, apart(wanted, weights, [vertex.width for vertex in layer]), strict=True):
        vertex.x = x


def apart(wanted: Sequence[float], weights: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The middles nearest to those wanted, in the sense of least squares, between which there is room.

    By the pooling of adjacent violators: Barlow et al., Statistical Inference under Order Restrictions, 1972.

    Example:
        >>> apart([0, 0], [1, 1], [10, 30])
        [-21.0, 21.0]
    """
    shifts, shift = [], 0.0
    for number, width in enumerate(widths):
        shift += (widths[number - 1] + width) / 2 + GAP if number else 0
        shifts.append(shift)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for x, weight, shift in zip(wanted, weights, shifts, strict=True):
        mean, total, members = x - shift, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, its_weight, its_members = blocks.pop()
            mean = (before * its_weight + mean * total) / (its_weight + total)
            total, members = its_weight + total, its_members + members
        blocks.append((mean, total, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    return [mean + shift for mean, shift in zip(means, shifts, strict=True)]
