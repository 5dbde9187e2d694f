"""``clew.why_alive``: which of the user's names keep a tensor or a graph alive, and on which way."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import Node, Tensor, is_node, is_tensor
from ..model.wording import bytes_text, counted, dtype_name
from ..program.frames import scopes_of, user_frames
from ..program.names import own_names, results_of_cells, search

_MOST_LINES = 20
_MOST_ROUNDS = 4  # from names through graphs to what hooks hold, and on through the graphs of that


@dataclass(frozen=True, slots=True)
class Holder(Shown):
    """One path from a name to the tensor or node that was asked about.

    ``path`` is an expression that you can type, the shortest there is. If the path is direct, ``node``, ``made_at`` and
    ``slot`` are None. Otherwise the path goes through the graph of ``path``: ``node`` is a node of that graph that
    saved the tensor as ``slot``, or, without ``slot``, the node that was asked about. ``nbytes`` is the size of what is
    kept alive.

    Example:
        >>> x = clew.ones(3)
        >>> kept = {"first": x}
        >>> [holder.path for holder in clew.why_alive(x, {"kept": kept}).holders]
        ["kept['first']"]
    """

    path: str
    node: str | None = None
    made_at: Place | None = None
    slot: str | None = None
    nbytes: int = 0
    remark: str = ""

    def __str__(self) -> str:
        return self._text(self.path)

    def _text(self, path: str) -> str:
        if self.node is None:
            return path + self.remark
        where = f" ({self.made_at})" if self.made_at is not None else ""
        role = f"saved it as {self.slot!r}" if self.slot is not None else "is in its graph"
        return f"{path} → {self.node}{where}, which {role}"


@dataclass(frozen=True, slots=True)
class Holders(Shown):
    """The answer of :func:`why_alive`. It holds neither tensors nor nodes.

    ``holders`` keep the tensor or node alive. ``graph_holders``, for a tensor with a history, keep only the graph below
    it alive. ``result`` is the end of each path: ``tensor → SumBackward0 (train.py:52) → 34.0 MiB``.

    Example:
        >>> x = clew.ones(3)
        >>> holders = clew.why_alive(x, {"x": x})
        >>> [holder.path for holder in holders.holders]
        ['x']
    """

    subject: str
    holders: tuple[Holder, ...]
    graph_holders: tuple[Holder, ...] = ()
    result: str = ""

    def __str__(self) -> str:
        if not self.holders and not self.graph_holders:
            return f"{self.subject}: no variable of the calling functions or their modules references it"
        lines = []
        if self.holders:
            lines += [f"{self.subject} is kept alive by", *_lines(self.holders, self.result)]
        else:
            lines.append(f"{self.subject}: no variable of the calling functions or their modules references it")
        if self.graph_holders:
            lines += ["its graph is also kept alive by the graph of", *_lines(self.graph_holders, "")]
        return "\n".join(lines)

    __repr__ = __str__


def why_alive(x: Tensor | Node, scopes: Mapping[str, object] | None = None) -> Holders:
    """What keeps a tensor's memory, or a node of the graph, alive.

    It searches the variables of the calling functions and the globals of their modules. It follows containers,
    attributes, closures, generators and tracebacks. It also follows the hooks and contexts of the graphs that it finds.
    A tensor is kept alive by names, and by nodes that saved it. A node is kept alive by every tensor whose graph
    contains it.

    Args:
        x: a tensor or a node.
        scopes: names to search instead, such as ``vars(module)``.

    Raises:
        TypeError: ``x`` is neither a tensor nor a node.

    Example:
        >>> def program():
        ...     hidden = clew.ones(3, requires_grad=True) * 2
        ...     loss = (hidden * hidden).sum()
        ...     print(clew.why_alive(hidden))
        >>> program()  # doctest: +ELLIPSIS
        float32 tensor of shape (3,), 12 B is kept alive by
          hidden → tensor → MulBackward0 (...) → 8 B
          loss → MulBackward0 (...), which saved it as 'self'
          loss → MulBackward0 (...), which saved it as 'other'
    """
    if not (is_node(x) or is_tensor(x)):
        raise TypeError(f"why_alive: expected a tensor or a node, got {type(x).__name__}")
    searched = [scopes] if scopes is not None else scopes_of(user_frames(sys._getframe(1)))
    names = [*own_names(searched), *results_of_cells(searched)]
    found = _Search(x).run(names)
    return _of_node(x, found) if is_node(x) else _of_tensor(x, found)


class _Search:
    """All paths to the target, and one path to each tensor or node that may lead to it through its graph."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.storage = target._storage_id if is_tensor(target) else None
        self.direct: list[tuple[str, Any]] = []  # the target, or tensors with the same memory
        self.roots: list[tuple[str, Any]] = []
        self._met: set[int] = set()

    def run(self, starts: Sequence[tuple[str, object]]) -> _Search:
        """Search from names; then from what the nodes of the graphs that were found hold as Python objects."""
        for _ in range(_MOST_ROUNDS):
            before = len(self.roots)
            for path, value in search(starts, _is_part_of_graph, is_target=self._is_target):
                if self._is_target(value):
                    self.direct.append((path, value))
                if id(value) not in self._met:
                    self._met.add(id(value))
                    self.roots.append((path, value))
            new = self.roots[before:]
            if not new:
                break
            starts = _through_nodes(new)
        return self

    def _is_target(self, value: Any) -> bool:
        if value is self.target:
            return True
        return self.storage is not None and is_tensor(value) and value._storage_id == self.storage

    def through(self, target: Any) -> tuple[list[tuple[str, Node]], list[tuple[str, Node, str]]]:
        """Which of the roots lead to a node or storage in their graphs, and which slots hold it."""
        hits, slots = _core.graph_holders([root for _, root in self.roots], target)
        paths = [path for path, _ in self.roots]
        return [(paths[i], node) for i, node in hits], [(paths[i], node, slot) for i, node, slot in slots]


