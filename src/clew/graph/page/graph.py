"""The section of a page that shows a graph: its data as compressed columns, and its controls."""

from __future__ import annotations

import functools
import html
import string
from array import array
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..model.wording import counted
from ..pictures.groups import first_unfolded
from .charts import as_script, table
from .columns import packed

if TYPE_CHECKING:
    from ..pictures.picture import Picture

COSTS = ("parameters", "flops", "forward_ns", "backward_ns")
ROW_COLUMNS = ("kind", "title", "place", "shape", "nbytes", "module", *COSTS, "edge_from", "edge_to", "slot_end")
SLOT_COLUMNS = ("slot_name", "slot_shape", "slot_bytes", "slot_view_bytes", "slot_flags")
GROUP_COLUMNS = ("parent", "kind", "label", "first", "end")

# The state of what a node saved, or the kind of a box, and what it means.
_LEGEND = {
    "held": "held by graph",
    "packed": "packed by hooks",
    "freed": "freed by backward",
    "gone": "gone: node freed",
    "leaf": "leaf",
    "input": "input, no gradient",
    "result": "result",
}


def graphs_section(pictures: Mapping[str, Picture], numbers: Iterator[int]) -> str:
    """HTML: one of several graphs, the first of them at first, and a switch between them, if there are several."""
    names = list(pictures)
    sections = []
    for at, picture in enumerate(pictures.values()):
        options = "".join(
            f'<option value="{one}"{" selected" if one == at else ""}>{html.escape(name)}</option>'
            for one, name in enumerate(names)
        )
        switch = f'<label>Backward <select class="switch">{options}</select></label>' if len(names) > 1 else ""
        sections.append(_graph(picture, next(numbers), switch, hidden=at > 0))
    return "".join(sections)


def _graph(picture: Picture, number: int, switch: str, hidden: bool) -> str:
    """``number`` tells several graphs of one page apart."""
    hides = " hidden" if hidden else ""
    if picture.summary is not None:
        summary = picture.summary
        totals = f"{counted(summary.nodes, 'node')}: too many to be drawn. What they are, by line and operation:"
        return f'<div class="summary"{hides}>{switch}<p>{totals}</p>{table(*summary.table())}</div>'
    legend = "".join(f'<span class="chip {state}">{meaning}</span>' for state, meaning in _LEGEND.items())
    foldings = ("automatic", "modules", "functions", "loops", "nothing")
    options = "".join(f"<option>{folding}</option>" for folding in foldings)
    data = as_script(page_data(picture))
    return _asset().substitute(number=number, hides=hides, switch=switch, options=options, legend=legend, data=data)


@functools.cache
def _asset() -> string.Template:
    return string.Template((files(__package__) / "graph.html").read_text(encoding="utf-8"))


def page_data(picture: Picture) -> dict[str, Any]:
    """What the page knows of the graph. ``columns`` is one block of numbers; ``layout`` says where each column is."""
    columns, groups = picture.columns, picture.groups
    parts: list[tuple[str, Any]] = [(name, getattr(columns, name)) for name in ROW_COLUMNS + SLOT_COLUMNS]
    parts += [(f"group_{name}", getattr(groups, name)) for name in GROUP_COLUMNS]
    parts.append(("node_group", groups.node_group))
    for number, snapshot in enumerate(picture.snapshots):
        parts.append((f"slot_state_{number}", array("B", snapshot.slot_state)))
        parts.append((f"slot_fate_{number}", array("B", snapshot.slot_fate)))
        parts.append((f"gone_{number}", array("B", snapshot.gone)))
        parts.append((f"release_{number}", snapshot.release))
    return {
        **packed(parts),
        "text": columns.text.values,
        "places": [[place.short, place.function, place.full, place.source] for place in columns.places.values],
        "attributes": columns.attributes,
        "remarks": columns.remarks,
        "variables": columns.variables,
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
            {"label": one.label, "gradients": {row: repr(norm) for row, norm in (one.gradients | one.flow).items()}}
            for one in picture.snapshots
        ],
        "unfolded": first_unfolded(groups),
        "show_saved": picture.show_saved,
        "marks": picture.marks,
    }
