"""What ``clew.graph`` reads of a node and of a tensor; the native classes have this, and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard

from .records import HistoryBreak, Release, SavedSlot, Site


class Node(Protocol):
    """One operation in the graph."""

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
    def _lost(self) -> HistoryBreak | None: ...
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


def tensors_of(op: str, x: Any) -> list[Any]:
    """What a backward would start from: a tensor, or a sequence of tensors.

    Raises:
        TypeError: it is neither. ``op`` is who asks.
    """
    tensors = [x] if is_tensor(x) else x
    if not isinstance(tensors, Sequence) or not tensors or not all(is_tensor(tensor) for tensor in tensors):
        got = type(x).__name__
        raise TypeError(f"{op}: expected a tensor or a sequence of tensors, got {got}; pass your loss")
    return list(tensors)
