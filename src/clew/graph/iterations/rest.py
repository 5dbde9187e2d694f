"""What is left when a watch ends: results whose graphs are kept, and that no backward came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ... import _core
from ..model.places import Place
from ..model.walk import walk
from .look import bytes_held, with_history

FEWEST = 18
"""So many results of one line, if the watch has seen no backward at all."""
FEWEST_AFTER_TRAINING = 200
"""So many after a backward, of which others may still be to come."""


@dataclass(slots=True)
class Kept:
    """Living results of one line that no other result was computed from, or one that sums such results up."""

    place: Place
    tensors: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    graphs: int = 0

    @property
    def nbytes(self) -> int:
        """Of the nodes, with what they have saved and still hold."""
        return bytes_held(self.nodes)

    @property
    def cover_of(self) -> Callable[[Any], int]:
        """What :func:`find_holder` wants to know of each tensor."""
        return partial(_bits_of, {id(tensor): 1 << number for number, tensor in enumerate(self.tensors)})


def graphs_without_backward(iterations: _core.Iterations, began: int) -> Iterator[Kept]:
    """Lines that made many results since the watch ``began`` that live, and whose graphs no backward has freed.

    Results are numbers, as losses are, and other tensors whose graphs have no node in common, as predictions for one
    batch after another; outputs of a recurrence have the states in common. A running sum of such graphs counts as
    many as it has summands. What another result was computed from is not counted: the graph may be meant to be one.
    """
    found = sorted(with_history(), key=lambda one: -one[1]._sequence_nr())
    seen: set[Any] = set()
    lines: dict[Place, Kept] = {}
    for tensor, node in found:
        if node._sequence_nr() <= began or node in seen:
            continue
        below = [one for one in walk([node], seen) if not isinstance(one, _core.AccumulateGrad)]
        place = Place.of(node.made_at)
        if place is None or any(one.released for one in below):
            continue
        summands = _summands(node)
        if tensor.dim() == 0 or summands > 1 or _is_apart(below, seen):
            kept = lines.setdefault(place, Kept(place))
            kept.tensors.append(tensor)
            kept.nodes += below
            kept.graphs += summands
    fewest = FEWEST_AFTER_TRAINING if iterations.remembered else FEWEST
    yield from (kept for kept in lines.values() if kept.graphs >= fewest)


def _is_apart(below: list[Any], seen: set[Any]) -> bool:
    """Whether a graph, of which all nodes that were not seen before are `below`, has none that were."""
    own = set(below)
    return not any(
        child in seen and child not in own and not isinstance(child, _core.AccumulateGrad)
        for node in below
        for child, _ in node.next_functions
    )


def _summands(node: Any) -> int:
    """Of a running sum, `total = total + loss` in a loop: how many graphs one line has added up. Of others 1.

    What is added must not lead into the sum: `x = x + f(x)` is a recurrence, one graph.
    """
    site, count, rest = node.made_at, 1, node
    while (found := _sum_before(rest, site)) is not None:
        through, before = found
        others = [child for child, _ in rest.next_functions if child is not None and child != through]
        if count == 1 and (not _has_nodes(others) or before in walk(others)):
            return 1
        count, rest = count + 1, before
    return count


def _sum_before(node: Any, site: Any) -> tuple[Any, Any] | None:
    """The sum of the iteration before, which may be scaled in the same line, and what of this one leads to it."""
    if isinstance(node, _core.AccumulateGrad) or node.op not in ("add", "add_"):
        return None
    for through, _ in node.next_functions:
        below = through
        if _is_of_line(below, site) and below.op == "mul":
            below = next((one for one, _ in below.next_functions if one is not None), None)
        if _is_of_line(below, site) and below.op == node.op:
            return through, below
    return None


def _is_of_line(node: Any, site: Any) -> bool:
    made = None if node is None or isinstance(node, _core.AccumulateGrad) else node.made_at
    return made is not None and (made.file, made.line) == (site.file, site.line)


def _has_nodes(nodes: list[Any]) -> bool:
    return any(not isinstance(node, _core.AccumulateGrad) for node in nodes)


def _bits_of(bits: dict[int, int], tensor: Any) -> int:
    return bits[id(tensor)]
