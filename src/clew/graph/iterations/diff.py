"""``clew.graph.diff``: what changed from one graph to another, such as the next iteration's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import Node, Tensor
from ..model.wording import bytes_text, counted, source_text
from .alignment import Alignment
from .snapshot import Shape, Snapshot, snapshot


@dataclass(frozen=True, slots=True)
class Kind(Shown):
    """Nodes of one operation that one line made in one module.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> clew.graph.diff(x.exp(), x.exp().sin()).added[0].kind.name
        'SinBackward0'
    """

    name: str
    module: str
    """``layers.3 · Linear``; empty unless :func:`record_modules` was on."""
    made_at: Place | None

    def __str__(self) -> str:
        title = f"{self.module}: {self.name}" if self.module else self.name
        return f"{title} at {self.made_at}{source_text(self.made_at)}" if self.made_at else title


@dataclass(frozen=True, slots=True)
class KindCount(Shown):
    """How many nodes of one kind there are, with which shapes, and what they saved.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> clew.graph.diff(x.exp(), x.exp().sin()).added[0].after
        KindCount(nodes=1, saved_bytes=8, shapes={(2,): 1})
    """

    nodes: int
    saved_bytes: int
    shapes: Mapping[Shape | None, int]
    """How many nodes give a result of each shape; None: no shape is known."""


@dataclass(frozen=True, slots=True)
class Change(Shown):
    """A change of nodes of one kind: they are new, removed, or different.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> change = clew.graph.diff(x.exp().sum(), x.exp().sin().sum())
        >>> [(one.kind.name, one.nodes) for one in change.added]
        [('SinBackward0', 1)]
    """

    kind: Kind
    before: KindCount
    after: KindCount
    rewired: int = 0
    """How many of them take their inputs from other nodes than before."""

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
        return self.before.shapes != self.after.shapes

    def __str__(self) -> str:
        one = self.after if self.after.nodes else self.before
        told = [counted(one.nodes, "node")]
        if self.nodes:
            told.append(f"shape {_shapes(one)}" if _shapes(one) else "")
            told.append(f"saved {bytes_text(one.saved_bytes)}" if one.saved_bytes else "")
        else:
            told.append(f"shape {_shapes(self.before)} → {_shapes(one)}" if self.shapes_changed else "")
            sizes = f"{bytes_text(self.before.saved_bytes)} → {bytes_text(one.saved_bytes)}"
            told.append(f"saved {sizes}" if self.saved_bytes else "")
            told.append("inputs from other nodes" if self.rewired else "")
        return f"{self.kind}; {', '.join(filter(None, told))}"


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Shown):
    """The answer of :func:`diff`: nodes that are new, removed, or different. Equal nodes are left out.

    It is true if anything changed.

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
        if not self:
            return f"no change: {self.before}"
        lines = [f"{self.before} → {self.after}"]
        for sign, changes in (("+", self.added), ("-", self.removed), ("~", self.changed)):
            lines += [f"{sign} {change}" for change in changes]
        return "\n".join(lines)

    __repr__ = __str__


def diff(a: Tensor | Node | Snapshot | Any, b: Tensor | Node | Snapshot | Any) -> Diff:
    """What changed from the graph of ``a`` to that of ``b``: nodes, their shapes, inputs and bytes saved.

    Nodes are matched by structure: the operation, the leaves from which it is computed, and its neighbors. The position
    of a line and the order of independent lines make no difference. Time and memory are linear in the graphs, some ten
    microseconds a node.

    Args:
        a: a tensor, a node, a container of these, or a :func:`snapshot` of an earlier iteration, whose graph may have
            been freed.
        b: likewise. A freed graph compares equal to one that was not freed.

    Raises:
        TypeError: there is no tensor or node in one of them.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> def forward(layers):
        ...     h = x
        ...     for _ in range(layers):
        ...         h = h.tanh()
        ...     return h.sum()
        >>> change = clew.graph.diff(forward(1), forward(3))
        >>> [(one.kind.name, one.nodes, one.saved_bytes) for one in change.added]
        [('TanhBackward0', 2, 16)]
        >>> bool(clew.graph.diff(forward(2), forward(2)))
        False
    """
    before, after = snapshot(a), snapshot(b)
    found = Alignment(before, after)
    groups: dict[Kind, list[tuple[int, int]]] = {}
    for one, other in found.pairs:
        if _differ(before, one, after, other) or found.is_rewired(one, other):
            groups.setdefault(_kind(after, other), []).append((one, other))
    changed = [
        Change(
            kind,
            _count(before, [one for one, _ in pairs]),
            _count(after, [other for _, other in pairs]),
            sum(found.is_rewired(*pair) for pair in pairs),
        )
        for kind, pairs in groups.items()
    ]
    nothing = KindCount(0, 0, {})
    return Diff(
        tuple(Change(kind, nothing, count) for kind, count in _by_kind(after, found.added)),
        tuple(Change(kind, count, nothing) for kind, count in _by_kind(before, found.removed)),
        tuple(changed),
        before,
        after,
    )


def _differ(before: Snapshot, one: int, after: Snapshot, other: int) -> bool:
    return before.looks[one] != after.looks[other] or before.bytes_saved[one] != after.bytes_saved[other]


def _kind(graph: Snapshot, node: int) -> Kind:
    return Kind(graph.looks[node].name, graph.modules[node], graph.places[node])


def _by_kind(graph: Snapshot, nodes: Iterable[int]) -> list[tuple[Kind, KindCount]]:
    groups: dict[Kind, list[int]] = {}
    for node in nodes:
        groups.setdefault(_kind(graph, node), []).append(node)
    return [(kind, _count(graph, members)) for kind, members in groups.items()]


def _count(graph: Snapshot, nodes: list[int]) -> KindCount:
    shapes: dict[Shape | None, int] = {}
    for node in nodes:
        shape = next(iter(graph.looks[node].shapes), None)
        shapes[shape] = shapes.get(shape, 0) + 1
    return KindCount(len(nodes), sum(graph.bytes_saved[node] for node in nodes), shapes)


def _shapes(count: KindCount) -> str:
    return ", ".join(str(shape) for shape in count.shapes if shape is not None)
