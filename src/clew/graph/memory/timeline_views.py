"""A timeline of memory for a reader: as text, as a section of a page, as a trace of Chrome's."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

from ..model.wording import bytes_text, counted
from ..page import memory_section
from .timeline_records import Group

if TYPE_CHECKING:
    from .timeline import Timeline

_MOST_LINES = 20  # of the text


def as_trace(timeline: Timeline) -> dict[str, Any]:
    """Bytes over time in the format of Chrome's tracing and of Perfetto: counters, one a line, and the peak."""
    series = timeline.series()
    pid = os.getpid()
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": "clew: bytes of tensors"}},
        {"ph": "i", "pid": pid, "tid": 0, "s": "p", "ts": timeline.peak_seconds * 1e6,
         "name": f"peak: {bytes_text(timeline.peak)}"},
    ]  # fmt: skip
    rows = series.values.T.tolist()
    for second, row in zip(series.seconds.tolist(), rows, strict=True):
        events.append(
            {
                "ph": "C",
                "pid": pid,
                "tid": 0,
                "ts": second * 1e6,
                "name": "bytes",
                "args": dict(zip(series.labels, row, strict=True)),
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def as_section(timeline: Timeline, heading: str) -> str:
    """The chart and the table of a page, as HTML."""
    blocks = timeline.blocks
    numbers, groups = timeline.groups
    columns: dict[str, array[Any]] = {
        "size": array("d", blocks.size),
        "group": array("I", numbers),
        "taken_step": array("i", blocks.taken_step),
        "given_step": array("i", blocks.given_step),
        "taken_ns": array("d", blocks.taken_ns),
        "given_ns": array("d", blocks.given_ns),
    }
    return memory_section(columns, [_facts(group) for group in groups], heading)


def _facts(group: Group) -> dict[str, str]:
    place = group.place
    where = "from before" if group.is_earlier else str(place) if place else "no line of yours"
    return {
        "category": group.category,
        "module": group.module or "",
        "line": f"{where}{', backward' if group.phase == 'backward' else ''}",
        "source": place.source if place else "",
    }


def as_text(timeline: Timeline) -> str:
    """The peak, and the lines that held most then."""
    shares = timeline.at_peak()
    lines = [
        f"peak {bytes_text(timeline.peak)} after {timeline.peak_seconds * 1e3:.3f} ms; "
        f"{counted(timeline.allocations, 'allocation')}. Alive at the peak:"
    ]
    lines += [f"  {bytes_text(share.nbytes):>10}  {share.label}" for share in shares[:_MOST_LINES]]
    if len(shares) > _MOST_LINES:
        rest = sum(share.nbytes for share in shares[_MOST_LINES:])
        lines.append(f"  {bytes_text(rest):>10}  {counted(len(shares) - _MOST_LINES, 'other line')}")
    return "\n".join(lines)
