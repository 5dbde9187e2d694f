"""When the growth watch looks closer: rarely while nothing grows, and never for more than a few percent of the time."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter

_BLOCK = 4  # iterations; the fewest living nodes within a block are compared with those of the block before
_RISES = 2  # so many blocks in a row with more than the one before are a reason to look
_TIMES = 2  # after such a look only when there are this many times as many: the rise is known
_FORGET = 64  # iterations after which such a look is forgotten
_REGULARLY = 8  # iterations between two looks that have no reason
_MOST_FOR_ROUTINE = 20_000  # living nodes; a look at more has to have a reason
_SUSPICIOUS = 6  # from so many iterations on a line that holds more than at the last look is followed up


@dataclass(slots=True)
class _Reason:
    """A look is taken only while all of them together took less than ``share`` of the time since the start.

    The first few do not count, so that short programs are looked at, too.
    """

    share: float
    free: int


class Schedule:
    """Decides after each iteration, from the number of living nodes alone, whether to look."""

    def __init__(self) -> None:
        self.iteration = 0
        self.looks = 0
        self.seconds = 0.0
        self._started = perf_counter()
        self._counted = 0.0  # seconds, those of free looks left out
        self._last = 0
        self._follow_up = sys.maxsize
        self._low = self._low_before = sys.maxsize
        self._rises = 0
        self._explained = 0
        self._routine = _Reason(0.01, free=2)
        self._rising = _Reason(0.03, free=6)
        self._suspicion = _Reason(0.06, free=6)
        self._reason = self._routine

    def is_due(self, nodes_alive: int) -> bool:
        """Count an iteration, at whose end so many nodes are alive."""
        self.iteration += 1
        self._low = min(self._low, nodes_alive)
        if self.iteration % _BLOCK == 0:
            self._rises = self._rises + 1 if self._low > self._low_before else 0
            self._low_before, self._low = self._low, sys.maxsize
            if _TIMES * _TIMES * self._low_before < self._explained:  # what rose then is gone
                self._explained = 0
        since = self.iteration - self._last
        if self.iteration >= self._follow_up:
            self._reason = self._suspicion
        elif self._rises >= _RISES and since >= _BLOCK and (nodes_alive > self._explained or since >= _FORGET):
            self._reason = self._rising
        elif since >= _REGULARLY and nodes_alive <= _MOST_FOR_ROUTINE:
            self._reason = self._routine
        else:
            return False
        allowed = self._reason.share * (perf_counter() - self._started)
        return self._reason.free > 0 or self._counted <= allowed

    def looked(self, seconds: float, wait: int | None) -> None:
        """Note a look. ``wait``: in how many iterations to look again, because a line is suspicious."""
        self.looks += 1
        self.seconds += seconds
        if self._reason.free > 0:
            self._reason.free -= 1
        else:
            self._counted += seconds
        self._last = self.iteration
        self._follow_up = sys.maxsize if wait is None else self.iteration + wait
        if self._reason is self._rising:
            self._explained = _TIMES * self._low_before

    def wait(self, holds: int, held: int, most: int) -> int | None:
        """In how many iterations a line may hold ``most``, which ``held`` so many at the last look; None: not soon."""
        if holds < _SUSPICIOUS or holds <= held:
            return None
        missing = max(1, most - holds)
        if held < _SUSPICIOUS // 2:
            return missing  # too few to tell how fast it grows: perhaps by one each iteration
        # At most three times as long: what it held then may have been something else.
        slowness = min(3.0, (self.iteration - self._last) / (holds - held))
        return int(missing * max(1.0, slowness))
