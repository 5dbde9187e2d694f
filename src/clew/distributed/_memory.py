"""Tensors' memory as arrays that MPI sends from and receives into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import _core
from .._core import Tensor

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip
NUMBERS = {_core.dtypes[name]: number for number, name in enumerate(DTYPES)}
_HALVES = (_core.dtypes["float16"], _core.dtypes["bfloat16"])
_INT16, _FLOAT32 = _core.dtypes["int16"], _core.dtypes["float32"]


def check_tensor(call: str, name: str, value: Any) -> None:
    """Raise unless it is a tensor with memory."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{call}: expected {name} to be a tensor, got {type(value).__name__}")
    if value.is_meta:
        raise ValueError(f"{call}: expected {name} to have values, got a tensor on the device meta")


def check_alike(call: str, name: str, values: Any, count: int, model: Tensor) -> None:
    """Raise unless it is a list of so many tensors of the model's shape and dtype."""
    if not isinstance(values, list | tuple) or len(values) != count:
        got = f"{len(values)}" if isinstance(values, list | tuple) else type(values).__name__
        raise ValueError(f"{call}: expected {name} to be a list of {count} tensors, one for each rank, got {got}")
    for place, one in enumerate(values):
        check_tensor(call, f"{name}[{place}]", one)
        check_same(call, f"{name}[{place}]", one, tuple(model.shape), model)


def check_same(call: str, name: str, value: Tensor, shape: tuple[int, ...], model: Tensor) -> None:
    """Raise unless the tensor has the shape, and the model's dtype."""
    if tuple(value.shape) != shape or value.dtype != model.dtype:
        raise ValueError(
            f"{call}: expected {name} of shape {shape} and {model.dtype}, got {tuple(value.shape)} and {value.dtype}"
        )


def announce(tensor: Tensor) -> None:
    """Count a write, so that a backward that needs the old values finds out."""
    if not tensor.is_inference():
        _core.increment_version(tensor)


def readable(tensor: Tensor) -> Any:
    """The elements in a row, as an array: the tensor's own memory, or a copy of a strided one's.

    Two-byte floating-point numbers are seen as int16: MPI moves them, and does not look at them.
    """
    whole = tensor.detach().contiguous()
    return (whole.view(_INT16) if whole.dtype in _HALVES else whole).numpy().reshape(-1)


def writable(tensor: Tensor) -> tuple[Any, Callable[[], None]]:
    """An array to receive into, and what to call when it is filled."""
    if tensor.is_contiguous():
        announce(tensor)
        return readable(tensor), _nothing
    row = tensor.detach().contiguous()
    return readable(row), lambda: fill(tensor, row)


def reducible(tensor: Tensor) -> tuple[Any, Callable[[], None]]:
    """An array of the elements that MPI can add up in place, and what to call to have its values in the tensor.

    It is the tensor's own memory if that is contiguous. Two-byte floating-point numbers become float32, so that a sum
    is rounded once, at its end.
    """
    if tensor.dtype not in _HALVES:
        return writable(tensor)
    wide = tensor.detach().to(_FLOAT32).contiguous()
    return readable(wide), lambda: fill(tensor, wide)


def widened(tensor: Tensor) -> Any:
    """As `reducible`, to be read only."""
    return readable(tensor.to(_FLOAT32)) if tensor.dtype in _HALVES else readable(tensor)


def fill(tensor: Tensor, values: Tensor) -> None:
    """Copy the values, outside of any graph."""
    tensor.detach().copy_(values.reshape(tensor.shape))


def like(array: Any, tensor: Tensor) -> Tensor:
    """A tensor on the array's memory with the dtype of the other, whose elements it holds as `readable` gives them."""
    made: Tensor = _core.from_numpy(array)
    return made.view(tensor.dtype) if tensor.dtype in _HALVES and made.dtype == _INT16 else made


def packed(tensors: Sequence[Tensor]) -> Any:
    """The elements of all, one after the other."""
    return numpy.concatenate([readable(one) for one in tensors])


def spread(array: Any, tensors: Sequence[Tensor]) -> None:
    """The reverse: write consecutive parts into the tensors."""
    start = 0
    for one in tensors:
        fill(one, like(array[start : start + one.numel()], one))
        start += one.numel()


def _nothing() -> None:
    pass
