"""``clew.graph.why_alive``: which of the user's names keep a tensor or a graph alive, and on which way."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .explanation import Place
from .frames import user_frames
from .names import find_tensors
from .protocol import Node, Tensor, is_node, is_tensor
from .text import bytes_text
from .walk import walk


@dataclass(frozen=True, slots=True)
class Holder:
    """One way from a name to what was asked about.

    ``path`` is what the user can type, the shortest there is. ``node``, ``made_at`` and ``slot`` are None when it leads
    there directly; else the graph of ``path`` does: a node of that graph saved the tensor as ``slot``, or, without
    ``slot``, is the node that was asked about.
    """

    path: str
    node: str | None = None
    made_at: Place | None = None
    slot: str | None = None

    def __str__(self) -> str:
        if self.node is None:
            return self.path
        where = f" ({self.made_at})" if self.made_at is not None else ""
        role = f"saved it as {self.slot!r}" if self.slot is not None else "is in its graph"
        return f"{self.path} → {self.node}{where}, which {role}"


@dataclass(frozen=True, slots=True)
class Holders:
    """The answer of :func:`why_alive`."""

    subject: str
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        if not self.holders:
            return f"{self.subject}: no name in the calling functions or their modules leads to it"
        return "\n".join([f"{self.subject} is kept alive by", *(f"  {holder}" for holder in self.holders)])


def why_alive(x: Tensor | Node, scopes: Mapping[str, object] | None = None) -> Holders:
    """Who keeps a tensor's memory, or a node of the graph, alive.

    Searched are the variables of the calling functions and their modules' globals, with all containers, attributes and
    closures that these lead to. A tensor is kept by names, and by nodes that saved it; a node by every tensor whose
    graph it is part of.

    Args:
        x: a tensor or a node.
        scopes: names to search instead, such as ``vars(module)``.

    Raises:
        TypeError: ``x`` is neither a tensor nor a node.

    >>> import clew
    >>> def program():
    ...     hidden = clew.ones(3, requires_grad=True) * 2
    ...     loss = (hidden * hidden).sum()
    ...     print(clew.graph.why_alive(hidden))
    >>> program()  # doctest: +ELLIPSIS
    float32 tensor of shape (3,), 12 B is kept alive by
      hidden
      loss → MulBackward0 (...), which saved it as 'self'
      loss → MulBackward0 (...), which saved it as 'other'
    """
    if scopes is None:
        frames = user_frames(sys._getframe(1))
        searched = [frame.f_locals for frame in frames] + [frame.f_globals for frame in frames]
    else:
        searched = [dict(scopes)]
    if is_node(x):
        return _of_node(x, searched)
    if is_tensor(x):
        return _of_tensor(x, searched)
    raise TypeError(f"why_alive: expected a tensor or a node, got {type(x).__name__}")


def _of_tensor(x: Any, scopes: Sequence[Mapping[str, object]]) -> Holders:
    storage = x._storage_id
    direct: list[Holder] = []
    through: list[Holder] = []
    seen: set[Node] = set()
    for path, tensor in find_tensors(scopes):
        if tensor is x:
            direct.append(Holder(path))
        elif tensor._storage_id == storage:
            direct.append(Holder(f"{path}, which shares its memory"))
        for node in _graph_of(tensor, seen):
            for slot in node.saved:
                if slot.state == "held" and slot.storage == storage:
                    through.append(Holder(path, node.name(), Place.of(node.made_at), slot.name))
    dtype = str(x.dtype).rpartition(".")[2]
    subject = f"{dtype} tensor of shape {tuple(x.shape)}, {bytes_text(x._storage_nbytes)}"
    return Holders(subject, (*direct, *through))


def _of_node(x: Node, scopes: Sequence[Mapping[str, object]]) -> Holders:
    holders = []
    for path, tensor in find_tensors(scopes):
        if tensor.grad_fn is x:
            holders.append(Holder(path))
        elif x in _graph_of(tensor, set()):
            holders.append(Holder(path, x.name(), Place.of(x.made_at)))
    return Holders(x.name(), tuple(holders))


def _graph_of(tensor: Any, seen: set[Node]) -> list[Node]:
    root = tensor.grad_fn
    return [] if root is None else walk([root], seen)
