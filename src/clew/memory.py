"""What the tensors' memory comes to: the allocator's own counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _core

__all__ = [
    "Stats",
    "budget",
    "empty_cache",
    "reset_peak",
    "stats",
    "timeline",
]


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from .graph.memory.budget import Budget
    from .graph.memory.timeline import Timeline


class Stats(NamedTuple):
    """Counts of the caching allocator. Memory of NumPy or other libraries is not in them.

    Example:
        >>> x = clew.zeros(1000)
        >>> clew.memory.stats().live >= 4000
        True
    """

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
    pool: int
    """Bytes that are held for `objects`, those that are free included."""

    def _repr_html_(self) -> str:
        from .graph.model.notebook import fields_html

        return fields_html(self)


def stats() -> Stats:
    """The allocator's counts of bytes, now.

    Example:
        >>> before = clew.memory.stats().live
        >>> x = clew.zeros(1000)
        >>> clew.memory.stats().live - before
        4000
    """
    return Stats(**_core.memory_stats())


def reset_peak() -> None:
    """Set the peak to what is live now.

    Example:
        >>> clew.memory.reset_peak()
        >>> clew.memory.stats().peak == clew.memory.stats().live
        True
    """
    _core.reset_peak()


def empty_cache() -> None:
    """Return cached memory to the system: blocks of elements, and memory of freed nodes.

    Example:
        >>> clew.memory.empty_cache()
        >>> clew.memory.stats().cached
        0
    """
    _core.empty_cache()


def budget(size: int | str) -> Budget:
    """Limit the bytes that the graphs of a block save to `size`. Backward computes dropped values again.

    Put a whole training step into the block. While the step runs, values are dropped that are cheap to compute again
    for their size and were not used for long. Gradients have the same bits as without a budget.

    Args:
        size: bytes, or a text such as "64 MB" or "1.5 GiB".

    Raises:
        ValueError: `size` is not such a text, or not positive.
        BudgetError: the graph needs more, whatever is dropped. It is raised before the backward begins, or at the end
            of a block without one. Its `least` is the smallest size that works.
        NotImplementedError: the block is inside another one, `keep_graph()` or a transform.

    Example:
        >>> w = clew.ones(1000, requires_grad=True)
        >>> with clew.memory.budget("16 kB") as budget:
        ...     x = w
        ...     for _ in range(10):
        ...         x = x.sin()
        ...     x.sum().backward()
        >>> budget.report().peak <= 16_000
        True
        >>> budget.report().recomputed > 0
        True
    """
    from .graph.memory.budget import Budget

    return Budget(size)


def timeline() -> Timeline:
    """Record every allocation of tensor data: when it is alive, and which line of the forward caused it.

    Use it around a training step. Memory that a backward allocates is attributed to the line of the operation whose
    derivative allocated it. While it runs, the recording costs about a microsecond an allocation. Memory of NumPy or
    other libraries is not included.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> with clew.memory.timeline() as t:
        ...     (x.exp() * x).sum().backward()
        >>> sum(share.nbytes for share in t.at_peak()) == t.peak
        True
        >>> sorted({share.phase for share in t.at_peak()})
        ['backward', 'forward']
    """
    from .graph.memory.timeline import Timeline

    return Timeline()
