"""A timeline of memory for a reader: as text, as a section of a page, as a trace of Chrome's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..model.wording import bytes_text, counted
from ..page import bars, table

if TYPE_CHECKING:
    from .timeline import Timeline

_MOST_BARS, _MOST_COLOURS, _MOST_ROWS = 300, 7, 50  # of the page
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


def as_section(timeline: Timeline) -> str:
    """The chart and the table of a page, as HTML."""
    series = timeline.series(_MOST_COLOURS).binned(_MOST_BARS)
    named = dict(zip(series.labels, series.values.tolist(), strict=True))
    shown = {label: values for label, values in reversed(named.items()) if any(values)}
    times = [f"{second * 1e3:.3g} ms" for second in series.seconds.tolist()]
    rows = [(share.label, share.tensors, share.nbytes) for share in timeline.at_peak()[:_MOST_ROWS]]
    return (
        f"<h2>Bytes of tensors over time</h2>{bars(times, shown, label='Bytes of tensors over time')}"
        f"<h2>Alive at the peak: {bytes_text(timeline.peak)} after {timeline.peak_seconds * 1e3:.3f} ms</h2>"
        f"{table(('line of the forward', 'tensors', 'bytes'), rows)}"
    )


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
