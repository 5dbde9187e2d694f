"""`clew.memory.budget`: the block, and what it cost."""

from __future__ import annotations

import re
from types import TracebackType
from typing import NamedTuple

from ... import _core
from ..model.notebook import text_html
from ..model.wording import bytes_text, counted

UNITS = {"": 1, "B": 1} | {
    prefix + ending: base**power
    for ending, base in (("B", 1000), ("iB", 1024))
    for power, prefix in enumerate(("k", "M", "G", "T"), start=1)
}


class BudgetReport(NamedTuple):
    """What a budget did. `print()` tells it in a sentence.

    Example:
        >>> w = clew.ones(1000, requires_grad=True)
        >>> with clew.memory.budget("1 MB") as budget:
        ...     (w.exp() * w).sum().backward()
        >>> print(budget.report())
        at most 3.9 KiB of 976.6 KiB saved; nothing was dropped
    """

    limit: int
    """The bytes that were allowed."""
    peak: int
    """The most bytes that graphs held at once, of values that the block made."""
    dropped: int
    """Bytes dropped, in all."""
    drops: int
    """Values dropped."""
    recomputed: int
    """Operations that ran again."""
    seconds: float
    """The time that these took."""

    def __str__(self) -> str:
        text = f"at most {bytes_text(self.peak)} of {bytes_text(self.limit)} saved; "
        if self.drops == 0:
            return text + "nothing was dropped"
        values = f"{counted(self.drops, 'value')} of {bytes_text(self.dropped)} in all dropped"
        return text + f"{values}, {counted(self.recomputed, 'operation')} run again in {1e3 * self.seconds:.1f} ms"

    def _repr_html_(self) -> str:
        return text_html(str(self))


class Budget:
    """What `clew.memory.budget` gives: a context manager, to be used once."""

    def __init__(self, size: int | str) -> None:
        self.limit = parse_size(size)
        self._core = _core.Budget(self.limit)
        self._began = False

    def __enter__(self) -> Budget:
        if self._began:
            raise RuntimeError(
                "memory.budget: expected a new one for each block, as in `with clew.memory.budget(...):`"
            )
        self._core.begin()
        self._began = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._core.end()
        if kind is None:
            self._core.check()

    def report(self) -> BudgetReport:
        """What was dropped and computed again so far."""
        peak, dropped, drops, recomputed, nanoseconds = self._core.report()
        return BudgetReport(self.limit, peak, dropped, drops, recomputed, nanoseconds / 1e9)

    def __repr__(self) -> str:
        return f"<clew.memory.budget: {self.report()}>"


def parse_size(size: int | str) -> int:
    """Bytes, from a number or a text as "64 MB"."""
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?i?B?)\s*", size)
        unit = match[2].replace("K", "k") if match else None
        if match is None or unit not in UNITS:
            raise ValueError(f'memory.budget: expected bytes, or a text as "64 MB" or "1.5 GiB", got {size!r}')
        size = round(float(match[1]) * UNITS[unit])
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"memory.budget: expected an int or a text, got {type(size).__name__}")
    if not 0 < size < 1 << 63:
        raise ValueError(f"memory.budget: expected more than 0 bytes, and fewer than 2**63, got {size}")
    return size
