"""Units of a ReLU that are zero for every input that comes by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model.places import Place
from .finding import Finding

_FEWEST_PASSES = 5
_DEAD = 0.9  # of the units


class Relus:
    """Which units were ever active, by the line that made them and how many there are."""

    def __init__(self) -> None:
        self._active: dict[tuple[Place, int], Any] = {}
        self._passes: dict[tuple[Place, int], int] = {}

    def note(self, node: Any) -> None:
        """A ReLU's node, before its backward. Its units are the last axis."""
        place = Place.of(node.made_at)
        if place is None or node.released is not None or not node.saved or node.saved[0].state != "held":
            return
        result = node._saved_result.detach()
        if result.dim() < 2 or result.shape[0] < 2:
            return
        key = place, result.shape[-1]
        active = (result > 0).flatten(0, -2).any(dim=0)
        self._active[key] = active | self._active[key] if key in self._active else active
        self._passes[key] = self._passes.get(key, 0) + 1

    def findings(self) -> Iterator[Finding]:
        """Lines at which nearly all units are dead."""
        for (place, units), active in self._active.items():
            dead, passes = units - int(active.sum()), self._passes[place, units]
            if passes >= _FEWEST_PASSES and dead >= _DEAD * units:
                yield Finding(
                    "dead units",
                    place,
                    f"{dead} of {units} units of this ReLU were zero for every input of {passes} passes: no gradient "
                    "goes through them",
                    "lower the learning rate, look at the bias and the scale of the inputs, or use leaky_relu",
                )
