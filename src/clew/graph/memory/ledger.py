"""``clew.graph.ledger``: what a graph holds, slot by slot, and who else does."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

from ... import _core
from ..explanations.layout import lay_out
from ..model.account import ELSEWHERE, FREED, RELEASED, settle, sums
from ..model.kept import KeptObject, hidden_roots, kept_objects
from ..model.places import Place, ReleaseRecord
from ..model.protocol import Node, Tensor
from ..model.records import SavedSlot
from ..model.subjects import parts
from ..model.walk import walk
from ..model.wording import dtype_name
from ..program.frames import user_frames
from ..program.names import names_of
from .ledger_records import Ledger, LedgerRecord, LedgerTotals

_MOST_NAMES = 8  # of one storage
_MOST_OBJECTS = 100_000  # looked at in the search for names


def ledger(x: Any = None) -> Ledger:
    """What the graph of ``x`` holds: one record for each tensor that a node saved.

    Args:
        x: a tensor, a node, or a sequence, mapping or other container of these. None: all graphs of tensors that are
            alive. The graph is only read.

    Returns:
        Records and totals. ``to_dict()``, ``to_json()`` and ``to_pandas()`` convert them. They include what the graph
        holds although backward does not go through it, such as the history of a view that was modified in place.

    Raises:
        TypeError: there is no tensor or node in ``x``.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x.exp() * x).sum()
        >>> told = clew.graph.ledger(loss)
        >>> [(record.name, record.slot, record.held_by) for record in told.records]
        [('MulBackward0', 'self', ()), ('MulBackward0', 'other', ('x',)), ('ExpBackward0', 'result', ())]
        >>> told.totals.graph_only_bytes, told.totals.shared_bytes
        (4000, 4000)
        >>> loss.backward()
        >>> {record.state for record in clew.graph.ledger(loss).records}
        {'freed'}
    """
    return make_ledger(_roots(x), user_frames(sys._getframe(1)))


def _roots(x: Any) -> list[Tensor | Node]:
    if x is None:
        return list(_core.live_tensors())
    found = [item for _, item in parts(x)]
    if not found:
        raise TypeError(
            f"ledger: expected a tensor, a node or a container of them, got {type(x).__name__}; "
            "ledger() without arguments reports all graphs that are alive"
        )
    return found


def make_ledger(roots: list[Tensor | Node], frames: Iterable[FrameType]) -> Ledger:
    """:func:`ledger` for those who have the roots and know whose variables to search for names."""
    roots = [*roots, *hidden_roots(roots)]
    kept: dict[Node, list[KeptObject]] = defaultdict(list)
    for one in kept_objects(roots):
        kept[one.node].append(one)
    nodes = _numbered(roots)
    # Unpacked for as long as this function runs, and no longer.
    living: dict[int, list[Any]] = defaultdict(list)
    for tensor in _core.live_tensors():
        living[tensor._storage_id].append(tensor)
    book = _Accounting(living)
    leaves = 0
    for number, node in enumerate(nodes, 1):
        leaves += isinstance(node, _core.AccumulateGrad)
        book.enter(number, node, kept.get(node, []))
    return book.close(len(nodes) - leaves, frames)


def _numbered(roots: Sequence[Tensor | Node]) -> list[Node]:
    """All nodes that are held: in the order of :func:`clew.explain`, then those that no backward goes through."""
    ends: list[Any] = [root._held_node if isinstance(root, _core.Tensor) else root for root in roots]
    shown = lay_out(walk(dict.fromkeys(node for node in ends if node is not None))).order
    return list(dict.fromkeys([*shown, *_core.graph_nodes(roots, True)]))


class _Accounting:
    """Collects the records; names are looked up once, in the end, for those tensors that matter."""

    def __init__(self, living: Mapping[int, list[Any]]) -> None:
        self.living = living
        self.by_identity: dict[int, list[Any]] = defaultdict(list)
        for tensors in living.values():
            self.by_identity[_core.storage_identity(tensors[0])] += tensors
        self.entries: list[tuple[int, Node, SavedSlot, KeptObject | None]] = []
        self.numbers: dict[int, int] = {0: 0}

    def enter(self, number: int, node: Node, kept: list[KeptObject]) -> None:
        packed = [one for one in kept if one.kind == "packed"]
        for slot in node.saved:
            # Slots and what hooks made of them come in one order.
            self.entries.append((number, node, slot, packed.pop(0) if slot.state == "packed" and packed else None))
        for one in kept:
            if one.kind == "workspace":
                self.entries.append((number, node, one.as_slot(), one))

    def close(self, nodes: int, frames: Iterable[FrameType]) -> Ledger:
        wanted = [tensor for _, _, slot, _ in self.entries for tensor in self._tensors(slot)]
        names = names_of(wanted, frames, _MOST_OBJECTS).tensors
        # What a hook packed or a Function keeps is no storage of the graph's.
        settled = iter(settle(slot for _, _, slot, kept in self.entries if kept is None))
        shares = [("", 0) if kept is not None else next(settled) for _, _, _, kept in self.entries]
        records = tuple(self._record(*entry, names, *share) for entry, share in zip(self.entries, shares, strict=True))
        totals = self._totals(nodes, records, sums(shares))
        return Ledger(records, totals)

    def _record(
        self,
        number: int,
        node: Node,
        slot: SavedSlot,
        kept: KeptObject | None,
        names: Mapping[int, str],
        fate: str,
        share: int,
    ) -> LedgerRecord:
        kind = "saved" if kept is None else kept.kind
        storage = slot.storage if kept is None else kept.storage
        released = node.released
        freed = ReleaseRecord.of(released) if slot.state == "freed" and released is not None else None
        return LedgerRecord(
            node=number,
            name=type(node).__name__,
            op=node.op,
            made_at=Place.of(node.made_at),
            slot=slot.name,
            kind=kind,
            shape=tuple(slot.shape),
            dtype=dtype_name(slot.dtype),
            view_bytes=slot.view_nbytes,
            storage_bytes=kept.nbytes if kept is not None else slot.nbytes if slot.state == "held" else 0,
            storage=self.numbers.setdefault(storage, len(self.numbers)),
            state=slot.state,
            freed_by=freed,
            is_foreign=slot.is_foreign if kept is None else kept.is_foreign,
            held_by=self._holders(self._tensors(slot) if kept is None else self.living.get(storage, ()), names),
            packed_as=kept.type_name if kept is not None and kept.kind == "packed" else None,
            freed_bytes=share if fate in FREED else 0,
            fate=fate if slot.state == "freed" else "",
        )

    def _tensors(self, slot: SavedSlot) -> Sequence[Any]:
        """Those that have the memory of a slot: also of one that was freed, if its storage is there still."""
        if slot.state == "freed":
            return self.by_identity.get(slot.identity, ()) if slot.identity else ()
        return self.living.get(slot.storage, ()) if slot.storage else ()

    def _holders(self, tensors: Sequence[Any], names: Mapping[int, str]) -> tuple[str, ...]:
        found = dict.fromkeys(names[id(tensor)] for tensor in tensors if id(tensor) in names)
        if not found and tensors:
            return ("a tensor without a name",)
        return tuple(list(found)[:_MOST_NAMES])

    def _totals(self, nodes: int, records: tuple[LedgerRecord, ...], account: Mapping[str, int]) -> LedgerTotals:
        sums = {"graph": 0, "shared": 0, "foreign": 0, "packed": 0, "workspace": 0}
        seen: set[tuple[str, int]] = set()
        states = {"held": 0, "packed": 0, "freed": 0}
        for record in records:
            if record.kind != "workspace":
                states[record.state] += 1
            if record.kind == "saved":
                kind = "foreign" if record.is_foreign else "shared" if record.held_by else "graph"
            else:
                kind = record.kind
            if record.storage and (kind, record.storage) in seen:
                continue
            seen.add((kind, record.storage))
            sums[kind] += record.storage_bytes
        return LedgerTotals(
            nodes=nodes,
            held=states["held"],
            packed=states["packed"],
            freed=states["freed"],
            graph_only_bytes=sums["graph"],
            shared_bytes=sums["shared"],
            foreign_bytes=sums["foreign"],
            packed_bytes=sums["packed"],
            workspace_bytes=sums["workspace"],
            freed_bytes=sum(account[fate] for fate in FREED),
            released_bytes=account[RELEASED],
            elsewhere_bytes=account[ELSEWHERE],
        )
