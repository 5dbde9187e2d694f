"""The section of a page that shows a graph: its data as compressed columns, and its controls."""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, Any

from ..folding import first_unfolded
from ..text import counted
from .charts import as_script, table

if TYPE_CHECKING:
    from ..picture import Picture

ROW_COLUMNS = ("kind", "title", "place", "shape", "nbytes", "edge_from", "edge_to", "slot_end")
SLOT_COLUMNS = ("slot_name", "slot_shape", "slot_bytes", "slot_view_bytes", "slot_flags")
GROUP_COLUMNS = ("parent", "kind", "label", "first", "end")


def graph_section(picture: Picture, number: int) -> str:
    """HTML. ``number`` tells several graphs of one page apart."""
    if picture.summary is not None:
        summary = picture.summary
        totals = f"{counted(summary.nodes, 'node')}: too many to be drawn. What they are, by line and operation:"
        return f"<p>{totals}</p>{table(*summary.table())}"
    states = ("held", "packed", "freed", "gone", "leaf", "result")
    legend = "".join(f'<span class="chip {state}">{state}</span>' for state in states)
    foldings = ("automatic", "modules", "functions", "loops", "everything", "nothing")
    options = "".join(f"<option>{folding}</option>" for folding in foldings)
    return f"""<div class="graph">
<div class="toolbar" role="toolbar" aria-label="Graph">
<input type="search" class="search" placeholder="operation, line, shape, parameter" aria-label="Search the graph; Enter goes to the next match">
<span class="found" role="status"></span>
<label>Fold <select class="folding">{options}</select></label>
<label><input type="checkbox" class="saved"> saved tensors</label>
<span class="buttons"><button type="button" class="closer" aria-label="zoom in">+</button><button type="button" class="farther" aria-label="zoom out">−</button><button type="button" class="fit">whole graph</button></span>
<span class="legend" aria-label="colours">{legend}</span>
</div>
<svg class="canvas" tabindex="0" role="group" aria-label="Graph; arrow keys move, plus and minus zoom"><defs><marker id="arrow-{number}" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" markerHeight="9" orient="auto"><path d="M0,0.5L8,4L0,7.5Z"/></marker></defs><g class="scene"></g></svg>
<aside class="panel" aria-live="polite" aria-label="What is selected"></aside>
<div class="bottom"><label>Life of the graph <input type="range" class="life" min="0" step="1"></label><span class="moment"></span><span class="message" role="status"></span></div>
{as_script(page_data(picture))}</div>"""


def page_data(picture: Picture) -> dict[str, Any]:
    """What the page knows of the graph. ``columns`` is one block of numbers; ``layout`` says where each column is."""
    columns, groups = picture.columns, picture.groups
    parts: list[tuple[str, Any]] = [(name, getattr(columns, name)) for name in ROW_COLUMNS + SLOT_COLUMNS]
    parts += [(f"group_{name}", getattr(groups, name)) for name in GROUP_COLUMNS]
    parts.append(("node_group", groups.node_group))
    for number, snapshot in enumerate(picture.snapshots):
        parts.append((f"slot_state_{number}", array("B", snapshot.slot_state)))
        parts.append((f"gone_{number}", array("B", snapshot.gone)))
        parts.append((f"release_{number}", snapshot.release))
    layout, block = _pack(parts)
    return {
        "layout": layout,
        "columns": base64.b64encode(zlib.compress(block, 6)).decode("ascii"),
        "text": columns.text.values,
        "places": [[place.file, place.line, place.function, place.source] for place in columns.places.values],
        "attributes": columns.attributes,
        "remarks": columns.remarks,
        "releases": [
            {
                "call": release.call,
                "place": "" if release.place is None else str(release.place),
                "source": "" if release.place is None else release.place.source,
            }
            for release in picture.releases.values
        ],
        "snapshots": [
            # JSON has no infinity and no NaN, which are the norms one looks for: as text they survive.
            {"label": one.label, "gradients": {row: repr(norm) for row, norm in one.gradients.items()}}
            for one in picture.snapshots
        ],
        "unfolded": first_unfolded(groups),
        "show_saved": picture.show_saved,
    }


def _pack(parts: list[tuple[str, Any]]) -> tuple[list[tuple[str, str, int, int]], bytes]:
    layout, block = [], bytearray()
    for name, column in parts:
        block += bytes(-len(block) % 8)  # as a page's typed arrays want it
        layout.append((name, column.typecode, len(block), len(column)))
        if sys.byteorder == "big":
            column = array(column.typecode, column)
            column.byteswap()
        block += column.tobytes()
    return layout, bytes(block)
