"""The optimizers that are alive: they tell the graph of themselves, the graph does not know their classes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .frames import is_ours

# Each with the line that has made it: file, line and function.
_alive: weakref.WeakKeyDictionary[Any, tuple[str, int, str] | None] = weakref.WeakKeyDictionary()


def optimizer_is_here(optimizer: Any) -> None:
    """Called by each optimizer when it is made."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    _alive[optimizer] = frame and (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


def made_at(optimizer: Any) -> tuple[str, int, str] | None:
    """The user's line that has made an optimizer: file, line and function."""
    return _alive.get(optimizer)


def state_tensors() -> Iterator[Any]:
    """What the optimizers keep for their parameters: momenta, averages, counts."""
    for optimizer in list(_alive):
        for state in list(getattr(optimizer, "state", {}).values()):
            values = state.values() if isinstance(state, dict) else ()
            yield from (value for value in values if hasattr(value, "_storage_id"))
