"""Replays in the report of ``clew xray``: those that ran, and what could be one."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.model.wording import counted
from .recorder import Backward, Replays, Step

_MOST = 10
_MOST_LINES = 6
_ENOUGH_STEPS = 16
_MOSTLY = 0.9
_WORTH_IT = 0.8


def title_of(replays: Replays) -> str:
    """One line: who called what, how often, for how long."""
    each = _time(replays.nanoseconds / max(1, replays.calls))
    whole = _time(replays.nanoseconds)
    called = counted(replays.calls, "replay")
    return f"{replays.name} called from {replays.at}: {called}, {each} each, {whole} in all"


def steps_of(replays: Replays) -> str:
    """What the event opens to: the lines that its steps were recorded from."""
    ordered = sorted(replays.lines, key=lambda line: -line[1])
    shown = [f"{count:,} at {line}" for line, count in ordered[:_MOST_LINES]]
    if len(ordered) > _MOST_LINES:
        shown.append(f"{sum(count for _, count in ordered[_MOST_LINES:]):,} at other lines")
    return f"{counted(replays.steps, 'step')}: {', '.join(shown)}"


def lines(all_replays: Sequence[Replays]) -> list[str]:
    """The section's text."""
    ordered = sorted(all_replays, key=lambda one: -one.nanoseconds)
    text = [line for one in ordered[:_MOST] for line in (f"  {title_of(one)}", f"      {steps_of(one)}")]
    return [*text, f"  … {len(ordered) - _MOST:,} more lines"] if len(ordered) > _MOST else text


def hint(backward: Backward, typical: Step) -> str:
    """What the operations of a kept step would take, as it was measured; empty if nothing would be won."""
    iterations = backward.count - 1
    if not backward.kept or iterations < _ENOUGH_STEPS or backward.same < _MOSTLY * iterations:
        return ""
    if backward.kept > _WORTH_IT * typical.wall:
        return ""
    same = f"{backward.same:,} of {iterations:,} iterations run the same operations"
    kept, wall = _time(backward.kept), _time(typical.wall)
    return f"{same}; under clew.compile these would take {kept}, now the step takes {wall}"


def _time(nanoseconds: float) -> str:
    """In two digits or more."""
    unit, size = next((one for one in (("s", 1e9), ("ms", 1e6)) if nanoseconds >= one[1]), ("µs", 1e3))
    number = f"{nanoseconds / size:.2g}" if nanoseconds < 100 * size else f"{nanoseconds / size:.0f}"
    return f"{number} {unit}"
