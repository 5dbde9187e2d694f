"""What is left when a watch ends: numbers whose graphs are kept, and that no backward came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ... import _core
from ..model.places import Place
from ..model.walk import walk
from .look import bytes_held, with_history

FEWEST = 18
"""So many numbers of one line, if the watch has seen no backward at all."""
FEWEST_AFTER_TRAINING = 200
"""So many after its last backward, of which others may still be to come."""

Kept = tuple[Place, list[Any], Callable[[Any], int], int, int]


def graphs_without_backward(iterations: _core.Iterations, began: int) -> Iterator[Kept]:
    """Lines that made many living numbers since the last backward, or since ``began`` if there was none.

    Of a line: its place, the tensors, what :func:`find_holder` wants to know of each, how many nodes they hold, and
    their bytes. What another result was computed from is not counted: the graph may be meant to be one.
    """
    found = sorted(with_history(), key=lambda one: -one[1]._sequence_nr())
    latest = iterations.latest
    seen: set[Any] = set()
    lines: dict[Place, tuple[list[Any], list[Any]]] = {}
    for tensor, node in found:
        sequence = node._sequence_nr()
        if sequence <= began or iterations.of(sequence) <= latest or node in seen:
            continue
        below = [one for one in walk([node], seen) if not isinstance(one, _core.AccumulateGrad)]
        place = Place.of(node.made_at)
        if place is not None and tensor.dim() == 0 and not any(one.released for one in below):
            kept, nodes = lines.setdefault(place, ([], []))
            kept.append(tensor)
            nodes += below
    fewest = FEWEST_AFTER_TRAINING if iterations.remembered else FEWEST
    for place, (kept, nodes) in lines.items():
        if len(kept) >= fewest:
            bits = {id(tensor): 1 << number for number, tensor in enumerate(kept)}
            yield place, kept, partial(_bits_of, bits), len(nodes), bytes_held(nodes)


def _bits_of(bits: dict[int, int], tensor: Any) -> int:
    return bits[id(tensor)]
