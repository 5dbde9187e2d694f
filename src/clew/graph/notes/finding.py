"""One finding of :class:`~clew.graph.notes.observer.Observer`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.notebook import Shown
from ..model.places import Place
from ..model.wording import names_text

_MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class Finding(Shown):
    """What raises no error but is usually a bug. ``str`` gives ``train.py:12: what was found. To do: ...``."""

    kind: str  # "no gradient", "no optimizer", "not zeroed", "leaf loss", "kept graphs", "create_graph", ...
    place: Place | None
    text: str
    advice: str
    others: tuple[tuple[str, Place], ...] = ()  # lines that have to do with it, and how

    def __str__(self) -> str:
        place = f"{self.place.short}: " if self.place else ""
        return f"{place}{self.text}. To do: {self.advice}"


def listed(names: Sequence[str]) -> str:
    """
    Example:
        >>> listed(["a", "b", "c", "d", "e", "f"])
        '`a`, `b`, `c`, `d` and 2 more'
    """
    more = len(names) - _MOST_NAMES
    return names_text([*names[:_MOST_NAMES], f"{more:,} more"] if more > 1 else names)
