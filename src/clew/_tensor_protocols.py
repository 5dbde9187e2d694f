"""Tensor's side of Python's and other libraries' protocols: NumPy, DLPack, copying, pickling, formatting, `in`."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy

from . import _core
from ._core import Tensor, dtype
from ._device import check_device
from ._domains import domain
from ._methods import method
from ._storage import UntypedStorage, storage_of

_BFLOAT16, _INT16 = _core.dtypes["bfloat16"], _core.dtypes["int16"]
_DLPACK_INT, _DLPACK_BFLOAT = 0, 4  # codes of DLPack's


# --------------------------------------------------------------------------------------------------- NumPy and DLPack
@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """The same memory as a NumPy array, or a copy if a dtype asks for one."""
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"__array__: a copy is needed to convert {array.dtype} to {dtype}, and copy=False forbids it"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What a NumPy function of a tensor returns: a tensor on the function's result."""
    result: Tensor = _core.from_numpy(array)
    return result


@method
def __dlpack__(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the memory: `numpy.from_dlpack(tensor)`, `torch.from_dlpack(tensor)` take it without a copy.

    Raises:
        BufferError: the tensor needs a gradient; the other library would not know.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_meta:
        raise BufferError("__dlpack__: a tensor on the device 'meta' has no memory to lend")
    if stream not in (None, -1):
        raise BufferError(f"__dlpack__: expected stream None on the CPU, got {stream!r}")
    options: dict[str, Any] = {}
    if max_version is not None:
        options["max_version"] = max_version
    if dl_device is not None:
        options["dl_device"] = dl_device
    if copy is not None:
        options["copy"] = copy
    if self.dtype is not _BFLOAT16:
        return self.numpy().__dlpack__(**options)
    capsule = self.view(_INT16).numpy().__dlpack__(**options)
    _core._relabel_dlpack(capsule, _DLPACK_INT, _DLPACK_BFLOAT)
    return capsule


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """(1, 0): the CPU."""
    return 1, 0


_core.add_method("__array_priority__", 1000)  # so that `array * tensor` is the tensor's operation


@domain("unsampled, 'a buffer has no gradient'")
def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor of one axis on the memory of an object with Python's buffer protocol.

    Args:
        count: how many elements; -1 for all.
        offset: bytes to leave out first.

    Raises:
        ValueError: the object has no buffer, or the sizes do not fit.

    Example:
        >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
        tensor([1, 2], dtype=torch.int16)
    """
    try:
        view = memoryview(buffer)
    except TypeError as error:
        raise ValueError(f"frombuffer: expected an object with a buffer, got {type(buffer).__name__}") from error
    if "O" in view.format:  # a write would break what they point to
        raise ValueError("frombuffer: expected a buffer of numbers, got one of Python objects")
    size, length = dtype.itemsize, view.nbytes
    if not length or not count:
        raise ValueError(f"frombuffer: both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"frombuffer: expected an offset from 0 to {length - 1} bytes, got {offset}")
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"frombuffer: buffer length ({length - offset} bytes after the offset) must be a multiple of element size "
            f"({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(f"frombuffer: expected at least {offset + count * size} bytes, got {length}")
    # NumPy has no bfloat16.
    kind = _core.dtype_name(_INT16 if dtype is _BFLOAT16 else dtype)
    found: Tensor = _core.from_numpy(numpy.frombuffer(buffer, kind, count, offset))
    return (found.view(dtype) if dtype is _BFLOAT16 else found).requires_grad_(requires_grad)


@domain("unsampled, 'it takes objects of other libraries'")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, which has `__dlpack__`, or of a DLPack capsule.

    Args:
        device: None or the CPU.
        copy: True gives it memory of its own.

    Raises:
        TypeError: an object without `__dlpack__`.

    Example:
        >>> import numpy
        >>> array = numpy.zeros(2)
        >>> x = torch.from_dlpack(array)
        >>> x[0] = 5.0
        >>> float(array[0])
        5.0
    """
    if device is not None:
        check_device(device, "from_dlpack")
    result = _shared(ext_tensor)
    return result.clone() if copy else result


def _shared(given: Any) -> Tensor:
    import numpy

    if isinstance(given, Tensor):
        return given.detach()
    if type(given).__name__ == "PyCapsule":
        given = _Capsule(given)
    if not hasattr(given, "__dlpack__"):
        raise TypeError(f"from_dlpack: expected an array with __dlpack__, got {type(given).__name__}")
    if isinstance(given, numpy.ndarray):
        return _core.from_numpy(given)
    plain = _WithoutBFloat16(given)
    array = numpy.from_dlpack(plain)
    if isinstance(given, _Capsule) and not array.flags.writeable:  # of which NumPy makes no difference
        array = numpy.asarray(_Writable(array))
    result: Tensor = _core.from_numpy(array)
    return result.view(_BFLOAT16) if plain.relabelled else result


class _Capsule:
    """Hands on a capsule that was made before. Of which device it is, NumPy reads there."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule


class _Writable:
    """Lends an array's memory for writing."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


class _WithoutBFloat16:
    """Hands on another library's array, with bfloat16, which NumPy refuses, called int16."""

    def __init__(self, other: Any) -> None:
        self.other, self.relabelled = other, False

    def __dlpack_device__(self) -> Any:
        return self.other.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.other.__dlpack__(**options)
        self.relabelled = _core._relabel_dlpack(capsule, _DLPACK_BFLOAT, _DLPACK_INT)
        return capsule


# -------------------------------------------------------------------------------------------------- copies and pickles
@method
@domain("unsampled, 'it gives no tensor'")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor looks at.

    Example:
        >>> torch.ones(2, 3).untyped_storage().nbytes()
        24
    """
    return storage_of(self)


def _like(self: Tensor, storage: UntypedStorage, requires_grad: bool) -> Tensor:
    view = storage.view(self.storage_offset(), tuple(self.shape), self.stride())
    kind: type[Tensor] = type(self)
    if kind is not Tensor:
        view = Tensor._make_subclass(kind, view)
    return view.requires_grad_(requires_grad)


@method
def __deepcopy__(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A copy of a leaf, with its gradient and attributes. Tensors that share memory share it in the copy.

    Raises:
        RuntimeError: the tensor has a history.
    """
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
            "copy tensor.detach() instead"
        )
    key = ("clew storage", self._storage_id)
    if key not in memo:
        memo[key] = storage_of(self).clone()
    made = _like(self, memo[key], self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Pickles the memory, the geometry, `requires_grad` and attributes; history, gradient and hooks are left out.

    What has a history comes back as a leaf that requires a gradient, as in PyTorch; `copy.copy` shares the memory.
    """
    kind = None if type(self) is Tensor else type(self)
    geometry = (self.storage_offset(), tuple(self.shape), self.stride())
    return _rebuild, (kind, storage_of(self), *geometry, self.requires_grad), self.__dict__ or None


def _rebuild(
    kind: type[Tensor] | None,
    storage: UntypedStorage,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    view = storage.view(offset, sizes, strides)
    if kind is not None:
        view = Tensor._make_subclass(kind, view)
    return view.requires_grad_(requires_grad)


@method
def __setstate__(self: Tensor, state: dict[str, Any]) -> None:
    """Takes the attributes back."""
    self.__dict__.update(state)


# --------------------------------------------------------------------------------------------------- Python's protocols
@method
def _contains(self: Tensor, element: Any) -> bool:
    """`element in tensor`: whether some element equals it."""
    if not isinstance(element, Tensor | int | float):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((self == element).any())


@method
def __format__(self: Tensor, format_spec: str) -> str:
    """A 0-dim tensor formats as its number; one that stands for a batch, which has several, as it prints."""
    if not format_spec and _core.batch_of(self):
        return str(self)
    if self.ndim == 0 and type(self) is Tensor and not self.is_meta:
        return format(self.item(), format_spec)
    return object.__format__(self, format_spec)


@method
def __reversed__(self: Tensor) -> Tensor:
    """The elements in reverse order along the first axis."""
    return self if self.ndim == 0 else self.flip(0)


@method
def __dir__(self: Tensor) -> list[str]:
    """Names of methods, properties and attributes."""
    return sorted({*dir(type(self)), *self.__dict__})


@method
@domain("unsampled, 'elements that it adds have any value'")
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another size, over its memory as it lies. Elements that it had no memory for have any value.

    Where its memory does not suffice it gets new memory, which views of it don't share.

    Raises:
        RuntimeError: the tensor requires a gradient.

    Example:
        >>> torch.tensor([1.0, 2.0, 3.0, 4.0]).resize_(2, 1)
        tensor([[1.],
                [2.]])
    """
    if self.requires_grad:
        raise RuntimeError("resize_: cannot resize variables that require grad; use x.detach() or reshape")
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size
    if tuple(self.shape) == sizes:
        return self
    count, offset = math.prod(sizes), self.storage_offset()
    plain = self.detach()
    held = self.untyped_storage().nbytes() // self.element_size() - offset
    if count > held:
        longer = plain.new_empty(count)
        longer[:held] = plain.as_strided((held,), (1,), offset)
        self.data = longer.view(sizes)
    else:
        self.data = plain.as_strided((count,), (1,), offset).view(sizes)
    _core.increment_version(self)  # `.data` alone does not count
    return self


@method
@domain("unsampled, 'elements that it adds have any value'")
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another: see `resize_`.

    Example:
        >>> torch.tensor([1.0, 2.0, 3.0]).resize_as_(torch.zeros(2))
        tensor([1., 2.])
    """
    resized: Tensor = resize_(self, *the_template.shape)
    return resized


@method
@domain("unsampled, 'it takes a function'")
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by what the function gives for it. Slow: it calls Python for each one.

    Raises:
        RuntimeError: the tensor requires a gradient.

    Example:
        >>> torch.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
        tensor([10., 20.])
    """
    if self.requires_grad:
        raise RuntimeError(
            "apply_: Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead."
        )
    return self.copy_(_map(self, callable, self))


@method
@domain("unsampled, 'it takes a function'")
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by what the function gives for it and for the element of `tensor` in its place.

    Raises:
        RuntimeError: the tensor requires a gradient.

    Example:
        >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x + y)
        tensor([4., 6.])
    """
    if self.requires_grad:
        raise RuntimeError("map_: Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    return self.copy_(_map(self, callable, self, tensor.expand_as(self)))


def _map(like: Tensor, function: Any, *operands: Tensor) -> Tensor:
    kind: dtype = like.dtype
    columns = [operand.reshape(-1).tolist() for operand in operands]
    made: Tensor = _core.tensor([function(*values) for values in zip(*columns, strict=True)], dtype=kind)
    return made.reshape(like.shape)
