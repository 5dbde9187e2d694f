"""The optimizers that are alive: they tell the graph of themselves, the graph does not know their classes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .frames import user_frames

# Each with the line that has made it: file, line and function.
_alive: weakref.WeakKeyDictionary[Any, tuple[str, int, str] | None] = weakref.WeakKeyDictionary()


# Called with each optimizer that is made.
made_listeners: list[Callable[[Any], None]] = []


def optimizer_is_here(optimizer: Any) -> None:
    """Called by each optimizer when it is made."""
    callers = user_frames(sys._getframe(1))
    code = callers[0].f_code if callers else None
    _alive[optimizer] = code and (code.co_filename, callers[0].f_lineno, code.co_qualname)
    for listener in list(made_listeners):
        listener(optimizer)


def made_at(optimizer: Any) -> tuple[str, int, str] | None:
    """The user's line that has made an optimizer: file, line and function."""
    return _alive.get(optimizer)


def state_tensors() -> Iterator[Any]:
    """What the optimizers keep for their parameters: momenta, averages, counts."""
    for optimizer in list(_alive):
        for state in list(getattr(optimizer, "state", {}).values()):
            values = state.values() if isinstance(state, dict) else ()
            yield from (value for value in values if hasattr(value, "_storage_id"))
