"""What kind of number an element is, and powers of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._numeric import result_type
from .._operation import ELEMENT_BY_ELEMENT, HIDDEN, operation
from ._options import check_tensor
from .creation_like import ones_like

__all__ = ["float_power", "frexp", "isneginf", "isposinf", "isreal", "ldexp", "ldexp_", "signbit"]
METHODS = [*__all__, "float_power_"]

_FLOAT64, _BOOL = _core.dtypes["float64"], _core.dtypes["bool"]
_OF_SIZE = {size: _core.dtypes[f"int{8 * size}"] for size in (2, 4, 8)}


def _check_real(name: str, input: Tensor) -> None:
    check_tensor(name, "input", input)
    if input.is_complex():
        raise RuntimeError(f"{name} does not support complex inputs; ask its real and imaginary part")


@domain("real; input=integer(a, b)")
def isposinf(input: Tensor) -> Tensor:
    """Whether each element is positive infinity.

    Example:
        >>> torch.isposinf(torch.tensor([torch.inf, -torch.inf, 1.0]))
        tensor([ True, False, False])
    """
    _check_real("isposinf", input)
    return input.detach() == float("inf")


@domain("real; input=integer(a, b)")
def isneginf(input: Tensor) -> Tensor:
    """Whether each element is negative infinity.

    Example:
        >>> torch.isneginf(torch.tensor([torch.inf, -torch.inf, 1.0]))
        tensor([False,  True, False])
    """
    _check_real("isneginf", input)
    return input.detach() == -float("inf")


@domain("real; input=integer(a, b)")
def isreal(input: Tensor) -> Tensor:
    """Whether each element is real: has no imaginary part.

    Example:
        >>> torch.isreal(torch.tensor([1.0 + 0.0j, 2.0 + 1.0j]))
        tensor([ True, False])
    """
    check_tensor("isreal", "input", input)
    if input.is_complex():
        return input.detach().imag == 0
    return ones_like(input, dtype=_BOOL)


@domain("real; input=integer(a, b); input=mask(a, b)")
def signbit(input: Tensor) -> Tensor:
    """Whether each element is negative, or a negative zero.

    Example:
        >>> torch.signbit(torch.tensor([1.0, -0.0, 0.0]))
        tensor([False,  True, False])
    """
    check_tensor("signbit", "input", input)
    plain = input.detach()
    return (plain.view(_OF_SIZE[plain.element_size()]) if plain.is_floating_point() else plain) < 0


@domain("input=positive(a, b), exponent=2.5; input=positive(a, b), exponent=real(b)")
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """`input ** exponent`, computed in float64, which is the result's dtype; the two are broadcast.

    Example:
        >>> torch.float_power(torch.tensor([1, 2]), -1)
        tensor([1.0000, 0.5000], dtype=torch.float64)
    """
    base, power = (one.to(_FLOAT64) if isinstance(one, Tensor) else one for one in (input, exponent))
    result: Tensor = _core.ops.pow(base, power)
    return result


@domain("input=positive(a, b), exponent=2.5; input=positive(a, b), exponent=real(b)")
def float_power_(input: Tensor, exponent: Tensor | float) -> Tensor:
    """`float_power` in place, for tensors that are float64 already.

    Raises:
        RuntimeError: another dtype.

    Example:
        >>> torch.tensor([2.0, 3.0], dtype=torch.float64).float_power_(2)
        tensor([4., 9.], dtype=torch.float64)
    """
    if input.dtype != _FLOAT64:
        raise RuntimeError(f"float_power_: expected a tensor of torch.float64, got {input.dtype}; use float_power")
    return input.pow_(exponent.to(_FLOAT64) if isinstance(exponent, Tensor) else exponent)


@domain("real")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2 ** other`, elementwise; the two are broadcast.

    Example:
        >>> torch.ldexp(torch.tensor([1.0]), torch.tensor([3]))
        tensor([8.])
    """
    return input * _power_of_two("ldexp", input, other)


@domain("real")
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """`ldexp` in place.

    Example:
        >>> torch.ldexp_(torch.tensor([1.0]), torch.tensor([3]))
        tensor([8.])
    """
    return input.mul_(_power_of_two("ldexp_", input, other))


def _power_of_two(name: str, input: Any, other: Any) -> Tensor:
    check_tensor(name, "input", input)
    check_tensor(name, "other", other)
    if other.dtype == _BOOL and input.dtype.is_floating_point:
        raise NotImplementedError(f"{name}: not implemented for exponents of torch.bool; cast them first")
    if other.dtype.is_floating_point:
        other = other.contiguous()  # as powers of a number lie
    else:
        kind = result_type(input, other)
        other = other.to(kind if kind.is_floating_point or kind.is_complex else _core.get_default_dtype())
    result: Tensor = _core.ops.exp2(other)
    return result


class _FrexpResult(NamedTuple):
    mantissa: Tensor
    exponent: Tensor


@operation(
    "_frexp(Tensor self)",
    outputs="mantissa exponent",
    node="FrexpBackward0",
    flags=HIDDEN | ELEMENT_BY_ELEMENT,
    rules=(lambda g_mantissa, exponent: g_mantissa / exponent.exp2(),),
    domain="nonzero",
)
def _frexp(self: Any) -> Any:
    return numpy.frexp(self)


@domain("nonzero")
def frexp(input: Tensor) -> _FrexpResult:
    """Mantissa in [0.5, 1) and exponent (int32) of each element: `input == mantissa * 2 ** exponent`.

    Raises:
        RuntimeError: integers.

    Example:
        >>> mantissa, exponent = torch.frexp(torch.tensor([6.0]))
        >>> mantissa, exponent
        (tensor([0.7500]), tensor([3], dtype=torch.int32))
    """
    check_tensor("frexp", "input", input)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"frexp: only supports floating-point dtypes, got {input.dtype}")
    return _FrexpResult(*_frexp(input))
