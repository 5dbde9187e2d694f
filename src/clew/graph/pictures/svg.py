"""A picture as SVG and PNG without a browser: boxes, framed by module. PNG needs resvg, which comes with ``[viz]``."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..model.wording import bytes_text, counted
from .frames import Frame, Item, Line, frames_of, lay_out
from .groups import KINDS, Groups, first_unfolded

if TYPE_CHECKING:
    from .picture import Picture, Row, SlotRow

MOST_BOXES = 2000  # of which nothing is folded
MOST_LINES = 40  # of a summary
PAD, LINE, GAP, LETTER, BOLD_LETTER = 12, 17, 28, 7.0, 8.4
EDGE, FRAME = "#8c959f", "#d1d9e0"
COLOURS = {  # fill, line
    "held": ("#fff1cf", "#bf8700"),
    "packed": ("#f1e6ff", "#8250df"),
    "freed": ("#f3f4f6", "#9aa4af"),
    "gone": ("#fafafa", "#c8ced5"),
    "plain": ("#ffffff", "#a8b3be"),
    "leaf": ("#ddf4e4", "#1a7f37"),
    "result": ("#ddf0ff", "#0969da"),
    "input": ("#fdeef6", "#bf3989"),
}


@dataclass(slots=True, eq=False)
class Box(Item):
    """What is drawn as one rectangle."""

    lines: list[str] = field(default_factory=list)
    state: str = "plain"
    is_group: bool = False
    rows: list[Row] = field(default_factory=list)  # of a group

    def measure(self) -> None:
        """Set its size from its lines."""
        title, *others = map(len, self.lines)
        self.width = max([title * BOLD_LETTER, *(one * LETTER for one in others)]) + 2 * PAD
        self.height = len(self.lines) * LINE + 14.0


def as_svg(picture: Picture) -> str:
    """The graph, all of it unless it has more than :data:`MOST_BOXES` boxes; then it is folded as the page is."""
    if picture.summary is not None:
        return _summary(picture)
    root, boxes, edges = framed(picture)
    lay_out(root, edges)
    width, height = root.width + 2 * GAP, root.height + 2 * GAP
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-GAP} {-GAP} {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{html.escape(picture.title)}" font-family="DejaVu Sans, Liberation Sans, Arial, sans-serif">',
        f'<rect x="{-GAP}" y="{-GAP}" width="100%" height="100%" fill="#ffffff"/>',
    ]
    frames = [frame for frame in frames_of(root) if frame.caption]
    marks += [_outline(frame) for frame in frames]
    marks += _edges(root)
    marks += [_caption(frame) for frame in frames]
    marks += [_rectangle(box) for box in boxes]
    return "".join([*marks, "</svg>"])


def as_png(svg: str) -> bytes:
    """The same picture in pixels.

    Raises:
        ImportError: resvg_py is not installed.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(
            "Picture.png: expected resvg_py, which draws SVG, but it is not installed; pip install 'clew[viz]'"
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg))


