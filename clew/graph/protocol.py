"""What the engine tells about a graph, as types.

These protocols are the whole surface that ``clew.graph`` reads. The native ``Node`` and ``Tensor`` satisfy them.
"""

from __future__ import annotations

from typing import Any, Protocol


class Site(Protocol):
    """A line of the user's code."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def function(self) -> str: ...


class SavedSlot(Protocol):
    """One tensor that a node keeps for its derivative."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> object: ...
    @property
    def nbytes(self) -> int:
        """Bytes of the whole storage."""

    @property
    def view_nbytes(self) -> int:
        """Bytes of the part that was saved."""

    @property
    def state(self) -> str:
        """``held``, ``packed`` (a hook of the user's keeps it) or ``freed``."""

    @property
    def storage(self) -> int:
        """Equal numbers share memory; 0 when the engine no longer knows."""

    @property
    def version(self) -> int: ...
    @property
    def current_version(self) -> int: ...
    @property
    def is_foreign(self) -> bool:
        """Whether the memory belongs to NumPy or another library."""


class Release(Protocol):
    """The call that dropped what a node had saved."""

    @property
    def kind(self) -> str: ...
    @property
    def site(self) -> Site | None: ...
    @property
    def serial(self) -> int: ...


class Node(Protocol):
    """One operation in the graph."""

    def name(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def made_at(self) -> Site | None: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...
    @property
    def saved(self) -> tuple[SavedSlot, ...]: ...
    @property
    def released(self) -> Release | None: ...
    @property
    def outputs(self) -> tuple[tuple[tuple[int, ...], object], ...]: ...
    @property
    def nbytes(self) -> int: ...


class Lost(Protocol):
    """Where and how a tensor lost its history."""

    @property
    def cause(self) -> str: ...
    @property
    def site(self) -> Site | None: ...


class Tensor(Protocol):
    """What is asked of a tensor."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def is_leaf(self) -> bool: ...
    @property
    def grad(self) -> Any: ...
    @property
    def grad_fn(self) -> Node | None: ...
    @property
    def _lost(self) -> Lost | None: ...
