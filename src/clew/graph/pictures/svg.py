"""A picture as SVG and PNG without a browser. The layout is igraph's, the PNG is resvg's; both come with ``[viz]``."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model.wording import bytes_text, counted
from .groups import KINDS, first_unfolded

if TYPE_CHECKING:
    from .picture import Picture, Row, SlotRow

MOST_BOXES = 120
MOST_LINES = 40  # of a summary
PAD, LINE, GAP, RANK_GAP, LETTER = 12, 17, 28, 46, 7.0
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


@dataclass(slots=True)
class Box:
    """What is drawn as one rectangle."""

    lines: list[str]
    state: str
    is_group: bool
    x: float = 0.0
    y: float = 0.0


def as_svg(picture: Picture) -> str:
    """The graph, folded until at most :data:`MOST_BOXES` boxes remain.

    Raises:
        ImportError: igraph is not installed.
    """
    if picture.summary is not None:
        return _summary(picture)
    boxes, edges = visible(picture)
    routes = _place(boxes, edges)
    width = _width(boxes)
    height = max(len(box.lines) for box in boxes) * LINE + 14
    right = max([box.x for box in boxes] + [x for route in routes for x, _ in route]) + width / 2 + GAP
    left = min([box.x for box in boxes] + [x for route in routes for x, _ in route]) - width / 2 - GAP
    bottom = max(box.y for box in boxes) + height / 2 + GAP
    top = -height / 2 - GAP
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right - left:.0f}" height="{bottom - top:.0f}" '
        f'viewBox="{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}" role="img" '
        f'aria-label="{html.escape(picture.title)}" font-family="DejaVu Sans, Liberation Sans, Arial, sans-serif">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" '
        'markerHeight="9" orient="auto"><path d="M0,0.5L8,4L0,7.5Z" fill="#8c959f"/></marker></defs>',
        f'<rect x="{left:.0f}" y="{top:.0f}" width="100%" height="100%" fill="#ffffff"/>',
    ]
    for (below, above), route in zip(edges, routes, strict=True):
        marks.append(_edge(boxes[below], boxes[above], route))
    marks += [_rectangle(box, width) for box in boxes]
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


def visible(picture: Picture) -> tuple[list[Box], list[tuple[int, int]]]:
    """The boxes that folding leaves, and the edges between them, each once."""
    groups = picture.groups
    unfolded = set(first_unfolded(groups, MOST_BOXES))
    folded_into: list[int] = []  # for each group: itself or the outermost folded group around it, -1 if none
    for group, parent in enumerate(groups.parent):
        outer = folded_into[parent] if group else -1
        folded_into.append(outer if outer >= 0 else -1 if group in unfolded else group)
    boxes: list[Box] = []
    box_of_group: dict[int, int] = {}
    members: list[list[Row]] = []
    box_of: list[int] = []
    for number, row in enumerate(picture.rows()):
        group = folded_into[groups.node_group[number]] if groups.node_group else -1
        if group < 0:
            box_of.append(len(boxes))
            boxes.append(Box(_lines(row, picture.show_saved), row.state, False))
            members.append([])
            continue
        if group not in box_of_group:
            box_of_group[group] = len(boxes)
            kind, label = KINDS[groups.kind[group]], picture.columns.text.values[groups.label[group]]
            boxes.append(Box([label if kind == "function" else f"{kind} {label}"], "plain", True))
            members.append([])
        box_of.append(box_of_group[group])
        members[box_of_group[group]].append(row)
    for box, rows in zip(boxes, members, strict=True):
        if rows:
            _sum_up(box, rows)
    edges = {
        (box_of[below], box_of[above]): None
        for below, above in zip(picture.columns.edge_from, picture.columns.edge_to, strict=True)
        if box_of[below] != box_of[above]
    }
    return boxes, list(edges)


def _sum_up(box: Box, rows: Sequence[Row]) -> None:
    operations = [row for row in rows if row.kind == "operation"]
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


def _lines(row: Row, show_saved: bool) -> list[str]:
    lines = [row.title, " · ".join(text for text in (row.place.short if row.place else "", row.shape) if text)]
    lines.append(row.attributes)
    if show_saved:
        lines += [f"{slot.name}: {slot.shape}, {bytes_text(slot.nbytes)} {slot.word}" for slot in row.saved]
    elif row.kind == "operation":
        told = _bytes_line([slot for slot in row.saved if slot.state == row.state])
        what = {"plain": "saved nothing", "packed": "packed", "gone": "gone"}
        lines.append(what.get(row.state) or told or ("shares memory" if row.saved else row.state))
    return [line if len(line) <= 48 else line[:47] + "…" for line in lines if line]


def _place(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> list[list[tuple[float, float]]]:
    """Give each box its place; the answer is, for each edge, the points that it passes."""
    try:
        import igraph  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError(
            "Picture.svg: expected igraph, which lays graphs out, but it is not installed; pip install 'clew[viz]', "
            "or use Picture.html, which needs nothing"
        ) from error
    row_height = max(len(box.lines) for box in boxes) * LINE + 14 + RANK_GAP
    width = _width(boxes) + GAP
    layers = _layers(len(boxes), edges)
    routes: list[list[tuple[float, float]]] = [[] for _ in edges]
    graph: Any = igraph.Graph(n=len(boxes), edges=list(edges), directed=True)
    graph.vs["box"], graph.es["edge"] = range(len(boxes)), range(len(edges))
    right = 0.0
    # One connected piece at a time, side by side: igraph 1.0.0 crashes when it gets several.
    for piece in graph.connected_components(mode="weak"):
        part = graph.induced_subgraph(piece)
        rows = [layers[box] for box in part.vs["box"]]
        lowest = min(rows)
        layout = part.layout_sugiyama(layers=[row - lowest for row in rows], hgap=width, vgap=row_height)
        routing = getattr(layout, "edge_routing", None) or [[] for _ in part.es]
        shift = right - min([x for x, _ in layout] + [point[0] for route in routing for point in route])
        for number, (x, y) in zip(part.vs["box"], layout, strict=False):
            boxes[number].x, boxes[number].y = x + shift, y
            right = max(right, x + shift + width)
        for number, route in zip(part.es["edge"], routing, strict=False):
            routes[number] = [(point[0] + shift, point[1]) for point in route]
    return routes


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each box: below all its inputs. What has no inputs stands right above its first user."""
    layers = [0] * count
    for below, above in sorted(edges, key=lambda edge: edge[1]):  # boxes come after their inputs
        layers[above] = max(layers[above], layers[below] + 1)
    first_user = [count] * count
    for below, above in edges:
        first_user[below] = min(first_user[below], layers[above])
    fed = {above for _, above in edges}
    return [
        layer if box in fed or first_user[box] == count else first_user[box] - 1 for box, layer in enumerate(layers)
    ]


def _width(boxes: Sequence[Box]) -> float:
    return max(max(len(line) for line in box.lines) for box in boxes) * LETTER + 2 * PAD + 8


def _edge(below: Box, above: Box, route: Sequence[tuple[float, float]]) -> str:
    start = (below.x, below.y + (len(below.lines) * LINE + 14) / 2)
    end = (above.x, above.y - (len(above.lines) * LINE + 14) / 2)
    points = [start, *route, end]
    text = f"M{start[0]:.1f},{start[1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        text += f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return f'<path d="{text}" fill="none" stroke="#8c959f" stroke-width="1.2" marker-end="url(#arrow)"/>'


def _rectangle(box: Box, width: float) -> str:
    fill, line = COLOURS[box.state]
    height = len(box.lines) * LINE + 14
    x, y = box.x - width / 2, box.y - height / 2
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
