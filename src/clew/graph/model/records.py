"""What the engine tells about a graph when it is asked, one record at a time. The native core makes these."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Site(Protocol):
    """A line of the user's code; ``str`` gives ``train.py:5 in main``."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def function(self) -> str: ...


class SavedSlot(NamedTuple):
    """One tensor that a node keeps for its derivative: an element of ``node.saved``."""

    name: str
    shape: tuple[int, ...]
    dtype: object
    nbytes: int
    """Bytes of the whole storage; 0 if it was freed and its size is not known (a hook had packed it)."""
    view_nbytes: int
    """Bytes of the part that was saved."""
    state: str
    """``held``, ``packed`` (a hook of the user's keeps it) or ``freed``."""
    storage: int
    """Equal numbers share memory; 0 when the engine no longer knows."""
    version: int
    current_version: int
    is_foreign: bool
    """Whether the memory belongs to NumPy or another library."""
    fate: str = ""
    """Of what was freed: ``released`` to the allocator; ``dropped`` by the last slot that had it, but something else
    has the memory; ``elsewhere``: other slots had it still; ``foreign``: the allocator does not count it."""
    identity: int = 0
    """Equal numbers are the same storage, held or freed; 0: when it was freed nobody else had it or had had it."""


class Release(NamedTuple):
    """The call that dropped what a node had saved: ``node.released``."""

    kind: str
    """``backward`` or ``grad``."""
    site: Site | None
    serial: int


class HistoryBreak(NamedTuple):
    """Where and how a tensor lost its history."""

    cause: str
    site: Site | None


class Write(NamedTuple):
    """The last write in place to a tensor's memory."""

    op: str
    site: Site | None
    serial: int
