"""What `why()` of a compiled function says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graph.model.wording import counted

if TYPE_CHECKING:
    from .compiled import Compiled


@dataclass(frozen=True)
class _Variant:
    """One recorded call; times in nanoseconds."""

    steps: int
    loops: int
    in_loops: int
    """Of the steps, those of all iterations."""
    guards: int
    hits: int
    misses: int
    last_miss: str
    eager: int
    """The recorded call, without the time that was seen to go into recording it: no call as Python takes longer."""
    recording: int
    planning: int
    replay: int
    """The shortest of the first 16 replays; 0: there was none."""
    given: str
    """What chooses it: the arguments of the recorded call."""
    recorded_for: str
    """What it read that another variant of the kind had read otherwise."""

    def lines(self) -> list[str]:
        steps = counted(self.steps, "step")
        if self.loops:
            steps += f" ({self.in_loops:,} of them iterations of {counted(self.loops, 'loop')})"
        read = f"{steps}, {counted(self.guards, 'guard')} on Python values"
        counts = _counts(self.hits, self.misses)
        planned = f"planned in {_time(self.planning)}" if self.planning else "not planned yet"
        took = f"recorded in {_time(self.recording)}, {planned}"
        lines = [f"  variant: {read}; {counts}", f"    for the arguments {self.given}"]
        if self.recorded_for:
            lines.append(f"    recorded as the call {self.recorded_for}")
        lines.append(f"    {took}{self._gain()}")
        return [*lines, f"    last miss: it {self.last_miss}"] if self.last_miss else lines

    def _gain(self) -> str:
        """After how many hits replays have saved the time that recording took, at the earliest."""
        if not self.replay:
            return ""
        text = f"; a replay takes {_time(self.replay)}, a Python call at most {_time(self.eager)}"
        gain = self.eager - self.replay
        if gain <= 0:
            return f"{text}; recording does not pay off"
        calls = math.ceil((self.recording + self.planning) / gain)
        return f"{text}; pays off after {counted(calls, 'call')} at the earliest"


def report(function: Compiled, name: str) -> str:
    """Counts, variants, why calls ran as Python."""
    lines = [f"{name}: {_counts(function.hits, function.misses)}, {counted(function.variants, 'variant')}"]
    if function.variants:
        lines.append(f"  {function.bytes} bytes are kept; a guard is a Python value, compared before each replay")
    for one in function._describe():
        lines += _Variant(*one).lines()
    lines += [f"  {text}" for text in function.code]
    if function._checked:
        lines.append(f"  checked: {counted(function._checked, 'call')}, each step gave the bits of the function itself")
    lines += [f"  {'stays eager' if eager else 'ran eagerly'}: it {text}" for text, eager in function._reasons()]
    return "\n".join(lines)


def _counts(hits: int, misses: int) -> str:
    return f"{counted(hits, 'hit')}, {counted(misses, 'miss')}"


def _time(nanoseconds: int) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"
