"""The memory behind tensors, as an object: what copying and pickling share between tensors that share memory."""

from __future__ import annotations

import ctypes
import pickle
import weakref
from typing import Any

from . import _core
from ._core import Tensor, dtype


class UntypedStorage:
    """All bytes that a tensor, its views and its aliases look at.

    >>> import clew
    >>> x = clew.ones(4)
    >>> x[2:].untyped_storage().nbytes()
    16
    """

    __slots__ = ("__weakref__", "_tensor")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor  # any that looks at the memory

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._tensor._storage_nbytes)

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size())

    def _bytes(self) -> Any:
        return (ctypes.c_char * self.nbytes()).from_address(self.data_ptr())

    def view(self, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """A tensor on the memory, with this geometry in elements."""
        made: Tensor = _core.ops._as_strided(self._tensor, sizes, strides, offset).detach()
        return made

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return _restore(self._tensor.dtype, bytes(self._bytes()))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        data = self._bytes()
        return _restore, (self._tensor.dtype, pickle.PickleBuffer(data) if protocol >= 5 else bytes(data))

    def __repr__(self) -> str:
        return f"[clew.UntypedStorage of size {self.nbytes()}]"


# One object for each memory while it is in use, so that a pickle finds out what is shared.
_known: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def storage_of(tensor: Tensor) -> UntypedStorage:
    """The storage of a tensor."""
    key = int(tensor._storage_id)
    found = _known.get(key)
    if found is None:
        found = _known[key] = UntypedStorage(tensor.detach())
    return found


def _restore(kind: dtype, data: Any) -> UntypedStorage:
    """A storage of ours with these bytes."""
    import numpy

    name = str(kind).removeprefix("torch.")
    flat = _core.tensor(numpy.frombuffer(data, dtype=name) if len(data) else numpy.empty(0, dtype=name))
    storage = _known[int(flat._storage_id)] = UntypedStorage(flat)
    return storage
