"""From nodes to records: what :func:`clew.explain` tells of each node that it shows, and the sums over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .explanation import GroupRecord, LeafRecord, NodeRecord, Place, ReleaseRecord, SavedRecord, Totals
from .kept import hidden_roots
from .layout import lay_out
from .protocol import Node, Tensor
from .records import SavedSlot

MOST_GROUPS = 12


def count(roots: Sequence[Tensor | Node], owners: Sequence[Tensor] | None = None) -> tuple[Totals, Mapping[int, int]]:
    """Sums over the whole graph, and the bytes of the storages that living tensors have too, by their number.

    With ``owners`` it is also counted how much other living tensors' graphs hold of what no tensor has. The core does
    it, in seconds for ten million nodes.
    """
    told = _core.graph_totals(roots, hidden_roots(roots), owners)
    shared: dict[int, int] = told.pop("shared")
    releases = sorted((ReleaseRecord.of(release) for release in told.pop("releases")), key=lambda one: one.serial)
    return Totals(**told, shared_bytes=sum(shared.values()), releases=releases), shared


def group(roots: Sequence[Tensor | Node]) -> tuple[GroupRecord, ...]:
    """The nodes by operation, line and shape, the most frequent first."""
    found = [
        GroupRecord(name, Place.of(site), shape, dtype_name(dtype), nodes, slots, nbytes)
        for name, _, site, shape, dtype, nodes, slots, nbytes in _core.graph_groups(roots)
    ]
    return tuple(sorted(found, key=lambda one: -one.nodes)[:MOST_GROUPS])


def describe(nodes: Sequence[Node], names: Mapping[int, str]) -> tuple[NodeRecord, ...]:
    """A record for each of ``nodes``, which are in topological order, in the order in which they are printed."""
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


def dtype_name(dtype: object) -> str:
    """``float32`` for ``clew.float32``, whose own text may be ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


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
        dtype=dtype_name(slot.dtype),
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
        return LeafRecord(names.get(id(variable)), tuple(variable.shape), dtype_name(variable.dtype), False)
    ((shape, dtype),) = _outputs(node) or (((), ""),)
    return LeafRecord(None, shape, dtype, True)


def _outputs(node: Node) -> tuple[tuple[tuple[int, ...], str], ...]:
    return tuple((tuple(shape), dtype_name(dtype)) for shape, dtype in node.outputs if shape is not None)


def _is_leaf_node(node: Node) -> bool:
    return node.name() == "AccumulateGrad"
