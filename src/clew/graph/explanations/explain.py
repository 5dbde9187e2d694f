"""``clew.explain``: what a tensor's graph is made of, what it saved and what became of that."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from ... import _core
from ..model.places import Place
from ..model.protocol import Node, Tensor, is_node, is_tensor
from ..model.subjects import parts, roots_of
from ..model.walk import nearest, walk
from ..model.wording import counted, dtype_name
from ..program.frames import user_frames
from ..program.names import MOST_FOR_LEAVES, Names, names_of
from .describe import Owned, count, describe, group, shortened
from .explanation import Explanation, GroupRecord, Note, Totals
from .failures import notes_of, reason_of

LIMIT = 200  # nodes described when the caller does not say
_AROUND_A_FAILURE = 12


def explain(x: Any, *, limit: int | None = None, params: Mapping[str, Tensor] | None = None) -> Explanation:
    """Describe the graph that ends in ``x``.

    Each node has the operation, the line of your code that created it, and the shapes of its outputs. It has what the
    node saved, with shape, dtype and bytes, and its state: held by the graph, packed (stored by
    ``saved_tensors_hooks``), or freed and by which call. The totals follow: what is freed with ``x``, and what your
    variables keep alive, too. For a tensor without history the answer is the reason, and the line where the history was
    lost. The graph is only read.

    Args:
        x: a tensor, a node, a sequence, mapping, dataclass or other container of these, such as a module returns. Or an
            exception of the graph: the answer shows its node and the nodes below.
        limit: how many nodes are described, those nearest to ``x`` first; 200 by default, 12 for an exception. The
            totals count all nodes. Nodes that are left out are summed up by line. Nodes are numbered as they are
            printed; if all are printed, :func:`clew.graph.ledger` has the same numbers.
        params: names for leaves, such as ``dict(model.named_parameters())``. Other leaves get names from the variables
            of the calling functions.

    Returns:
        The answer as data. ``str`` and ``print`` give it as text, ``show()`` in color.

    Raises:
        TypeError: there is no tensor or node in ``x``.
        ValueError: ``limit`` is less than 1.

    Example:
        >>> x = clew.tensor([1.0, 2.0], requires_grad=True)
        >>> loss = (x * x).sum()
        >>> told = clew.explain(loss, params={"x": x})
        >>> [(node.name, len(node.saved)) for node in told.nodes]
        [('SumBackward0', 0), ('MulBackward0', 2), ('AccumulateGrad', 0)]
        >>> loss.backward()
        >>> {slot.state for node in clew.explain(loss).nodes for slot in node.saved}
        {'freed'}
    """
    if limit is not None and limit < 1:
        raise ValueError(f"explain: expected a limit of at least 1, got {limit}; pass how many nodes to describe")
    frames = user_frames(sys._getframe(1))
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    if isinstance(x, BaseException):
        return _explain_failure(x, limit or _AROUND_A_FAILURE, names, frames)
    limit = limit or LIMIT
    if is_node(x):
        return explain_nodes([x], f"the node {type(x).__name__}", limit=limit, names=names, frames=frames)
    if is_tensor(x):
        return _explain_tensor(x, limit, names, frames)
    found = parts(x)
    if not found:
        hint = "; call the module and explain its result" if hasattr(x, "named_parameters") else ""
        raise TypeError(
            f"explain: expected a tensor, a node, an exception or a container of tensors and nodes, got "
            f"{type(x).__name__}{hint}"
        )
    without = sum(is_tensor(item) and item.grad_fn is None for _, item in found)
    remark = f"{without} of them without history" if without else ""
    subject = f"{type(x).__name__} with {_contents(found)}"
    owners = [item for _, item in found if is_tensor(item)]
    return explain_nodes(roots_of(found), subject, remark, limit=limit, names=names, owners=owners, frames=frames)


def explain_nodes(
    roots: Sequence[Node],
    subject: str,
    remark: str = "",
    *,
    limit: int = LIMIT,
    names: Mapping[int, str] | None = None,
    owners: Sequence[Tensor] | None = None,
    frames: Iterable[FrameType] = (),
    notes: Sequence[Note] = (),
) -> Explanation:
    """Describe the graph below ``roots``.

    ``names`` maps the ``id`` of a leaf to what the user calls it; other names are searched in ``frames``. ``owners``
    are the tensors that hold the graph, to tell what goes with them.
    """
    no_groups: tuple[GroupRecord, ...] = ()
    totals, owned = count(roots, owners)
    if totals.nodes + totals.leaves <= limit:
        described, groups = walk(roots), no_groups
    else:
        chosen = set(nearest(roots, limit))
        described, groups = walk(roots, within=chosen), group(roots)
    known = Names(dict(names or {}), {})
    holders = _tell_names(totals, owned, described, known, owners or (), list(frames))
    return Explanation(subject, remark, describe(described, known, holders), totals, notes=tuple(notes), groups=groups)


def _contents(found: list[tuple[str, Tensor | Node]]) -> str:
    nodes = sum(is_node(item) for _, item in found)
    told = [counted(number, noun) for number, noun in ((len(found) - nodes, "tensor"), (nodes, "node")) if number]
    return " and ".join(told)


def _tell_names(
    totals: Totals,
    owned: Owned,
    described: Sequence[Any],
    known: Names,
    owners: Sequence[Tensor],
    frames: list[FrameType],
) -> Mapping[int, set[str]]:
    """Add what the user's variables are called: to ``known`` for leaves, to ``totals`` for who holds memory.

    Returns the names of those that have what nodes have dropped, by the identity of the storage.
    """
    if not frames:
        return {}
    shared, dropped = owned.shared, owned.dropped
    ends = [node for node in described if isinstance(node, _core.AccumulateGrad)]
    leaves = [node.variable for node in ends if node.variable is not None]
    sharing = [tensor for tensor in _core.live_tensors() if tensor._storage_id in shared] if shared else []
    holding = [t for t in _core.live_tensors() if _core.storage_identity(t) in dropped] if dropped else []
    searched = names_of([*leaves, *sharing, *holding, *owners], frames, MOST_FOR_LEAVES)
    found, names = searched.tensors, known.tensors
    known.modules.update(searched.modules)
    for leaf in leaves:
        if id(leaf) in found:
            names.setdefault(id(leaf), found[id(leaf)])
    totals.goes_with = _named(owners, found, names)
    totals.shared_with = _named(sharing, found, names)
    totals.still_held_by = _named(holding, found, names)
    holders: dict[int, set[str]] = {}
    for tensor in holding:
        if (name := names.get(id(tensor)) or found.get(id(tensor))) is not None:
            holders.setdefault(_core.storage_identity(tensor), set()).add(name)
    return holders


def _named(tensors: Sequence[Tensor], found: Mapping[int, str], given: Mapping[int, str]) -> tuple[str, ...]:
    return shortened(given.get(id(tensor)) or found.get(id(tensor)) for tensor in tensors)


def _explain_tensor(x: Tensor, limit: int, names: Mapping[int, str], frames: list[FrameType]) -> Explanation:
    subject = f"{dtype_name(x.dtype)} tensor of shape {tuple(x.shape)}"
    name = names.get(id(x))
    if name:
        subject = f"{name}: {subject}"
    node = x.grad_fn
    if node is not None:
        remark = f"result of {type(node).__name__}"
        return explain_nodes([node], subject, remark, limit=limit, names=names, owners=[x], frames=frames)
    if x.requires_grad:
        gradient = "has no gradient yet" if x.grad is None else f"holds a gradient of shape {tuple(x.grad.shape)}"
        return Explanation(
            subject, f"a leaf: you made it, no operation did. It requires a gradient and {gradient}", (), Totals()
        )
    lost = x._lost
    place = Place.of(lost.site) if lost is not None else None
    if lost is not None:
        remark = "no history: it was lost on the way"
    elif not (x.dtype.is_floating_point or x.dtype.is_complex):
        remark = f"no history: {dtype_name(x.dtype)} values have no gradient, only floating point values do"
    else:
        remark = "no history: no tensor that it was computed from requires a gradient; requires_grad_() makes it a leaf"
    return Explanation(subject, remark, (), Totals(), place, lost.cause if lost is not None else None)


def _explain_failure(
    error: BaseException, limit: int, names: Mapping[int, str], frames: list[FrameType]
) -> Explanation:
    reason = reason_of(error)
    subject = type(error).__name__ if reason is error else f"{type(error).__name__}, caused by {type(reason).__name__}"
    lines = str(reason).splitlines()
    message = lines[0] if lines else "without a message"
    notes = notes_of(reason, frames)
    node = getattr(reason, "node", None)
    if is_node(node):
        return explain_nodes([node], subject, message, limit=limit, names=names, frames=frames, notes=notes)
    return Explanation(subject, message, (), Totals(), notes=tuple(notes))
