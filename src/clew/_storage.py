"""The memory behind tensors, as an object: what copying and pickling share between tensors that share memory."""

from __future__ import annotations

import os
import pickle
import weakref
from typing import Any

import numpy

from . import _core
from ._core import Tensor, dtype
from ._device import placed
from ._domains import domain
from ._methods import method

_BFLOAT16 = _core.dtypes["bfloat16"]
_UINT8 = _core.dtypes["uint8"]


class UntypedStorage:
    """All bytes that a tensor, its views and its aliases look at.

    Example:
        >>> x = torch.ones(4)
        >>> x[2:].untyped_storage().nbytes()
        16
    """

    __slots__ = ("__weakref__", "_tensor", "_window")

    def __init__(self, tensor: Tensor, window: range | None = None) -> None:
        self._tensor = tensor  # any that looks at the memory
        self._window = window  # of which bytes it consists, if not of all

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._tensor._storage_nbytes) if self._window is None else len(self._window)

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage on the first bytes of a file, which are read when they are used.

        Args:
            shared: what is written to the storage is written to the file. The file is made, or made longer, if needed.
            nbytes: how many bytes the storage has.

        Raises:
            RuntimeError: the file is shorter than `nbytes`, and not shared.
        """
        if nbytes <= 0:
            return storage_of(_core.ops._empty((0,), _UINT8))
        if shared:
            with open(filename, "ab") as file:
                if file.tell() < nbytes:
                    file.truncate(nbytes)
        elif os.path.getsize(filename) < nbytes:
            size = os.path.getsize(filename)
            raise RuntimeError(f"from_file: expected {nbytes} bytes in {filename!r}, got {size}; give a smaller nbytes")
        return storage_of(_core.from_numpy(numpy.memmap(filename, "uint8", "r+" if shared else "c", 0, (nbytes,))))

    def __getitem__(self, index: Any) -> Any:
        """A byte, from 0 to 255; of a slice a storage on the same memory."""
        if not isinstance(index, slice):
            return self._bytes()[index]
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"storage: expected a slice with a step of 1, got {step}")
        window = range(self.nbytes()) if self._window is None else self._window
        return UntypedStorage(self.elements(_UINT8), window[start:stop])

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def tolist(self) -> list[int]:
        """All bytes."""
        return self._bytes().tolist()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        start = 0 if self._window is None else self._window.start
        return int(self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size()) + start

    def elements(self, kind: dtype | None = None) -> Tensor:
        """The memory as a vector of this dtype, by default the tensor's."""
        count = self._tensor._storage_nbytes // self._tensor.element_size()
        whole: Tensor = _core.ops.as_strided(self._tensor.detach(), (count,), (1,), 0)
        if kind is None:
            return whole
        window = range(self.nbytes()) if self._window is None else self._window
        window = window[: len(window) // kind.itemsize * kind.itemsize]
        made: Tensor = whole.view(_UINT8)[window.start : window.stop].view(kind)
        return made

    def _bytes(self) -> memoryview:
        """The memory, which the view keeps alive."""
        return memoryview(self.elements(_UINT8)) if self.nbytes() else memoryview(b"")  # type: ignore[arg-type]

    def view(self, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """A tensor on the memory, with this geometry in elements."""
        made: Tensor = _core.ops.as_strided(self._tensor.detach(), sizes, strides, offset).detach()
        return made

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return storage_of(self.elements(None if self._window is None else _UINT8).clone())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if self._tensor.is_meta:
            return _restore_meta, (self._tensor.dtype, self.nbytes() // self._tensor.element_size())
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


def _restore_meta(kind: dtype, count: int) -> UntypedStorage:
    """A storage without memory for so many elements."""
    with placed("meta"):
        return storage_of(_core.ops._empty((count,), kind))


def _restore(kind: dtype, data: Any) -> UntypedStorage:
    """A storage of ours with these bytes."""
    flat = tensor_of_bytes(data, kind)
    storage = _known[int(flat._storage_id)] = UntypedStorage(flat)
    return storage


def tensor_of_bytes(data: Any, kind: dtype) -> Tensor:
    """A vector of a dtype with a copy of these bytes."""
    name = "int16" if kind is _BFLOAT16 else _core.dtype_name(kind)
    flat = _core.tensor(numpy.frombuffer(data, dtype=name) if len(data) else numpy.empty(0, dtype=name))
    return flat.view(kind) if kind is _BFLOAT16 else flat


class TypedStorage:
    """The memory of a tensor as elements of its dtype, all of them in their order in memory.

    `x.storage()` gives one; `FloatStorage([1, 2])` and the others make some, of data or of a size and not filled.
    PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     storage = torch.ones(2, 3)[1:].storage()
        ...     len(storage), storage.dtype
        (6, torch.float32)
    """

    dtype: dtype
    is_cuda = False

    def __init__(self, data: Any = 0) -> None:
        kind = getattr(type(self), "dtype", None) or _core.get_default_dtype()
        self._take(
            _core.ops._empty((data,), kind) if isinstance(data, int) else _core.tensor(data, dtype=kind).view(-1)
        )

    def _take(self, elements: Tensor) -> None:
        self._tensor = elements
        self.dtype = elements.dtype

    def size(self) -> int:
        """How many elements there are."""
        return int(self._tensor.numel())

    __len__ = size

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise RuntimeError(f"storage: can't index with {type(index).__name__}; expected an int")
        if not -len(self) <= index < len(self):
            raise IndexError(f"storage: index {index} is out of range for a storage of size {len(self)}")
        return self._tensor[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._tensor[index] = value

    def tolist(self) -> list[Any]:
        """All elements."""
        found: list[Any] = self._tensor.tolist()
        return found

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return storage_of(self._tensor)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.untyped().nbytes()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._tensor.data_ptr())

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self._tensor.element_size())

    def fill_(self, value: Any) -> TypedStorage:
        """Write a number everywhere."""
        self._tensor.fill_(value)
        return self

    def copy_(self, source: TypedStorage) -> TypedStorage:
        """Write the elements of another storage of this size."""
        self._tensor.copy_(source._tensor)
        return self

    def clone(self) -> TypedStorage:
        """A copy of the memory."""
        return _of_elements(self._tensor.clone())

    def __repr__(self) -> str:
        elements = "...\n" if self._tensor.is_meta else "".join(f" {one}\n" for one in self.tolist())
        place = self._tensor.device
        return f"{elements}[torch.storage.TypedStorage(dtype={self.dtype}, device={place}) of size {len(self)}]"


def _of_elements(elements: Tensor) -> TypedStorage:
    kind = TYPED_STORAGES[STORAGE_NAMES[_core.dtype_name(elements.dtype)]]
    made: TypedStorage = kind.__new__(kind)
    made._take(elements)
    return made


STORAGE_NAMES = {
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}
TYPED_STORAGES: dict[str, type[TypedStorage]] = {
    name: type(name, (TypedStorage,), {"__module__": "torch", "dtype": _core.dtypes[kind]})
    for kind, name in STORAGE_NAMES.items()
}


@method
@domain("unsampled, 'it gives no tensor'")
def storage(self: Tensor) -> TypedStorage:
    """All elements of the memory that the tensor looks at."""
    return _of_elements(storage_of(self).elements())


@method
@domain("unsampled, 'it gives no tensor'")
def storage_type(self: Tensor) -> type[TypedStorage]:
    """The class of `storage()`: FloatStorage and so on."""
    return type(self.storage())


def is_storage(obj: Any) -> bool:
    """Whether it is a storage.

    Example:
        >>> torch.is_storage(torch.ones(1).untyped_storage()), torch.is_storage(torch.ones(1))
        (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))
