"""``clew.graph.snapshot``: a graph copied into columns of numbers, to be compared with one that is not there yet."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.subjects import parts, roots_of
from ..model.walk import walk
from ..model.wording import bytes_text, counted
from ..program.modules import module_label, module_of

Shape = tuple[int, ...]
NO_INPUT = -1  # an input without history


class Look(NamedTuple):
    """What a node is, without where it is in the graph."""

    name: str
    shapes: tuple[Shape | None, ...]  # of its outputs; None: not known


@dataclass(frozen=True, slots=True)
class Snapshot(Shown):
    """A graph's structure: operations, shapes, edges. It holds neither tensors nor nodes, so it may be kept.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> clew.graph.snapshot((x * x).sum())
        3 nodes, saved 7.8 KiB
    """

    looks: Sequence[Look] = field(default=(), repr=False)
    """Of each node, inputs before what uses them."""
    inputs: Sequence[tuple[int, ...]] = field(default=(), repr=False)
    """For each node, for each of its inputs: the number of the node that computed it, or -1."""
    outputs: Sequence[tuple[int, ...]] = field(default=(), repr=False)
    """Likewise: which of that node's outputs it is."""
    places: Sequence[Place | None] = field(default=(), repr=False)
    modules: Sequence[str] = field(default=(), repr=False)
    """The module that made each node, where :func:`record_modules` knows it."""
    bytes_saved: Sequence[int] = field(default=(), repr=False)
    leaves: Sequence[int] = field(default=(), repr=False)
    """Which tensor a node accumulates into; 0 for those that accumulate into none."""

    @property
    def nodes(self) -> int:
        """How many nodes the graph has, those of leaves included."""
        return len(self.looks)

    @property
    def saved_bytes(self) -> int:
        """Bytes of the elements that the nodes saved, each slot for itself, whether they are held or freed by now."""
        return sum(self.bytes_saved)

    def __str__(self) -> str:
        return f"{counted(self.nodes, 'node')}, saved {bytes_text(self.saved_bytes)}"

    __repr__ = __str__


def snapshot(x: Any) -> Snapshot:
    """Copy the structure of the graph of ``x``, to compare it with a later graph by :func:`diff`.

    Args:
        x: a tensor, a node, or a container of these.

    Raises:
        TypeError: there is no tensor or node in ``x``.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> clew.graph.snapshot((x * x).sum()).nodes
        3
    """
    if isinstance(x, Snapshot):
        return x
    found = parts(x)
    if not found:
        raise TypeError(
            f"snapshot: expected a tensor, a node or a container of them, got {type(x).__name__}; pass what the "
            "graph ends in, such as the loss"
        )
    nodes = walk(roots_of(found))[::-1]
    number = {node: at for at, node in enumerate(nodes)}
    label = functools.cache(module_label)
    known = functools.cache(lambda one: one)  # equal values once
    return Snapshot(
        looks=[known(Look(type(node).__name__, tuple(shape for shape, _ in node.outputs))) for node in nodes],
        inputs=[
            tuple(NO_INPUT if below is None else number[below] for below, _ in node.next_functions) for node in nodes
        ],
        outputs=[known(tuple(output for _, output in node.next_functions)) for node in nodes],
        places=[known(Place.of(node.made_at)) for node in nodes],
        modules=[label(module_of(node) or "") for node in nodes],
        bytes_saved=array("q", [sum(slot.view_nbytes for slot in node.saved) for node in nodes]),
        leaves=[_leaf(node) for node in nodes],
    )


def _leaf(node: Any) -> int:
    """The identity of a leaf's storage, which no other storage of the process ever has; 0: no leaf, or it is gone."""
    leaf = node.variable if isinstance(node, _core.AccumulateGrad) else None
    return 0 if leaf is None else _core.storage_identity(leaf)
