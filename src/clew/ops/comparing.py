"""Comparisons of whole tensors, and choosing by a condition as a method."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from ..autograd import no_grad
from ._options import need_values

__all__ = ["allclose", "equal", "isclose"]
METHODS = ["allclose", "equal", "isclose", "where"]

_ops: Any = _core.ops


@domain("real")
@no_grad()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether `|input - other| <= atol + rtol * |other|`, element by element, as bool; infinities equal themselves.

    Args:
        input, other: of one dtype; they are broadcast.
        equal_nan: NaN equals NaN.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    Example:
        >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
        tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"isclose: expected two tensors of one dtype, got {input.dtype} and {other.dtype}; cast one")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose: expected tolerances of 0 or more, got rtol={rtol} and atol={atol}")
    close: Tensor = input == other  # infinities too
    if not input.dtype.is_floating_point:
        input, other = input.double(), other.double()
    difference = (input - other).abs()
    close = close | (_ops.isfinite(difference) & (difference <= other.abs() * rtol + atol))
    if equal_nan:
        close = close | (_ops.isnan(input) & _ops.isnan(other))
    return close


@domain("real")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds for all elements: a bool of Python.

    Raises:
        RuntimeError: as `isclose`.

    Example:
        >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-9]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@domain("real")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements: a bool of Python. NaN equals nothing.

    Example:
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
        True
    """
    need_values("equal", input, other)
    return input.shape == other.shape and bool((input == other).all())


@domain("condition=mask(a, b), other=real(a, b)")
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """`clew.where(condition, self, other)`.

    Example:
        >>> x = torch.tensor([1.0, -2.0])
        >>> x.where(x > 0, 0.0)
        tensor([1., 0.])
    """
    result: Tensor = _ops.where(condition, self, other)
    return result
