"""From nodes to records: what :func:`clew.explain` tells of each node that it shows, and the sums over all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..model.account import DROPPED, ELSEWHERE, fate_of
from ..model.kept import hidden_roots
from ..model.module_guess import modules_by_parameters
from ..model.places import Place, ReleaseRecord
from ..model.protocol import Node, Tensor
from ..model.records import Release, SavedSlot, Site
from ..model.wording import dtype_name
from ..program.names import Names
from .explanation import GroupRecord, LeafRecord, NodeRecord, SavedRecord, Totals
from .layout import lay_out

MOST_GROUPS = 12
_NAMES_TOLD = 4


def count(roots: Sequence[Tensor | Node], owners: Sequence[Tensor] | None = None) -> tuple[Totals, Owned]:
    """Sums over the whole graph, and whose memory it holds or has dropped.

    With ``owners`` it is also counted how much other living tensors' graphs hold of what no tensor has. The core does
    it, in seconds for ten million nodes.
    """
    return totals_of(_core.graph_totals(roots, hidden_roots(roots), owners))


@dataclass(frozen=True, slots=True)
class Owned:
    """Storages that are not the graph's alone, with their bytes."""

    shared: Mapping[int, int]  # held, and living tensors have them too: by the number of the storage
    dropped: Mapping[int, int]  # the nodes let go of them, and others had them: by identity


def totals_of(told: dict[str, Any]) -> tuple[Totals, Owned]:
    """The core's sums as a record."""
    owned = Owned(told.pop("shared"), told.pop("dropped"))
    releases = sorted((ReleaseRecord.of(release) for release in told.pop("releases")), key=lambda one: one.serial)
    return Totals(**told, shared_bytes=sum(owned.shared.values()), releases=releases), owned


def shortened(told: Iterable[str | None]) -> tuple[str, ...]:
    """Those of the names that are known, the shortest first, and how many more there are."""
    names = sorted({name for name in told if name is not None}, key=lambda name: (len(name), name))
    more = len(names) - _NAMES_TOLD
    return (*names[:_NAMES_TOLD], f"{more:,} more") if more > 1 else tuple(names)


def group(roots: Sequence[Tensor | Node]) -> tuple[GroupRecord, ...]:
    """The nodes by operation, line and shape, the most frequent first."""
    return groups_of(_core.graph_groups(roots))


def groups_of(told: Iterable[tuple[Any, ...]]) -> tuple[GroupRecord, ...]:
    """The core's groups as records, the most frequent first."""
    found = [
        GroupRecord(name, Place.of(site), shape, dtype_name(dtype), nodes, slots, nbytes)
        for name, _, site, shape, dtype, nodes, slots, nbytes in told
    ]
    return tuple(sorted(found, key=lambda one: -one.nodes)[:MOST_GROUPS])


def describe(
    nodes: Sequence[Any], known: Names, holders: Mapping[int, set[str]] | None = None
) -> tuple[NodeRecord, ...]:
    """A record for each of ``nodes``, which are in topological order, in the order in which they are printed.

    ``known`` has the names of leaves, by their ``id``; ``holders`` those of tensors, by the identity of their storage.
    """
    names = known.tensors
    modules = _modules(nodes, known)
    layout = lay_out(nodes)
    index = {node: number for number, node in enumerate(layout.order)}
    leaves = [leaf_of(node) for node in layout.order]
    owners: dict[tuple[str, int], str] = {}
    held_by = {identity: set(held) for identity, held in (holders or {}).items()}
    for number, leaf in enumerate(leaves, 1):
        if leaf is not None and leaf.key:
            owners |= dict.fromkeys(storage_keys(leaf.storage, leaf.identity), f"leaf #{number}")
            if leaf.identity and leaf.key in names:
                held_by.setdefault(leaf.identity, set()).add(names[leaf.key])
    records: list[NodeRecord] = []
    for number, node in enumerate(layout.order):
        above, leaf = layout.parent[node], leaves[number]
        edges = [below for below, _ in node.next_functions]
        released = node.released
        records.append(
            NodeRecord(
                name=node.title if isinstance(node, CopiedNode) else type(node).__name__,
                op=node.op,
                made_at=Place.of(node.made_at),
                outputs=_outputs(node),
                saved=tuple(_saved(slot, number, owners, held_by) for slot in node.saved),
                inputs=tuple(
                    None if below is None else index[below] for below in edges if below is None or below in index
                ),
                hidden_inputs=sum(below is not None and below not in index for below in edges),
                parent=None if above is None else index[above],
                released=None if released is None else ReleaseRecord.of(released),
                nbytes=node.nbytes,
                module=modules.get(node),
                leaf=None if leaf is None else LeafRecord(names.get(leaf.key), leaf.shape, leaf.dtype, not leaf.key),
            )
        )
    return tuple(records)


