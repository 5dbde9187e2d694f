"""A look at all living graphs: the graphs of how many iterations do the tensors that one line made hold?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from ... import _core
from ..model.places import Place
from ..model.records import Release

MOST_NODES = 100_000  # a look at more stops there, with a lower bound; about 0.1 s
LEAF = (1 << 48) - 1  # the sequence number of AccumulateGrad nodes, which live as long as their parameter

# Note [What a node covers]
# For each node one integer says what can be reached from it: two marks, and above them two bits for each earlier
# iteration that has living nodes: whether there are some of them, and whether one of these is spent (a backward has
# freed what it had saved: to run it again would be an error). A node's integer is its own bits and its inputs', joined.
_LEAF = 1  # there is a leaf to which the backward that has just ended went
_PAST = 2  # there is a node of an earlier iteration that the backward that has just ended could reach
_MARKS = 2


@dataclass(slots=True)
class Line:
    """The living tensors with history that one line made, and the iterations whose graphs they hold.

    Note [Held for good or waiting]
    Not every graph that outlives its iteration is a leak: log-probabilities wait for the end of the episode while a
    critic trains at each step, and losses of many tasks for their sum. ``sure`` counts iterations for which there is no
    such excuse: their graph has been freed in part, and not just now; or the last backward went through it, kept it,
    and it reaches back into earlier iterations (a hidden state); or it leads to parameters that the last backward
    filled, and shares no older node with it. ``iterations`` counts all.
    """

    place: Place
    tensors: list[Any] = field(default_factory=list)
    first: int = LEAF  # the smallest sequence number: of two lines that hold the same the earlier one is the cause
    sure_cover: int = 0
    cover: int = 0
    sure: int = 0
    iterations: int = 0


class Look:
    """One look. It holds tensors and nodes, and must not be kept."""

    def __init__(self, iterations: _core.Iterations, roots: Sequence[Any], release: Release | None) -> None:
        """``roots`` and ``release`` are those of the backward that has just ended."""
        self._iterations = iterations
        self._kept = release is None
        self._bits: dict[int, int] = {}
        self._below: dict[Any, tuple[Any, ...]] = {}
        self._nodes: list[tuple[int, Any]] = []
        self._leaves: dict[Any, int] = {}
        self._reach(roots, MOST_NODES // 2)
        self._ran = set(self._below)
        if release is not None and release.kind == "grad":
            self._leaves.clear()  # it stops at its inputs, and says nothing about what lies below them
        self._leaves = dict.fromkeys(self._leaves, _LEAF)
        held = [(node._sequence_nr(), node, tensor) for tensor, node in with_history()]
        held.sort(key=itemgetter(0))
        self._reach([node for _, node, _ in held], MOST_NODES)
        self._nodes.sort(key=itemgetter(0))  # inputs come first: they were made first
        self._cover = self._propagate(())
        self.lines = self._lines(held)

    def _reach(self, roots: Iterable[Any], most: int) -> None:
        """Notes what can be reached, breadth first: where it must stop it has seen the end of every chain."""
        queue = deque(roots)
        while queue and len(self._below) < most:
            node = queue.popleft()
            if node in self._below:
                continue
            sequence = node._sequence_nr()
            if sequence == LEAF:
                self._leaves.setdefault(node, 0)
                continue
            below = tuple([child for child, _ in node.next_functions if child is not None])
            self._below[node] = below
            self._nodes.append((sequence, node))
            queue.extend(below)

    def _propagate(self, blocked: Iterable[Any]) -> dict[Any, int]:
        """What each node covers, see Note [What a node covers]; nothing is seen through those that are blocked."""
        latest, of, bits, ran, kept = self._iterations.latest, self._iterations.of, self._bits, self._ran, self._kept
        cover = self._leaves | dict.fromkeys(blocked, 0)
        for sequence, node in self._nodes:
            if node in cover:
                continue
            number = of(sequence)
            own = 0
            if number < latest:
                has_run = node in ran
                is_spent = node.released is not None and (kept or not has_run)
                own = (3 if is_spent else 1) << (2 * bits.setdefault(number, len(bits)) + _MARKS)
                if has_run:
                    own |= _PAST
            for below in self._below[node]:
                own |= cover.get(below, 0)
            cover[node] = own
        return cover

    def _lines(self, held: Iterable[tuple[int, Any, Any]]) -> dict[Place, Line]:
        lines: dict[Place, Line] = {}
        for sequence, node, tensor in held:
            cover = self._cover.get(node, 0)
            if not cover >> _MARKS:
                continue
            place = Place.of(node.made_at)
            if place is None:
                continue
            line = lines.get(place)
            if line is None:
                line = lines[place] = Line(place, first=sequence)
            line.tensors.append(tensor)
            held_iterations = self._iterations_in(cover)
            line.cover |= held_iterations
            is_futile = self._kept and node in self._ran if cover & _PAST else cover & _LEAF
            line.sure_cover |= held_iterations if is_futile else self._iterations_in(cover >> 1)
        for line in lines.values():
            line.sure = line.sure_cover.bit_count()
            line.iterations = line.cover.bit_count()
        return lines

    def _iterations_in(self, cover: int) -> int:
        """Every second bit, without the marks."""
        return cover >> _MARKS & ((1 << 2 * len(self._bits)) - 1) // 3

    def cover_of(self, tensor: Any) -> int:
        """The earlier iterations whose graphs a tensor holds, as bits."""
        return self._iterations_in(self._cover.get(tensor._held_node, 0))

    def without(self, line: Line) -> dict[Place, int]:
        """How many iterations the other lines would still hold if what ``line`` made had no history."""
        cover = self._propagate([tensor._held_node for tensor in line.tensors])
        counts = {}
        for other in self.lines.values():
            joined = 0
            for tensor in other.tensors:
                joined |= cover.get(tensor._held_node, 0)
            counts[other.place] = self._iterations_in(joined).bit_count()
        return counts

    def size_of(self, line: Line) -> tuple[int, int]:
        """Nodes of earlier iterations that a line's tensors hold, and the bytes of these with what they have saved."""
        earlier: list[Any] = []
        seen: set[Any] = set()
        stack = [tensor._held_node for tensor in line.tensors]
        while stack:
            node = stack.pop()
            if node in seen or node not in self._below:
                continue
            seen.add(node)
            stack.extend(self._below[node])
            if self._iterations.of(node._sequence_nr()) != self._iterations.latest:
                earlier.append(node)
        return len(earlier), bytes_held(earlier)


def with_history() -> list[tuple[Any, Any]]:
    """All living tensors that have a node, and the node."""
    return [(tensor, node) for tensor in _core.live_tensors() if (node := tensor._held_node) is not None]


def bytes_held(nodes: Iterable[Any]) -> int:
    """What nodes take, with what they have saved and still hold."""
    nbytes = 0
    storages: set[int] = set()
    for node in nodes:
        nbytes += node.nbytes
        for slot in node.saved:
            if slot.state == "held" and not slot.is_foreign and slot.storage not in storages:
                storages.add(slot.storage)
                nbytes += slot.nbytes
    return nbytes
