"""``clew xray --precision``: the digits that the first steps of a script lose."""

from __future__ import annotations

from typing import Any

from ..graph.numerics.calls import Call, Watching, Where
from ..graph.numerics.precision import Gauge, Precision
from ..optim.optimizer import watchers

_STEPS = 2  # of optimizers: the second one runs on parameters that were updated
_MOST_OPERATIONS = 20_000


class Digits:
    """Runs each operation in float64, too, until the second step of an optimizer, or for 20,000 operations."""

    def __init__(self) -> None:
        self._gauge: Gauge | None = Gauge()
        self._watching: Watching | None = None
        self._steps = 0
        self.answer: Precision | None = None

    def start(self) -> None:
        """Begin to look."""
        self._watching = Watching(self._look)
        self._watching.start()
        watchers.append(self._after_step)

    def stop(self) -> None:
        """Look no more; no effect if that has happened, or nothing was looked at."""
        self._finish()
        if self._watching is not None:
            watchers.remove(self._after_step)
            self._watching.stop()
            self._watching = None

    def _look(self, call: Call, where: Where) -> None:
        if self._gauge is None:
            return call.run()
        self._gauge.shadows.look(call, where)
        if self._gauge.shadows.operations >= _MOST_OPERATIONS:
            self._finish()  # the watching ends where no call is under way
        return None

    def _after_step(self, optimizer: Any, before: int) -> None:
        self._steps += 1
        if self._steps >= _STEPS or self._gauge is None:
            self.stop()

    def _finish(self) -> None:
        if self._gauge is not None and self._watching is not None:
            self.answer, self._gauge = self._gauge.report(), None