def _is_part_of_graph(value: object) -> bool:
    return isinstance(value, (_core.Tensor, _core.Node))


def _through_nodes(roots: Sequence[tuple[str, Any]]) -> list[tuple[str, object]]:
    """What nodes hold as Python objects, with paths from the roots."""
    things = _core.graph_python_things([root for _, root in roots])
    return [(f"{roots[i][0]} → {_place(node)} → {what}", value) for i, node, what, value in things]


def _of_tensor(x: Any, found: _Search) -> Holders:
    subject = f"{dtype_name(x.dtype)} tensor of shape {tuple(x.shape)}, {bytes_text(x._storage_nbytes)}"
    size = x._storage_nbytes
    direct = [
        Holder(path, nbytes=size, remark="" if tensor is x else ", which shares its memory")
        for path, tensor in found.direct
    ]
    hits, slots = found.through(x._storage_id)
    through = [Holder(path, type(node).__name__, Place.of(node.made_at), slot, size) for path, node, slot in slots]
    # Slots name the first root that leads to them; others keep them as well.
    told = {path for path, _, _ in slots}
    names = {node: slot for _, node, slot in slots}
    through += [
        Holder(path, type(node).__name__, Place.of(node.made_at), names.get(node), size)
        for path, node in hits
        if path not in told
    ]
    root = x.grad_fn
    if root is None:
        return Holders(subject, (*direct, *through))
    nbytes = _graph_bytes(root)
    keepers = {holder.path for holder in (*direct, *through)}
    graph = [
        Holder(path, type(root).__name__, Place.of(root.made_at), nbytes=nbytes)
        for path, _ in found.through(root)[0]
        if path not in keepers
    ]
    result = f" → tensor → {_place(root)} → {bytes_text(nbytes)}"
    return Holders(subject, (*direct, *through), tuple(graph), result)


def _of_node(x: Node, found: _Search) -> Holders:
    nbytes = _graph_bytes(x)
    direct = {path for path, _ in found.direct}
    own = {path for path, root in found.roots if is_tensor(root) and root.grad_fn is x}
    holders = [Holder(path, nbytes=nbytes) for path in direct]
    for path, _ in found.through(x)[0]:
        if path in own:
            holders.append(Holder(path, nbytes=nbytes))
        elif path not in direct:
            holders.append(Holder(path, type(x).__name__, Place.of(x.made_at), nbytes=nbytes))
    return Holders(type(x).__name__, tuple(holders), result=f" → {_place(x)} → {bytes_text(nbytes)}")


def _graph_bytes(root: Node) -> int:
    """Bytes of the storages that this graph holds, each once."""
    return int(_core.graph_totals([root], ())["held_bytes"])


def _place(node: Node) -> str:
    made_at = Place.of(node.made_at)
    return type(node).__name__ + (f" ({made_at.short})" if made_at is not None else "")


def _lines(holders: Sequence[Holder], result: str) -> list[str]:
    """A line each; the elements of one list that hold in the same way share one."""
    groups: dict[tuple[object, ...], list[Holder]] = {}
    for holder in holders:
        container = re.sub(r"\[\d+\]", "[]", holder.path)
        groups.setdefault((container, holder.node, holder.made_at, holder.slot, holder.remark), []).append(holder)
    lines = []
    for group in list(groups.values())[:_MOST_LINES]:
        first, last = group[0], group[-1]
        path = first.path if len(group) == 1 else f"{first.path} … {last.path} ({counted(len(group), 'tensor')})"
        lines.append("  " + first._text(path) + (result if first.node is None and not first.remark else ""))
    if len(groups) > _MOST_LINES:
        lines.append(f"  … {len(groups) - _MOST_LINES:,} more")
    return lines
