"""``clew.graph.diff``: what changed from one iteration's graph to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import Node, Tensor
from ..model.subjects import parts, roots_of
from ..model.wording import bytes_text, counted, source_text

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes of one operation that one line made."""

    name: str
    made_at: Place | None

    def __str__(self) -> str:
        return f"{self.name} at {self.made_at}{source_text(self.made_at)}" if self.made_at else self.name


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many nodes of one kind there are, with which shapes, and what they saved."""

    nodes: int
    saved_bytes: int
    shapes: Mapping[Shape | None, int]
    """How many nodes give a result of each shape; None: no shape is known."""


@dataclass(frozen=True, slots=True)
class Snapshot(Shown):
    """A graph counted by operation and line. It holds neither tensors nor nodes, so it may be kept.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> clew.graph.snapshot(loss).nodes
        3
    """

    kinds: Mapping[Kind, KindCount]

    @property
    def nodes(self) -> int:
        """How many nodes the graph has, those of leaves included."""
        return sum(count.nodes for count in self.kinds.values())

    @property
    def saved_bytes(self) -> int:
        """Bytes of the elements that the nodes saved, each slot for itself, whether they are held or freed by now."""
        return sum(count.saved_bytes for count in self.kinds.values())


def snapshot(x: Any) -> Snapshot:
    """Count the graph of ``x``, to compare it by :func:`diff` with one that is not there yet.

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
    groups: dict[Kind, list[tuple[Shape | None, int, int]]] = {}
    for name, _, site, shape, _, nodes, _, nbytes in _core.graph_groups(roots_of(found)):
        groups.setdefault(Kind(name, Place.of(site)), []).append((shape, nodes, nbytes))
    return Snapshot({kind: _counted(rows) for kind, rows in groups.items()})


def _counted(rows: list[tuple[Shape | None, int, int]]) -> KindCount:
    shapes: dict[Shape | None, int] = {}
    for shape, nodes, _ in rows:
        shapes[shape] = shapes.get(shape, 0) + nodes
    return KindCount(sum(nodes for _, nodes, _ in rows), sum(nbytes for _, _, nbytes in rows), shapes)


@dataclass(frozen=True, slots=True)
class Change(Shown):
    """What became of one kind of node.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> first = clew.graph.snapshot(x.exp().sum())
        >>> change = clew.graph.diff(first, x.exp().sin().sum())
        >>> [(one.kind.name, one.nodes) for one in change.added if one.kind.name == "SinBackward0"]
        [('SinBackward0', 1)]
    """

    kind: Kind
    before: KindCount
    after: KindCount

    @property
    def nodes(self) -> int:
        """How many more there are; negative: fewer."""
        return self.after.nodes - self.before.nodes

    @property
    def saved_bytes(self) -> int:
        """How much more they saved."""
        return self.after.saved_bytes - self.before.saved_bytes

    @property
    def shapes_changed(self) -> bool:
        """Whether results have other shapes than before."""
        return self.before.shapes.keys() != self.after.shapes.keys()

    def __str__(self) -> str:
        told = []
        if self.nodes:
            told.append(f"{self.nodes:+,} nodes: {self.before.nodes:,} → {self.after.nodes:,}")
        if self.shapes_changed and self.before.nodes and self.after.nodes:
            told.append(f"shape {_shapes(self.before)} → {_shapes(self.after)}")
        if self.saved_bytes:
            sizes = f"{bytes_text(self.before.saved_bytes)} → {bytes_text(self.after.saved_bytes)}"
            told.append(f"saved {sizes}")
        return f"{self.kind}; {', '.join(told)}"


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Shown):
    """The answer of :func:`diff`: kinds of nodes that are new, gone, or otherwise than before; the others are left out.

    Its truth value tells whether anything changed.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> first = clew.graph.snapshot(x.exp().sum())
        >>> change = clew.graph.diff(first, x.exp().sin().sum())
        >>> bool(change), bool(clew.graph.diff(first, first))
        (True, False)
    """

    added: tuple[Change, ...]
    removed: tuple[Change, ...]
    changed: tuple[Change, ...]
    before: Snapshot
    after: Snapshot

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        sizes = [
            f"{counted(one.nodes, 'node')}, saved {bytes_text(one.saved_bytes)}" for one in (self.before, self.after)
        ]
        if not self:
            return f"no change: {sizes[0]}"
        lines = [f"{sizes[0]} → {sizes[1]}"]
        for sign, changes in (("+", self.added), ("-", self.removed), ("~", self.changed)):
            lines += [f"{sign} {change}" for change in changes]
        return "\n".join(lines)

    __repr__ = __str__


def diff(a: Tensor | Node | Snapshot | Any, b: Tensor | Node | Snapshot | Any) -> Diff:
    """What changed from the graph of ``a`` to that of ``b``: nodes by operation and line, shapes, bytes saved.

    Args:
        a: a tensor, a node, a container of these, or a :func:`snapshot` of an earlier iteration, whose graph may be
            gone.
        b: likewise. A graph that was freed compares equal to one that was not.

    Raises:
        TypeError: there is no tensor or node in one of them.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> def forward(layers):
        ...     h = x
        ...     for _ in range(layers):
        ...         h = h.tanh()
        ...     return h.sum()
        >>> changed = clew.graph.diff(forward(1), forward(3))
        >>> [(change.kind.name, change.nodes, change.saved_bytes) for change in changed.changed]
        [('TanhBackward0', 2, 16)]
        >>> bool(clew.graph.diff(forward(2), forward(2)))
        False
    """
    before, after = snapshot(a), snapshot(b)
    nothing = KindCount(0, 0, {})
    added, removed, changed = [], [], []
    for kind in dict.fromkeys([*before.kinds, *after.kinds]):
        change = Change(kind, before.kinds.get(kind, nothing), after.kinds.get(kind, nothing))
        if not change.before.nodes:
            added.append(change)
        elif not change.after.nodes:
            removed.append(change)
        elif change.before != change.after:
            changed.append(change)
    return Diff(tuple(added), tuple(removed), tuple(changed), before, after)


def _shapes(count: KindCount) -> str:
    return ", ".join(str(shape) for shape in count.shapes if shape is not None)
