"""Which iteration of the user's loop made a node, from the number that every node carries."""

from __future__ import annotations

from bisect import bisect_left

_MOST_ENDS = 1 << 16


class Iterations:
    """Where each iteration ended, in the engine's count of events (nodes made, backwards run).

    What a month of iterations leaves is bounded: of old ends every second one is forgotten when there are too many, so
    that neighbours among long gone iterations count as one.
    """

    def __init__(self) -> None:
        self._ends: list[int] = []

    def end(self, serial: int) -> bool:
        """Note that one ended now. False if nothing was made since the last end: a graph was only run again."""
        if self._ends and serial <= self._ends[-1]:
            return False
        self._ends.append(serial)
        if len(self._ends) > _MOST_ENDS:
            del self._ends[: _MOST_ENDS // 2 : 2]
        return True

    @property
    def latest(self) -> int:
        """The number of the iteration that ended last."""
        return len(self._ends) - 1

    def of(self, sequence: int) -> int:
        """The number of the iteration in which the node with this sequence number was made."""
        return bisect_left(self._ends, sequence)