def _modules(nodes: Sequence[Any], known: Names) -> dict[Any, str]:
    """``model.3 · Linear`` for the nodes of which it is known."""

    def name_of(node: Any) -> str | None:
        leaf = leaf_of(node)
        return None if leaf is None else known.tensors.get(leaf.key)

    paths = modules_by_parameters([node for node in reversed(nodes) if leaf_of(node) is None], name_of)
    return {node: f"{path} · {known.modules[path]}" for node, path in paths.items() if path in known.modules}


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """The leaf of an ``AccumulateGrad`` node."""

    key: int  # its ``id``, in copies a number; 0 when it is gone
    storage: int
    identity: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class CopiedNode:
    """A node that may be gone, with all that :func:`describe` and a picture ask of it: see copied.py."""

    title: str
    op: str
    made_at: Site | None
    outputs: tuple[tuple[Any, Any], ...]
    saved: tuple[SavedSlot, ...]
    next_functions: tuple[tuple[CopiedNode | None, int], ...]
    released: Release | None
    nbytes: int
    leaf: LeafFacts | None
    sequence: int = 0
    forward_ns: int = 0
    backward_ns: int = 0

    def _sequence_nr(self) -> int:
        return self.sequence


def leaf_key(node: Any) -> int | None:
    """The key of its :class:`LeafFacts`; None for nodes that are no ``AccumulateGrad``."""
    if isinstance(node, CopiedNode):
        return None if node.leaf is None else node.leaf.key
    if not isinstance(node, _core.AccumulateGrad):
        return None
    return 0 if node.variable is None else id(node.variable)


def leaf_of(node: Any) -> LeafFacts | None:
    """None for nodes that are no ``AccumulateGrad``."""
    if isinstance(node, CopiedNode):
        return node.leaf
    if not isinstance(node, _core.AccumulateGrad):
        return None
    variable = node.variable
    if variable is not None:
        identity = _core.storage_identity(variable)
        return LeafFacts(
            id(variable), variable._storage_id, identity, tuple(variable.shape), dtype_name(variable.dtype)
        )
    ((shape, dtype),) = _outputs(node) or (((), ""),)
    return LeafFacts(0, 0, 0, shape, dtype)


StorageKey = tuple[str, int]


def storage_keys(storage: int, identity: int) -> list[StorageKey]:
    """By what a storage is known: its number while it is held, its identity if it has one."""
    return [(kind, number) for kind, number in (("storage", storage), ("identity", identity)) if number]


def _saved(
    slot: SavedSlot, number: int, owners: dict[tuple[str, int], str], held_by: Mapping[int, Iterable[str]]
) -> SavedRecord:
    keys = storage_keys(slot.storage, slot.identity)
    shared_with = next((owners[key] for key in keys if key in owners), None)
    for key in keys:
        owners.setdefault(key, f"{slot.name} of #{number + 1}")
    fate = fate_of(slot) if slot.state == "freed" else ""
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
        fate=fate,
        still_held_by=shortened(held_by.get(slot.identity, ())) if fate in (DROPPED, ELSEWHERE) else (),
    )


def _outputs(node: Node) -> tuple[tuple[tuple[int, ...], str], ...]:
    return tuple((tuple(shape), dtype_name(dtype)) for shape, dtype in node.outputs if shape is not None)
