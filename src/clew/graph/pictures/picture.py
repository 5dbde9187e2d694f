"""A drawn graph: what it shows, and the formats that it can be had in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.account import FATES
from ..model.notebook import page_html
from ..model.places import Place, ReleaseRecord
from ..model.wording import counted
from .columns import FOREIGN, OPERATION, SHARED, STATES, Columns, Snapshot, Table, take_snapshot
from .groups import Groups
from .summary import Summary

KINDS = ("operation", "leaf", "result", "input")


@dataclass(frozen=True, slots=True)
class SlotRow:
    """One saved tensor of a row."""

    name: str
    shape: str
    nbytes: int
    view_nbytes: int
    state: str
    is_shared: bool
    is_foreign: bool
    fate: str  # of its storage: one of FATES

    @property
    def word(self) -> str:
        """Its state for a reader."""
        return "dropped" if self.state == "freed" and self.fate in ("dropped", "elsewhere") else self.state


@dataclass(frozen=True, slots=True)
class Row:
    """One box of a picture: an operation, a leaf or a tensor that was drawn."""

    kind: str
    title: str
    variable: str  # of the user's, that holds the result of an operation
    shape: str
    place: Place | None
    inputs: tuple[int, ...]
    saved: tuple[SlotRow, ...]
    state: str  # "held", "packed", "freed", "gone", "plain" (saved nothing); "leaf", "result", "input"
    released: ReleaseRecord | None
    gradient_norm: float | None
    attributes: str
    remark: str
    module: str  # that made it: its path and class
    flops: float | None  # of the forward
    forward_ns: int  # 0: not measured
    backward_ns: int

    @property
    def heading(self) -> str:
        """Its title, and before it the variable that holds its result: ``h = TanhBackward0``."""
        return f"{self.variable} = {self.title}" if self.variable else self.title


class Picture:
    """A graph at one or several moments of its life, made by :func:`clew.graph.draw`, or a program's steps.

    It holds no part of the graph. ``html``, ``svg`` and ``dot`` are strings; ``png`` is bytes and needs the extra
    ``viz`` (``pip install 'clew[viz]'``). ``summary`` is None unless the graph was too large to be drawn.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> picture = clew.graph.draw(loss)
        >>> "MulBackward0" in picture.dot
        True
    """

    def __init__(
        self,
        columns: Columns | None = None,
        groups: Groups | None = None,
        *,
        summary: Summary | None = None,
        show_saved: bool = False,
        noun: str = "operation",
    ) -> None:
        self.columns = columns or Columns()
        self.groups = groups or Groups()
        self.summary = summary
        self.show_saved = show_saved
        self.noun = noun
        self.snapshots: list[Snapshot] = []
        self.releases = Table()
        self.marks: dict[int, str] = {}  # what is said beside some rows

    def __len__(self) -> int:
        """How many boxes there are when nothing is folded."""
        return len(self.columns)

    def __repr__(self) -> str:
        if self.summary is not None:
            return f"<clew.graph.Picture: summary of {self.summary.nodes:,} nodes>"
        moments = ", ".join(snapshot.label for snapshot in self.snapshots)
        return f"<clew.graph.Picture: {len(self):,} boxes; {moments}>"

    def snapshot(
        self, label: str = "", *, only_if_changed: bool = False, flow: Mapping[int, float] | None = None
    ) -> None:
        """Add the state that the graph is in now, for the slider of the page.

        ``label`` says which moment it is. ``flow`` has norms of gradients at rows that are no leaves.
        """
        if self.summary is not None:
            return
        now = take_snapshot(self.columns, label, self.releases)
        now.flow = dict(flow or {})
        if only_if_changed and not now.flow and self.snapshots and now.same_state(self.snapshots[-1]):
            return
        if not label:
            touched = any(release >= 0 for release in now.release)
            now.label = f"moment {len(self.snapshots) + 1}" if self.snapshots else ("now" if touched else "built")
        self.snapshots.append(now)

    def rows(self, moment: int = -1) -> Iterator[Row]:
        """All boxes, inputs before what uses them, in the state of a snapshot (the last one)."""
        columns, snapshot = self.columns, self.snapshots[moment]
        inputs: list[list[int]] = [[] for _ in range(len(columns))]
        for below, above in zip(columns.edge_from, columns.edge_to, strict=True):
            inputs[above].append(below)
        for row in range(len(columns)):
            saved = tuple(self._slot(number, snapshot) for number in columns.slots_of(row))
            release, place = snapshot.release[row], columns.place[row]
            yield Row(
                kind=KINDS[columns.kind[row]],
                title=columns.text.values[columns.title[row]],
                variable=columns.variables.get(row, ""),
                shape=columns.text.values[columns.shape[row]],
                place=None if place < 0 else columns.places.values[place],
                inputs=tuple(inputs[row]),
                saved=saved,
                state=self._state(row, saved, snapshot),
                released=None if release < 0 else self.releases.values[release],
                gradient_norm=snapshot.gradients.get(row, snapshot.flow.get(row)),
                attributes=columns.attributes.get(row, ""),
                remark=columns.remarks.get(row, ""),
                module=columns.text.values[columns.module[row]],
                flops=None if columns.flops[row] < 0 else columns.flops[row],
                forward_ns=int(columns.forward_ns[row]),
                backward_ns=int(columns.backward_ns[row]),
            )

    def _slot(self, number: int, snapshot: Snapshot) -> SlotRow:
        columns = self.columns
        flags = columns.slot_flags[number]
        return SlotRow(
            name=columns.text.values[columns.slot_name[number]],
            shape=columns.text.values[columns.slot_shape[number]],
            nbytes=int(columns.slot_bytes[number]),
            view_nbytes=int(columns.slot_view_bytes[number]),
            state=STATES[snapshot.slot_state[number]],
            is_shared=bool(flags & SHARED),
            is_foreign=bool(flags & FOREIGN),
            fate=FATES[snapshot.slot_fate[number]],
        )

    def _state(self, row: int, saved: tuple[SlotRow, ...], snapshot: Snapshot) -> str:
        if snapshot.gone[row]:
            return "gone"
        if self.columns.kind[row] != OPERATION:
            return KINDS[self.columns.kind[row]]
        found = {slot.state for slot in saved}
        for state in STATES:
            if state in found:
                return state
        return "freed" if snapshot.release[row] >= 0 else "plain"

    @property
    def title(self) -> str:
        """``graph of 12 operations``, or of a program: ``graph of 12 steps``."""
        if self.summary is not None:
            return f"summary of a graph of {self.summary.nodes:,} nodes"
        operations = sum(kind == OPERATION for kind in self.columns.kind)
        return f"graph of {counted(operations, self.noun)}"

    @property
    def html(self) -> str:
        """A page that needs no network: zoom, search, fold, click, and step through the snapshots."""
        from ..page import Page

        page = Page(self.title[0].upper() + self.title[1:])
        page.add_graph(self)
        return page.html

    @property
    def dot(self) -> str:
        """The graph in Graphviz's language, all of it, with a cluster for each module."""
        from .dot import as_dot

        return as_dot(self)

    @property
    def svg(self) -> str:
        """The graph, all of it up to 2,000 boxes, with a frame around each module."""
        from .svg import as_svg

        return as_svg(self)

    @property
    def png(self) -> bytes:
        """The picture of :attr:`svg`."""
        from .svg import as_png

        return as_png(self.svg)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, which needs nothing."""
        return page_html(self.html, svg=self.svg)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The page, and the SVG for what shows no pages, such as a PDF of the notebook."""
        svg = self.svg
        return {"text/plain": repr(self), "image/svg+xml": svg, "text/html": page_html(self.html, svg=svg)}

    def save(self, path: str | Path) -> Path:
        """Write the picture in the format of the suffix: ``.html``, ``.svg``, ``.png``, ``.dot`` or ``.gv``.

        Raises:
            ValueError: another suffix.
        """
        target = Path(path)
        formats = {".html": "html", ".htm": "html", ".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot"}
        kind = formats.get(target.suffix.lower())
        if kind is None:
            raise ValueError(
                f"Picture.save: expected a name that ends in one of {', '.join(formats)}, got {target.name!r}"
            )
        content: Any = getattr(self, kind)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content, encoding="utf-8")
        return target
