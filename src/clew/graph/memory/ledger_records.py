"""What :func:`clew.graph.ledger` found, as data: one record for each tensor that a node saved, and sums."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from ..model.notebook import Shown
from ..model.places import Place, ReleaseRecord
from ..model.wording import bytes_text, counted, freed_text, freed_word

_MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class LedgerRecord(Shown):
    """One tensor that a node saved, or one object that it keeps instead or in addition.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> ledger = clew.graph.ledger(loss)
        >>> record = ledger.records[0]
        >>> record.name, record.slot, record.state, record.storage_bytes
        ('MulBackward0', 'self', 'held', 4000)
    """

    node: int
    """The node's number, from 1: the one that :func:`clew.explain` prints, if it shows the whole graph."""
    name: str
    op: str
    made_at: Place | None
    slot: str
    kind: str
    """``saved``, ``packed`` (a hook keeps an object instead) or ``workspace`` (an attribute of a Function's ctx)."""
    shape: tuple[int, ...]
    dtype: str
    view_bytes: int
    """Bytes of the elements that were saved."""
    storage_bytes: int
    """Bytes of the whole storage; 0 when the graph holds it no more."""
    storage: int
    """Equal numbers share memory; 0: not known."""
    state: str
    """``held``, ``packed`` or ``freed``."""
    freed_by: ReleaseRecord | None
    is_foreign: bool
    """Whether the memory is NumPy's or another library's: the allocator does not count it."""
    held_by: tuple[str, ...]
    """The living tensors that have the same memory, as the user calls them; empty: only the graph has it."""
    packed_as: str | None = None
    """The type of the object that a hook keeps."""
    freed_bytes: int = 0
    """Bytes of the storage that was let go, at the first record of those that shared it: the sum is the total's."""
    fate: str = ""
    """Of what was freed: ``released`` to the allocator; ``dropped``: something else had it; ``elsewhere``: a graph."""

    def row(self) -> dict[str, Any]:
        """The record without nesting: a row of a table."""
        made, freed = self.made_at, self.freed_by
        place = freed.place if freed is not None else None
        return {
            "node": self.node,
            "name": self.name,
            "op": self.op,
            "file": made.file if made else None,
            "line": made.line if made else None,
            "function": made.function if made else None,
            "slot": self.slot,
            "kind": self.kind,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "view_bytes": self.view_bytes,
            "storage_bytes": self.storage_bytes,
            "storage": self.storage,
            "state": self.state,
            "freed_by": freed.call if freed else None,
            "freed_at_file": place.file if place else None,
            "freed_at_line": place.line if place else None,
            "is_foreign": self.is_foreign,
            "held_by": list(self.held_by),
            "packed_as": self.packed_as,
            "freed_bytes": self.freed_bytes,
            "fate": self.fate,
        }


@dataclass(frozen=True, slots=True)
class LedgerTotals(Shown):
    """Sums in which each storage counts once, in bytes as requested of the allocator.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> ledger = clew.graph.ledger(loss)
        >>> ledger.totals.shared_bytes, ledger.totals.graph_only_bytes
        (4000, 0)
    """

    nodes: int
    held: int
    packed: int
    freed: int
    graph_only_bytes: int
    """Of storages that nodes hold and no living tensor has: the allocator's live bytes less those of living tensors,
    if all graphs that are alive were asked about."""
    shared_bytes: int
    """Of storages that nodes hold and living tensors have too."""
    foreign_bytes: int
    """Of memory that NumPy or another library owns. The allocator does not count it."""
    packed_bytes: int
    """Of arrays and tensors that hooks made instead of what was to be saved, as far as they tell their size."""
    workspace_bytes: int
    """Of arrays and tensors that a Function keeps as attributes of its ctx."""
    freed_bytes: int
    """Of storages that a backward made the nodes let go, if no node of these graphs holds them still."""
    released_bytes: int
    """Of these, what went back to the allocator with it; the rest was dropped only: something else had it too."""
    elsewhere_bytes: int
    """Of what was dropped only, what other graphs held."""


@dataclass(frozen=True, slots=True)
class Ledger(Shown):
    """The answer of :func:`ledger`. It holds neither tensors nor nodes.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> ledger = clew.graph.ledger(loss)
        >>> len(ledger.records), sorted(ledger.to_dict())
        (2, ['records', 'totals'])
    """

    records: tuple[LedgerRecord, ...]
    totals: LedgerTotals

    def to_dict(self) -> dict[str, Any]:
        """Totals and rows, of values that JSON has."""
        return {"totals": asdict(self.totals), "records": [record.row() for record in self.records]}

    def to_json(self, indent: int | None = None) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_pandas(self) -> Any:
        """A ``DataFrame`` with a row for each record.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError(
                "ledger.to_pandas: expected pandas, got no module of that name; install it with "
                "`pip install clew[viz]`, or use to_dict()"
            ) from None
        columns = list(LedgerRecord(0, "", "", None, "", "", (), "", 0, 0, 0, "", None, False, ()).row())
        return pandas.DataFrame([record.row() for record in self.records], columns=columns)

    def __str__(self) -> str:
        lines = [_line(record) for record in self.records[:_MOST_LINES]]
        if len(self.records) > _MOST_LINES:
            lines.append(f"… {len(self.records) - _MOST_LINES:,} more")
        return "\n".join([*lines, *(f"{name}: {value}" for name, value in self.summary())])

    def summary(self) -> list[tuple[str, str]]:
        """The totals for a reader, a line each; kinds that do not occur are left out."""
        totals = self.totals
        lines = [
            ("kept alive by the graph alone", bytes_text(totals.graph_only_bytes)),
            ("also kept alive by other tensors", bytes_text(totals.shared_bytes)),
        ]
        for name, count, size in (
            ("other libraries' memory", totals.foreign_bytes, totals.foreign_bytes),
            ("packed (stored by saved_tensors_hooks)", totals.packed, totals.packed_bytes),
            ("workspaces of Functions", totals.workspace_bytes, totals.workspace_bytes),
        ):
            if count:
                lines.append((name, bytes_text(size)))
        if totals.freed:
            freed = freed_text(totals.freed_bytes, totals.released_bytes, totals.elsewhere_bytes)
            lines.append(("freed", f"{counted(totals.freed, 'tensor')}, {freed}"))
        return lines


def _line(record: LedgerRecord) -> str:
    made = f" ({record.made_at.short})" if record.made_at else ""
    state = f"{freed_word(record.fate)} by {record.freed_by}" if record.freed_by else record.state
    owners = f", also kept alive by {', '.join(record.held_by)}" if record.held_by else ""
    size = bytes_text(record.storage_bytes or record.view_bytes)
    return f"#{record.node} {record.name}{made} {record.slot} {record.shape} {record.dtype}, {size}, {state}{owners}"
