"""A graph that is too large to be drawn, in a table by line and operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .explanation import Place
from .protocol import Node


@dataclass(slots=True)
class SummaryLine:
    """What one line of the program made by one operation. Bytes count a storage once, at its first holder."""

    place: Place | None
    name: str
    nodes: int = 0
    node_bytes: int = 0
    held: int = 0
    packed: int = 0
    freed: int = 0
    held_bytes: int = 0
    freed_bytes: int = 0


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
                line.node_bytes,
            )
            for line in self.lines
        ]
        return header, rows


def summarise(nodes: Sequence[Node]) -> Summary:
    """Count ``nodes`` by line and operation."""
    lines: dict[tuple[str, str, int], SummaryLine] = {}
    storages: set[int] = set()
    for node in nodes:
        site = node.made_at
        key = (node.name(), "", 0) if site is None else (node.name(), site.file, site.line)
        line = lines.get(key)
        if line is None:
            line = lines[key] = SummaryLine(Place.of(site), node.name())
        line.nodes += 1
        line.node_bytes += node.nbytes
        for slot in node.saved:
            is_new = slot.storage == 0 or slot.storage not in storages
            if slot.storage:
                storages.add(slot.storage)
            setattr(line, slot.state, getattr(line, slot.state) + 1)
            if is_new and slot.state == "held":
                line.held_bytes += slot.nbytes
            elif is_new and slot.state == "freed":
                line.freed_bytes += slot.nbytes
    ranked = sorted(lines.values(), key=lambda line: (-line.held_bytes, -line.freed_bytes, -line.nodes))
    return Summary(len(nodes), tuple(ranked))
