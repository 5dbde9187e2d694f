"""New tensors, from data or filled with a number."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _core
from .._core import Tensor, dtype
from .._device import CPU, check_device, get_default_device, placed
from .._domains import domain
from ._options import check_options, checked_dtype, checked_size, made

__all__ = [
    "as_tensor",
    "asarray",
    "empty",
    "empty_strided",
    "eye",
    "full",
    "ones",
    "scalar_tensor",
    "tensor",
    "zeros",
]

_ops: Any = _core.ops
_default_dtype = _core.get_default_dtype
_INT64, _BOOL = _core.dtypes["int64"], _core.dtypes["bool"]


# ------------------------------------------------------------------------------------------------------------ from data
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
    if copy:
        result = obj.detach().clone() if isinstance(obj, Tensor) else tensor(obj)
        result = as_tensor(result, dtype, device)
    else:
        result = as_tensor(obj, dtype, device)
        lends = isinstance(obj, Tensor | numpy.ndarray) and result.data_ptr() == as_tensor(obj).data_ptr()
        if copy is False and not lends:
            raise ValueError("asarray: can't alias or copy this object without a copy; leave copy=False off")
    return result.requires_grad_() if requires_grad else result


@domain("s=2.5")
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A number as a tensor of shape (), of the default dtype unless another is given.

    Example:
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    return full(
        (), s, dtype=checked_dtype("scalar_tensor", dtype), layout=layout, device=device, requires_grad=requires_grad
    )


# -------------------------------------------------------------------------------------------------------------- filled
@domain("given=(2, 3)")
def zeros(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of the given sizes.

    Args:
        given, size: the sizes, one by one or as one sequence.
        out: a tensor to write into, of the right shape or empty.
        dtype: by default that of `get_default_dtype()`.
        layout: only `clew.strided`.
        device: the CPU, or "meta", where tensors have no values; by default where `get_default_device()` says.
        requires_grad: whether operations on it are recorded.

    Raises:
        RuntimeError: a negative size, or `out` of another shape or dtype.
        TypeError: sizes that are no integers.

    Example:
        >>> torch.zeros(2, dtype=torch.int64)
        tensor([0, 0])
    """
    if out is dtype is layout is device is None and not (pin_memory or requires_grad):
        filled: Tensor = _ops._full(checked_size("zeros", given, size), 0, _default_dtype())
        return filled
    check_options("zeros", layout, device, pin_memory)
    sizes = checked_size("zeros", given, size)
    return made("zeros", lambda kind: _ops._full(sizes, 0, kind), out, dtype, requires_grad, device=device)


@domain("given=(2, 3)")
def ones(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of the given sizes; arguments as for `zeros`.

    Example:
        >>> torch.ones(2, 3)
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """
    if out is dtype is layout is device is None and not (pin_memory or requires_grad):
        filled: Tensor = _ops._full(checked_size("ones", given, size), 1, _default_dtype())
        return filled
    check_options("ones", layout, device, pin_memory)
    sizes = checked_size("ones", given, size)
    return made("ones", lambda kind: _ops._full(sizes, 1, kind), out, dtype, requires_grad, device=device)


@domain("unsampled, 'its numbers are what was in memory'")
def empty(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of the given sizes whose elements are undefined until written; arguments as for `zeros`.

    Example:
        >>> torch.empty(2, 3).shape
        torch.Size([2, 3])
    """
    del memory_format
    check_options("empty", layout, device, pin_memory)
    sizes = checked_size("empty", given, size)
    return made("empty", lambda kind: _ops._empty(sizes, kind), out, dtype, requires_grad, device=device)


@domain("unsampled, 'its numbers are what was in memory'")
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides (in elements) whose elements are undefined until written.

    Example:
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    check_options("empty_strided", layout, device, pin_memory)
    sizes = checked_size("empty_strided", (), size)
    return made(
        "empty_strided",
        lambda kind: _ops._empty_strided(sizes, tuple(stride), kind),
        None,
        dtype,
        requires_grad,
        device=device,
    )


def as_number(name: str, value: Any) -> Any:
    """The number that a value is, or that a one-element tensor or array holds."""
    if isinstance(value, bool | int | float | complex):
        return value
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{name}(): expected a number, got {type(value).__name__}")


def dtype_of_number(value: Any) -> dtype | None:
    """bool, int64 or complex; None, which means the default dtype, for floats."""
    if isinstance(value, complex):
        return _default_dtype().to_complex()
    return _BOOL if isinstance(value, bool) else _INT64 if isinstance(value, int) else None


@domain("size=(2, 3), fill_value=1.5")
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with one value everywhere.

    Args:
        size: a sequence of sizes.
        fill_value: a number or a tensor of shape (), which decides the dtype if none is given.
        out, dtype, layout, device, requires_grad: as for `zeros`.

    Example:
        >>> torch.full((2,), 3)
        tensor([3, 3])
    """
    check_options("full", layout, device, pin_memory)
    sizes = checked_size("full", (), size)
    value = fill_value if type(fill_value) is float else as_number("full", fill_value)
    default = dtype_of_number(value)
    if out is dtype is device is None and not requires_grad:
        filled: Tensor = _ops._full(sizes, value, _default_dtype() if default is None else default)
        return filled
    return made("full", lambda kind: _ops._full(sizes, value, kind), out, dtype, requires_grad, default, device)


@domain("n=3; n=2, m=4")
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal of an (n, m) matrix, zeros elsewhere; `m` is `n` by default.

    Raises:
        RuntimeError: a size is negative.
        TypeError: a size is no integer.

    Example:
        >>> torch.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_options("eye", layout, device, pin_memory)
    for name, value in (("n", n), ("m", n if m is None else m)):
        if not hasattr(value, "__index__"):
            raise TypeError(f"eye(): argument '{name}' must be int, not {type(value).__name__}")
    return made("eye", lambda kind: _ops._eye(n, n if m is None else m, kind), out, dtype, requires_grad, device=device)