def framed(picture: Picture) -> tuple[Frame, list[Box], list[tuple[Item, Item]]]:
    """The frames and boxes that folding leaves, and the edges between the boxes, each once."""
    if not len(picture):
        return Frame(), [], []
    groups, columns = picture.groups, picture.columns
    unfolded = set(range(len(groups)) if len(picture) <= MOST_BOXES else first_unfolded(groups, MOST_BOXES))
    items: dict[int, Item] = {0: Frame()}
    module = _modules(groups, [columns.text.values[label] for label in groups.label])

    def item_of(group: int) -> Item:
        path = []  # no recursion: a function that refers to itself is freed by the garbage collector only
        while group not in items:
            path.append(group)
            group = groups.parent[group]
        for inner in reversed(path):
            outer = items[groups.parent[inner]]
            kind, label = KINDS[groups.kind[inner]], columns.text.values[groups.label[inner]]
            items[inner] = outer if isinstance(outer, Box) else _group_item(kind, label, inner in unfolded)
            if isinstance(outer, Frame):
                outer.items.append(items[inner])
        return items[path[0] if path else group]

    box_of: list[Box] = []
    for number, row in enumerate(picture.rows()):
        group = groups.node_group[number] if groups.node_group else 0
        home = item_of(group)
        if isinstance(home, Frame):
            is_told = row.module in module[group : group + 1]
            box = Box(lines=_lines(row, picture.show_saved, "" if is_told else row.module), state=row.state)
            home.items.append(box)
            home = box
        assert isinstance(home, Box)
        home.rows.append(row)
        box_of.append(home)
    boxes = list(dict.fromkeys(box_of))
    for box in boxes:
        if box.is_group:
            _sum_up(box)
        box.measure()
    edges = dict.fromkeys(
        (box_of[below], box_of[above])
        for below, above in zip(columns.edge_from, columns.edge_to, strict=True)
        if box_of[below] is not box_of[above]
    )
    root = items[0]
    assert isinstance(root, Frame)
    return root, boxes, list(edges)


def _modules(groups: Groups, labels: Sequence[str]) -> list[str]:
    """For each group the innermost module that it is in, or is."""
    found: list[str] = []
    for kind, label, parent in zip(groups.kind, labels, groups.parent, strict=True):
        found.append(label if KINDS[kind] == "module" else found[parent] if found else "")
    return found


def _group_item(kind: str, label: str, is_unfolded: bool) -> Item:
    named = kind in ("module", "function")
    if not is_unfolded:
        return Box(lines=[label if named else f"{kind} {label}"], is_group=True)
    caption = label if named else f"loop {label}" if kind == "loop" else ""
    return Frame(caption=caption, width=len(caption) * LETTER + 2 * PAD if caption else 0)


def _sum_up(box: Box) -> None:
    operations = [row for row in box.rows if row.kind == "operation"]
    states = {row.state for row in operations}
    box.state = next((state for state in ("held", "packed", "freed", "gone") if state in states), "plain")
    box.lines.append(counted(len(operations), "operation"))
    told = _bytes_line([slot for row in operations for slot in row.saved if slot.state == box.state])
    if told:
        box.lines.append(told)


def _bytes_line(slots: Sequence[SlotRow]) -> str:
    """How much is held, freed or dropped: each storage once, at the first slot that has it."""
    sums: dict[str, int] = {}
    for slot in slots:
        if not slot.is_shared:
            sums[slot.word] = sums.get(slot.word, 0) + slot.nbytes
    return ", ".join(f"{bytes_text(nbytes)} {word}" for word, nbytes in sums.items())


def _lines(row: Row, show_saved: bool, module: str) -> list[str]:
    lines = [row.heading, module]
    lines.append(" · ".join(text for text in (row.place.short if row.place else "", row.shape) if text))
    lines.append(row.attributes)
    if show_saved:
        lines += [f"{slot.name}: {slot.shape}, {bytes_text(slot.nbytes)} {slot.word}" for slot in row.saved]
    elif row.kind == "operation":
        told = _bytes_line([slot for slot in row.saved if slot.state == row.state])
        what = {"plain": "saved nothing", "packed": "packed", "gone": "gone"}
        lines.append(what.get(row.state) or told or ("shares memory" if row.saved else row.state))
    return [line if len(line) <= 48 else line[:47] + "…" for line in lines if line]


def _outline(frame: Frame) -> str:
    return (
        f'<rect class="frame" x="{frame.x:.1f}" y="{frame.y:.1f}" width="{frame.width:.1f}" '
        f'height="{frame.height:.1f}" rx="9" fill="#0969da" fill-opacity="0.03" stroke="{FRAME}"/>'
    )


def _caption(frame: Frame) -> str:
    return (
        f'<text class="caption" x="{frame.x + PAD:.1f}" y="{frame.y + 16:.1f}" font-size="12" fill="#59636e" '
        f'stroke="#ffffff" stroke-width="4" paint-order="stroke">{html.escape(frame.caption)}</text>'
    )


