"""``clew.explain``: what a tensor's graph is made of, what it saved and what became of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .explanation import Explanation, LeafRecord, NodeRecord, Place, ReleaseRecord, SavedRecord, Totals
from .layout import lay_out
from .protocol import Node, Tensor, is_node, is_tensor
from .records import SavedSlot
from .walk import nearest, walk

LIMIT = 200  # nodes described when the caller does not say


def explain(
    x: Tensor | Node | Sequence[Tensor | Node], *, limit: int = LIMIT, params: Mapping[str, Tensor] | None = None
) -> Explanation:
    """Describe the graph that ends in ``x``: a tensor, a node, or a sequence of these.

    For each node: the operation, the line of your code that made it, the shapes of its outputs, what it saved with
    shape, dtype and bytes, and whether that is held, packed by a hook, or freed and by which call. A tensor without
    history gets the reason, and the line where the history was lost.

    Args:
        x: what to explain. The graph is only read.
        limit: how many nodes are described, those nearest to ``x`` first. The totals count all.
        params: names for leaves, such as ``dict(model.named_parameters())``.

    Returns:
        The answer as data; ``str`` or ``print`` gives it as text.

    Raises:
        TypeError: ``x`` is neither a tensor nor a node.

    >>> import clew
    >>> x = clew.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> told = clew.explain(loss, params={"x": x})
    >>> [(node.name, len(node.saved)) for node in told.nodes]
    [('SumBackward0', 0), ('MulBackward0', 2), ('AccumulateGrad', 0)]
    >>> loss.backward()
    >>> {slot.state for node in clew.explain(loss).nodes for slot in node.saved}
    {'freed'}
    """
    if limit < 1:
        raise ValueError(f"explain: expected a limit of at least 1, got {limit}; pass how many nodes to describe")
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    if is_node(x):
        return explain_nodes([x], f"the node {x.name()}", limit=limit, names=names)
    if is_tensor(x):
        return _explain_tensor(x, limit, names)
    if isinstance(x, (list, tuple)) and x and all(is_node(item) or is_tensor(item) for item in x):
        roots = [item if is_node(item) else item.grad_fn for item in x]
        found = [root for root in roots if root is not None]
        without = len(roots) - len(found)
        remark = f"{without} of them without history" if without else ""
        return explain_nodes(found, f"{len(x)} tensors or nodes", remark, limit=limit, names=names)
    hint = "; call the module and explain its result" if hasattr(x, "named_parameters") else ""
    raise TypeError(f"explain: expected a tensor, a node or a sequence of them, got {type(x).__name__}{hint}")


def explain_nodes(
    roots: Sequence[Node], subject: str, remark: str = "", *, limit: int = LIMIT, names: Mapping[int, str] | None = None
) -> Explanation:
    """Describe the graph below ``roots``; ``names`` maps the ``id`` of a leaf to what the user calls it."""
    everything = walk(roots)
    totals = _count(everything)
    described = everything
    if len(everything) > limit:
        chosen = set(nearest(roots, limit))
        described = [node for node in everything if node in chosen]
    return Explanation(subject, remark, _describe(described, names or {}), totals)


def _explain_tensor(x: Tensor, limit: int, names: Mapping[int, str]) -> Explanation:
    subject = f"{_dtype_name(x.dtype)} tensor of shape {tuple(x.shape)}"
    name = names.get(id(x))
    if name:
        subject = f"{name}: {subject}"
    node = x.grad_fn
    if node is not None:
        return explain_nodes([node], subject, f"result of {node.name()}", limit=limit, names=names)
    if x.requires_grad:
        gradient = "has no gradient yet" if x.grad is None else f"holds a gradient of shape {tuple(x.grad.shape)}"
        return Explanation(
            subject, f"a leaf: you made it, no operation did. It requires a gradient and {gradient}", (), Totals()
        )
    lost = x._lost
    place = Place.of(lost.site) if lost is not None else None
    if lost is not None:
        remark = "no history, because it was lost on the way"
    elif not (x.dtype.is_floating_point or x.dtype.is_complex):
        remark = f"no history: {_dtype_name(x.dtype)} values have no gradient, only floating point values do"
    else:
        remark = (
            "no history: nothing that it was made from requires a gradient; requires_grad_() makes it a leaf that does"
        )
    return Explanation(subject, remark, (), Totals(), place, lost.cause if lost is not None else None)


def _count(nodes: Iterable[Node]) -> Totals:
    totals = Totals()
    storages: set[int] = set()
    releases: dict[int, ReleaseRecord] = {}
    for node in nodes:
        if _is_leaf_node(node):
            totals.leaves += 1
        else:
            totals.nodes += 1
        totals.node_bytes += node.nbytes
        released = node.released
        if released is not None and released.serial not in releases:
            releases[released.serial] = ReleaseRecord.of(released)
        for slot in node.saved:
            _count_slot(totals, slot, storages)
    totals.releases = list(releases.values())
    return totals


def _count_slot(totals: Totals, slot: SavedSlot, storages: set[int]) -> None:
    counted_before = slot.storage != 0 and slot.storage in storages
    storages.add(slot.storage)
    nbytes = 0 if counted_before else slot.nbytes
    if slot.state == "freed":
        totals.freed += 1
        totals.freed_bytes += nbytes
    elif slot.state == "packed":
        totals.packed += 1
    else:
        totals.held += 1
        if slot.is_foreign:
            totals.foreign_bytes += nbytes
        else:
            totals.held_bytes += nbytes


def _describe(nodes: Sequence[Node], names: Mapping[int, str]) -> tuple[NodeRecord, ...]:
    layout = lay_out(nodes)
    index = {node: number for number, node in enumerate(layout.order)}
    owners = _leaf_owners(layout.order)
    records: list[NodeRecord] = []
    for number, node in enumerate(layout.order):
        above = layout.parent[node]
        edges = [below for below, _ in node.next_functions]
        released = node.released
        records.append(
            NodeRecord(
                name=node.name(),
                op=node.op,
                made_at=Place.of(node.made_at),
                outputs=_outputs(node),
                saved=tuple(_saved(slot, number, owners) for slot in node.saved),
                inputs=tuple(
                    None if below is None else index[below] for below in edges if below is None or below in index
                ),
                hidden_inputs=sum(below is not None and below not in index for below in edges),
                parent=None if above is None else index[above],
                released=None if released is None else ReleaseRecord.of(released),
                nbytes=node.nbytes,
                leaf=_leaf(node, names) if _is_leaf_node(node) else None,
            )
        )
    return tuple(records)


def _leaf_owners(nodes: Sequence[Any]) -> dict[int, str]:
    """Memory that leaves hold anyway, whether or not the graph refers to it."""
    leaves = [(number, node.variable) for number, node in enumerate(nodes, 1) if _is_leaf_node(node)]
    return {variable._storage_id: f"leaf #{number}" for number, variable in leaves if variable is not None}


def _saved(slot: SavedSlot, number: int, owners: dict[int, str]) -> SavedRecord:
    shared_with = owners.get(slot.storage) if slot.storage else None
    owners.setdefault(slot.storage, f"{slot.name} of #{number + 1}")
    return SavedRecord(
        name=slot.name,
        shape=tuple(slot.shape),
        dtype=_dtype_name(slot.dtype),
        nbytes=slot.nbytes,
        view_nbytes=slot.view_nbytes,
        state=slot.state,
        storage=slot.storage,
        shared_with=shared_with,
        is_foreign=slot.is_foreign,
        version=slot.version,
        current_version=slot.current_version,
    )


def _leaf(node: Any, names: Mapping[int, str]) -> LeafRecord:
    variable = node.variable
    if variable is not None:
        return LeafRecord(names.get(id(variable)), tuple(variable.shape), _dtype_name(variable.dtype), False)
    ((shape, dtype),) = _outputs(node) or (((), ""),)
    return LeafRecord(None, shape, dtype, True)


def _outputs(node: Node) -> tuple[tuple[tuple[int, ...], str], ...]:
    return tuple((tuple(shape), _dtype_name(dtype)) for shape, dtype in node.outputs if shape is not None)


def _is_leaf_node(node: Node) -> bool:
    return node.name() == "AccumulateGrad"


def _dtype_name(dtype: object) -> str:
    """``float32`` for ``clew.float32``, whose own text may be ``torch.float32``."""
    return str(dtype).rpartition(".")[2]
