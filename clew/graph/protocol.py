"""What ``clew.graph`` reads of a node and of a tensor; the native classes have this, and more."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from .records import Lost, Release, SavedSlot, Site


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
    def outputs(self) -> tuple[tuple[tuple[int, ...] | None, object], ...]: ...
    @property
    def nbytes(self) -> int: ...


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
    @property
    def _storage_id(self) -> int: ...
    @property
    def _storage_nbytes(self) -> int: ...


def is_node(x: object) -> TypeGuard[Node]:
    """Whether it can be walked: any node, also one of an ``autograd.Function``."""
    return hasattr(x, "next_functions")


def is_tensor(x: object) -> TypeGuard[Tensor]:
    """Whether it has a place in a graph, or could have one."""
    return hasattr(x, "grad_fn")
