"""New tensors of given sizes, filled with a number or not at all."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._domains import domain
from ._options import Filled, check_options, checked_dtype, checked_size, made

__all__ = ["empty", "empty_strided", "eye", "full", "ones", "scalar_tensor", "zeros"]

_ops: Any = _core.ops
_default_dtype = _core.get_default_dtype
_INT64, _BOOL = _core.dtypes["int64"], _core.dtypes["bool"]


def _filled(name: str, value: int, doc: str) -> Filled:
    @domain("given=(2, 3)")
    def create(
        *given: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        if out is dtype is layout is device is None and not (pin_memory or requires_grad):
            filled: Tensor = _ops._full(checked_size(name, given, size), value, _default_dtype())
            return filled
        check_options(name, layout, device, pin_memory)
        sizes = checked_size(name, given, size)
        return made(name, lambda kind: _ops._full(sizes, value, kind), out, dtype, requires_grad, device=device)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


zeros = _filled(
    "zeros",
    0,
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
    """,
)
ones = _filled(
    "ones",
    1,
    """Ones of the given sizes; arguments as for `zeros`.

    Example:
        >>> torch.ones(2, 3)
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """,
)


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
    """bool, int64, or the complex dtype of the default one; None, which means the default dtype, for floats."""
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
        >>> torch.full((2,), 1j)
        tensor([0.+1.j, 0.+1.j])
    """
    check_options("full", layout, device, pin_memory)
    sizes = checked_size("full", (), size)
    value = fill_value if type(fill_value) is float else as_number("full", fill_value)
    default = dtype_of_number(value)
    if out is dtype is device is None and not requires_grad:
        filled: Tensor = _ops._full(sizes, value, _default_dtype() if default is None else default)
        return filled
    return made("full", lambda kind: _ops._full(sizes, value, kind), out, dtype, requires_grad, default, device)


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
