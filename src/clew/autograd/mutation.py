"""Writing in place to what a graph has saved, without breaking the graph: a copy is made just before the write."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .. import _core
from .._core import Tensor
from . import saved_hooks


class _Kept:
    """What stands in a node for a tensor that it saved: the same memory, or the copy made when that was written."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor  # None: the context has ended


class _Current(threading.local):
    context: allow_mutation_on_saved_tensors | None = None


_current = _Current()


def before_write(tensor: Tensor) -> None:
    """Called by the core before memory is written, while a context is open."""
    if _current.context is not None:
        _current.context.copy_what_was_saved(tensor)


def _unpack(kept: _Kept) -> Tensor:
    if kept.tensor is None:
        raise RuntimeError(
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
            "originally recorded. Call backward inside it"
        )
    return kept.tensor


class allow_mutation_on_saved_tensors:
    """Inside, tensors that a graph has saved may be modified in place: the graph then keeps a copy of what they were.

    A copy is made only when such a tensor is written. A graph made inside must be run backward inside.

    Raises:
        RuntimeError: the block is nested in another, or a backward of its graph runs outside of it.

    Example:
        >>> x = clew.tensor([3.0], requires_grad=True)
        >>> with clew.autograd.graph.allow_mutation_on_saved_tensors():
        ...     h = x.clone()
        ...     y = h**2
        ...     _ = h.zero_()
        ...     y.backward()
        >>> x.grad
        tensor([6.])
    """

    def __init__(self) -> None:
        self._saved: dict[int, weakref.WeakSet[_Kept]] = {}  # by storage

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if _current.context is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        saved_hooks.push(self._pack, _unpack)
        _current.context = self
        _core.set_mode("watch_writes", True)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _core.set_mode("watch_writes", False)
        _current.context = None
        saved_hooks.pop()
        self.clear()

    def clear(self) -> None:
        """Let go of all that graphs made inside have saved."""
        for group in self._saved.values():
            for kept in group:
                kept.tensor = None
        self._saved.clear()

    def _pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(tensor.detach())
        self._saved.setdefault(tensor._storage_id, weakref.WeakSet()).add(kept)
        return kept

    def copy_what_was_saved(self, written: Tensor) -> None:
        """Replace what was saved of this memory by copies; views of the same elements get one copy."""
        group = self._saved.pop(written._storage_id, None)
        if not group:
            return
        copies: dict[Any, Tensor] = {}
        recording = _core.set_grad_enabled(False)
        try:
            for kept in group:
                tensor = kept.tensor
                if tensor is None:
                    continue
                place = (tensor.storage_offset(), tensor.shape, tensor.stride())
                if place not in copies:
                    copies[place] = tensor.clone()
                kept.tensor = copies[place]
                self._saved.setdefault(copies[place]._storage_id, weakref.WeakSet()).add(kept)
        finally:
            _core.set_grad_enabled(recording)
