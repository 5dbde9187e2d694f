"""A graph that is too large to be drawn, in a table by line and operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.account import FREED, HELD, RELEASED, settle
from ..model.places import Place
from ..model.protocol import Node
from ..model.records import SavedSlot


@dataclass(slots=True)
class SummaryLine:
    """What one line of the program made by one operation. Bytes count a storage once, at its first holder.

    ``freed_bytes`` are those that nodes have let go, ``released_bytes`` what of them went back to the allocator.
    """

    place: Place | None
    name: str
    nodes: int = 0
    node_bytes: int = 0
    held: int = 0
    packed: int = 0
    freed: int = 0
    held_bytes: int = 0
    freed_bytes: int = 0
    released_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """All lines, those that hold most first."""

    nodes: int
    lines: tuple[SummaryLine, ...]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str | int, ...]]]:
        """Header and rows."""
        header = (
            "line",
            "source",
            "operation",
            "nodes",
            "saved",
            "held",
            "held bytes",
            "freed",
            "freed bytes",
            "of these to the allocator: bytes",
            "nodes' own bytes",
        )
        rows: list[tuple[str | int, ...]] = [
            (
                "" if line.place is None else str(line.place),
                "" if line.place is None else line.place.source,
                line.name,
                line.nodes,
                line.held + line.packed + line.freed,
                line.held,
                line.held_bytes,
                line.freed,
                line.freed_bytes,
                line.released_bytes,
                line.node_bytes,
            )
            for line in self.lines
        ]
        return header, rows


def summarise(nodes: Sequence[Node]) -> Summary:
    """Count ``nodes`` by line and operation."""
    lines: dict[tuple[str, str, int], SummaryLine] = {}
    slots: list[tuple[SummaryLine, SavedSlot]] = []
    for node in nodes:
        site = node.made_at
        key = (type(node).__name__, "", 0) if site is None else (type(node).__name__, site.file, site.line)
        line = lines.get(key)
        if line is None:
            line = lines[key] = SummaryLine(Place.of(site), type(node).__name__)
        line.nodes += 1
        line.node_bytes += node.nbytes
        for slot in node.saved:
            setattr(line, slot.state, getattr(line, slot.state) + 1)
            slots.append((line, slot))
    for (line, _), (fate, nbytes) in zip(slots, settle(slot for _, slot in slots), strict=True):
        if fate == HELD:
            line.held_bytes += nbytes
        elif fate in FREED:
            line.freed_bytes += nbytes
            line.released_bytes += nbytes if fate == RELEASED else 0
    ranked = sorted(lines.values(), key=lambda line: (-line.held_bytes, -line.freed_bytes, -line.nodes))
    return Summary(len(nodes), tuple(ranked))