def _edges(root: Frame) -> Iterator[str]:
    """For each box that others use one path with all its branches, and their arrows."""
    lines: dict[Item, list[tuple[Frame, Line]]] = {}
    for frame in frames_of(root):
        for line in frame.lines:
            lines.setdefault(line.source, []).append((frame, line))
    for pieces in lines.values():
        path = "".join(_curve(frame, line) for frame, line in pieces)
        heads = "".join(_arrow(frame, line) for frame, line in pieces if line.is_last)
        yield f'<path class="edge" d="{path}" fill="none" stroke="{EDGE}" stroke-width="1.2"/>'
        yield f'<path class="arrows" d="{heads}" fill="{EDGE}"/>'


def _curve(frame: Frame, line: Line) -> str:
    (x0, y0), (x1, y1) = ((x + frame.x, y + frame.y) for x, y in (line.start, line.end))
    top, bottom = (y + frame.y for y in line.turn)
    start, end = f"M{x0:.1f},{y0:.1f}V{top:.1f}", f"V{y1:.1f}"
    middle = (top + bottom) / 2
    return f"{start}C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{bottom:.1f}{end}"


def _arrow(frame: Frame, line: Line) -> str:
    x, y = line.end[0] + frame.x, line.end[1] + frame.y
    return f"M{x:.1f},{y:.1f}l-4,-8h8z"


def _rectangle(box: Box) -> str:
    fill, line = COLOURS[box.state]
    x, y, width, height = box.x, box.y, box.width, box.height
    dashes = ' stroke-dasharray="5 4"' if box.state in ("freed", "gone") else ""
    shape = f'width="{width:.1f}" height="{height}" rx="7" fill="{fill}" stroke="{line}" stroke-width="1.2"{dashes}'
    behind = f'<rect x="{x + 5:.1f}" y="{y + 5:.1f}" {shape}/>' if box.is_group else ""
    ink = "#8c959f" if box.state == "gone" else "#59636e" if box.state == "freed" else "#1f2328"
    texts = "".join(
        f'<text x="{x + PAD + 4:.1f}" y="{y + 19 + at * LINE:.1f}" font-size="{12 if at else 13}" '
        f'font-weight="{400 if at else 600}" fill="{"#59636e" if at else ink}">{html.escape(text)}</text>'
        for at, text in enumerate(box.lines)
    )
    return (
        f'<g class="{box.state}">{behind}<rect x="{x:.1f}" y="{y:.1f}" {shape}/>'
        f'<rect x="{x + 5:.1f}" y="{y + 6:.1f}" width="5" height="{height - 12}" rx="2.5" fill="{line}"/>{texts}</g>'
    )


def _summary(picture: Picture) -> str:
    assert picture.summary is not None
    lines = [picture.title, ""]
    for line in picture.summary.lines[:MOST_LINES]:
        held = f", {bytes_text(line.held_bytes)} held" if line.held else ""
        freed = f", {bytes_text(line.freed_bytes)} freed" if line.freed else ""
        lines.append(f"{line.place or ''}  {line.name} x {line.nodes:,}{held}{freed}")
    if len(picture.summary.lines) > MOST_LINES:
        lines.append(f"… {len(picture.summary.lines) - MOST_LINES:,} more lines")
    width = max(map(len, lines)) * LETTER + 2 * GAP
    texts = "".join(
        f'<text x="{GAP}" y="{GAP + 14 + at * 20}" font-size="13">{html.escape(line)}</text>'
        for at, line in enumerate(lines)
    )
    height = len(lines) * 20 + 2 * GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" fill="#1f2328" '
        f'font-family="DejaVu Sans, Liberation Sans, Arial, sans-serif"><rect width="100%" height="100%" '
        f'fill="#ffffff"/>{texts}</svg>'
    )
