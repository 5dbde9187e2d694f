"""The optimizers that are alive: they tell the graph of themselves, the graph does not know their classes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

_alive: weakref.WeakSet[Any] = weakref.WeakSet()


def optimizer_is_here(optimizer: Any) -> None:
    """Called by each optimizer when it is made."""
    _alive.add(optimizer)


def state_tensors() -> Iterator[Any]:
    """What the optimizers keep for their parameters: momenta, averages, counts."""
    for optimizer in list(_alive):
        for state in list(getattr(optimizer, "state", {}).values()):
            values = state.values() if isinstance(state, dict) else ()
            yield from (value for value in values if hasattr(value, "_storage_id"))
