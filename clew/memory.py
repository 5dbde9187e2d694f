"""What the tensors' memory comes to: the allocator's own counts."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class Stats(NamedTuple):
    """Counts of the caching allocator. Memory of NumPy or other libraries is not in them."""

    live: int
    """Bytes requested by storages that are alive."""
    cached: int
    """Bytes kept for reuse, held by no storage."""
    peak: int
    """The most bytes that were live at once since the start or the last `reset_peak()`."""
    allocations: int
    """How many blocks were handed out so far."""
    frees: int
    """How many blocks came back."""
    objects: int
    """Bytes of the tensors, nodes and records themselves, without the elements."""


def stats() -> Stats:
    """Count now.

    >>> import clew
    >>> before = clew.memory.stats().live
    >>> x = clew.zeros(1000)
    >>> clew.memory.stats().live - before
    4000
    """
    return Stats(**_core.memory_stats())


def reset_peak() -> None:
    """Let the peak begin again at what is live now.

    >>> import clew
    >>> clew.memory.reset_peak()
    >>> clew.memory.stats().peak == clew.memory.stats().live
    True
    """
    _core.reset_peak()


def empty_cache() -> None:
    """Give cached blocks back to the system.

    >>> import clew
    >>> clew.memory.empty_cache()
    >>> clew.memory.stats().cached
    0
    """
    _core.empty_cache()
