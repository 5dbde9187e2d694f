"""When the growth watch looks closer: rarely while nothing grows, and never for more than a few percent of the time."""

from __future__ import annotations

import sys
from time import perf_counter

_BLOCK = 4  # iterations; the fewest living nodes within a block are compared with those of the block before
_RISES = 2  # so many blocks in a row with more than the one before are a reason to look
_REGULARLY = 8  # iterations between two looks that have no reason
_SUSPICIOUS = 6  # from so many iterations on a line is followed up

# A look is taken only while all of them together took less than this share of the time since the start. The stronger
# the reason, the larger the share; the first few are free, so that short programs are looked at, too.
_FREE_LOOKS = 6
_SHARE_REGULAR = 0.01
_SHARE_RISING = 0.02
_SHARE_FOLLOW_UP = 0.04


class Schedule:
    """Decides after each iteration, from the number of living nodes alone, whether to look."""

    def __init__(self) -> None:
        self.iteration = 0
        self._started = perf_counter()
        self._spent = 0.0
        self.looks = 0
        self._last = 0
        self._follow_up = sys.maxsize
        self._low = self._low_before = sys.maxsize
        self._rises = 0

    def is_due(self, nodes_alive: int) -> bool:
        """Count an iteration, at whose end so many nodes are alive."""
        self.iteration += 1
        self._low = min(self._low, nodes_alive)
        if self.iteration % _BLOCK == 0:
            self._rises = self._rises + 1 if self._low > self._low_before else 0
            self._low_before, self._low = self._low, sys.maxsize
        since = self.iteration - self._last
        if self.iteration >= self._follow_up:
            return self._affords(_SHARE_FOLLOW_UP)
        if self._rises >= _RISES and since >= _BLOCK:
            return self._affords(_SHARE_RISING)
        return since >= _REGULARLY and self._affords(_SHARE_REGULAR)

    def looked(self, seconds: float, missing: int | None) -> None:
        """Note a look. ``missing``: how many more iterations the most suspicious line must hold until it is told."""
        if self.looks >= _FREE_LOOKS:
            self._spent += seconds
        self.looks += 1
        self._last = self.iteration
        self._follow_up = sys.maxsize if missing is None else self.iteration + max(1, missing)

    def _affords(self, share: float) -> bool:
        if self.looks < _FREE_LOOKS:
            return True
        return self._spent <= share * (perf_counter() - self._started)


def is_suspicious(iterations: int) -> bool:
    """Whether a line that holds the graphs of so many iterations is followed up."""
    return iterations >= _SUSPICIOUS
