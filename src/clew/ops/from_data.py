"""New tensors with data from Python, NumPy or other tensors."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._device import CPU, check_device, get_default_device, placed
from .._domains import domain
from .._storage import UntypedStorage
from ._options import check_options, checked_dtype

__all__ = ["as_tensor", "asarray", "tensor"]


@domain("data=[[1, 2], [3, 4]]")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of the data: a number, nested lists, an array, or a tensor (without its history).

    Args:
        dtype: by default that of an array; bool, int64 or the default dtype for Python's numbers.
        requires_grad: whether operations on it are recorded; for floating dtypes only.

    Raises:
        ValueError: nested lists of different lengths, or an integer beyond int64.
        RuntimeError: what is neither number, list, array nor tensor; an integer that the dtype cannot hold; integers
            that require a gradient.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    if dtype is not None:
        dtype = checked_dtype("tensor", dtype)
    if device is not None or pin_memory:
        check_options("tensor", None, device, pin_memory)
        with placed(device):
            there: Tensor = _core.default_tensor(data, dtype=dtype, requires_grad=requires_grad)
        return there
    result: Tensor = _core.default_tensor(data, dtype=dtype, requires_grad=requires_grad)
    return result


@domain("data=[1.0, 2.0]")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, without a copy if possible.

    A tensor of the same dtype is returned itself, an array lends its memory: writes to one are seen in the other.
    Arguments and errors as for `tensor`.

    Example:
        >>> import numpy
        >>> array = numpy.zeros(2)
        >>> torch.as_tensor(array)[0] = 1.0
        >>> float(array[0])
        1.0
    """
    check_options("as_tensor", None, device, False)
    kind = None if dtype is None else checked_dtype("as_tensor", dtype)
    place = get_default_device() if device is None else check_device(device, "as_tensor")
    if isinstance(data, Tensor):
        there = data if device is None and place is CPU else data.to(place)
        return there if kind is None or there.dtype is kind else there.to(kind)
    if isinstance(data, numpy.ndarray) and data.flags.writeable and all(stride >= 0 for stride in data.strides):
        lent: Tensor = _core.from_numpy(data).to(place)
        return lent if kind is None or lent.dtype is kind else lent.to(kind)
    return tensor(data, dtype=kind, device=place)


@domain("obj=[1.0, 2.0]")
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`as_tensor`, by the name of the array API standard.

    Args:
        copy: True always copies; False raises where a copy would be needed.

    Raises:
        ValueError: `copy=False`, and data that must be copied.

    Example:
        >>> torch.asarray([1, 2], copy=True)
        tensor([1, 2])
    """
    if isinstance(obj, UntypedStorage) and dtype is not None:
        obj = obj.elements(checked_dtype("asarray", dtype))
    if copy:
        result = obj.detach().clone() if isinstance(obj, Tensor) else tensor(obj)
        result = as_tensor(result, dtype, device)
    else:
        result = as_tensor(obj, dtype, device)
        lends = isinstance(obj, Tensor | numpy.ndarray) and result.data_ptr() == as_tensor(obj).data_ptr()
        if copy is False and not lends:
            raise ValueError("asarray: can't alias or copy this object without a copy; leave copy=False off")
    return result.requires_grad_() if requires_grad else result
