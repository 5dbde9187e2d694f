"""Operations of clew.special with forwards over NumPy, in float64 inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import _core
from .._core import Operation, Tensor
from .._numeric import array_of
from .._operation import ELEMENT_BY_ELEMENT, NAMESPACE, OUT, Rule, operation
from .._scipy import scipy
from .._size import broadcast_shapes
from ..ops.elementwise import FLOAT, common_dtype
from . import _bessel

_ops: Any = _core.ops
FLAGS = NAMESPACE | OUT | ELEMENT_BY_ELEMENT


def _function(
    name: str, *rules: Rule, domain: str, node: str | None = None
) -> Callable[[Callable[..., Any]], Operation]:
    """Register a function of one real tensor whose values are computed in float64; a floating dtype stays."""

    def define(compute: Callable[..., Any]) -> Operation:
        def forward(self: Tensor) -> Any:
            dtype = common_dtype(f"special.{name}", [self], FLOAT)
            return compute(array_of(self).astype(float)).astype(dtype)

        forward.__doc__ = compute.__doc__
        schema = f"special_{name}(Tensor self)"
        return operation(schema, rules=rules, flags=FLAGS, node=node, arrays=False, domain=domain)(forward)

    return define


# ---------------------------------------------------------------------------------------------------- modified Bessel
@_function("i0", lambda g, self: g * _ops.special_i1(self), node="I0Backward0", domain="real; self=real(a, b) * 40")
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0.

    Example:
        >>> torch.special.i0(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
    """
    return _bessel.scaled_i(0, x) * numpy.exp(abs(x))


@_function(
    "i0e",
    lambda g, self, result: g * (_ops.special_i1e(self) - self.sign() * result),
    node="SpecialI0EBackward0",
    domain="real",
)
def i0e(x: Any) -> Any:
    """exp(-|self|) i0(self).

    Example:
        >>> torch.special.i0e(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.4658])
    """
    return _bessel.scaled_i(0, x)


def _over(value: Tensor, x: Tensor) -> Tensor:
    """value / x, and its limit 1/2 at 0, where value is i1 or i1e."""
    zero = x == 0
    result: Tensor = (value / x.masked_fill(zero, 1)).masked_fill(zero, 0.5)
    return result


@_function("i1", lambda g, self, result: g * (i0(self) - _over(result, self)), domain="real; self=real(a, b) * 40")
def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1.

    Example:
        >>> torch.special.i1(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.5652])
    """
    return _bessel.scaled_i(1, x) * numpy.exp(abs(x))


@_function(
    "i1e",
    lambda g, self, result: g * (i0e(self) - result * self.sign() - _over(result, self)),
    node="SpecialI1EBackward0",
    domain="real",
)
def i1e(x: Any) -> Any:
    """exp(-|self|) i1(self).

    Example:
        >>> torch.special.i1e(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2079])
    """
    return _bessel.scaled_i(1, x)


# --------------------------------------------------------------------------------------------------- error functions
@_function(
    "erfcx",
    lambda g, self, result: g * (2 * self * result - 2 / math.sqrt(math.pi)),
    domain="real; self=positive(a, b) * 8",
)
def erfcx(x: Any) -> Any:
    """The scaled complementary error function exp(self²) erfc(self), finite where erfc underflows.

    Example:
        >>> torch.special.erfcx(torch.tensor([0.0, 100.0]))
        tensor([1.0000, 0.0056])
    """
    head = numpy.round(x * 1024) / 1024  # its square is exact, so that the exponential is
    square = numpy.exp(head * head) * numpy.exp((x - head) * (x + head))
    near = square * _ops.erfc(_core.from_numpy(numpy.asarray(x, order="C"))).numpy()
    inverse = 1 / (2 * numpy.where(x > 9, x, 9.0) ** 2)
    far, term = numpy.zeros_like(x), numpy.ones_like(x)
    for n in range(20):
        far, term = far + term, -term * (2 * n + 1) * inverse
    far = far / numpy.where(x > 9, x, 9.0) / math.sqrt(math.pi)
    return numpy.where(x > 9, far, near)


@_function("ndtri", lambda g, result: g * (result.square() / 2).exp() * math.sqrt(2 * math.pi), domain="fraction")
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`: the quantile function of the standard normal distribution; NaN outside [0, 1].

    Example:
        >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
        tensor([0.0000, 1.9600])
    """
    tail = numpy.minimum(p, 1 - p)
    inside = (tail > 0) & (tail <= 0.5)
    goal = numpy.log(numpy.where(inside, tail, 0.5))
    x = -numpy.sqrt(numpy.maximum(-2 * goal - numpy.log(numpy.maximum(-4 * math.pi * goal, 1)), 0))
    for _ in range(10):  # Newton's steps on the logarithm, which is concave: they do not overshoot for long
        scaled = erfcx(_core.from_numpy(numpy.asarray(-x / math.sqrt(2), order="C"))).numpy()
        error = numpy.log(scaled / 2) - x * x / 2 - goal
        x = x - error * scaled * math.sqrt(math.pi / 2)
    x = numpy.where(p >= 0.5, -x, x)
    ends = numpy.where(p == 0, -numpy.inf, numpy.where(p == 1, numpy.inf, numpy.nan))
    return numpy.where(inside, x, ends)


@_function("entr", lambda g, self: g * (-1 - self.log()), domain="positive")
def entr(x: Any) -> Any:
    """The entropy term -self log(self): 0 at 0, and -inf below, where it has no slope.

    Example:
        >>> torch.special.entr(torch.tensor([-1.0, 0.0, 0.5]))
        tensor([  -inf, 0.0000, 0.3466])
    """
    return numpy.where(x < 0, -numpy.inf, numpy.where(x == 0, 0.0, -x * numpy.log(x)))


# ------------------------------------------------------------------------------------------------------ over SciPy
def _no_slope_in_self(g: Tensor) -> Tensor:
    raise NotImplementedError("special.zeta: its derivative in the first argument is not implemented; detach() it")


@operation(
    "special_zeta(Operand self, Operand other)",
    rules=(_no_slope_in_self, lambda g, self, other: g * -self * _ops.special_zeta(self + 1, other)),
    flags=FLAGS,
    arrays=False,
    domain="self=constant(positive(a, b) + 1.2), other=positive(b)",
)
def zeta(self: Tensor, other: Tensor) -> Any:
    """The Hurwitz zeta function: the sum of (other + n)^-self over n = 0, 1, 2 ... With other = 1 it is Riemann's.

    Args:
        self, other: tensors that are broadcast together, or one of them a number; whole numbers count as floats.
            `self` must be above 1; the result is infinite at 1 and NaN below.

    Raises:
        ImportError: SciPy, which computes it, is not installed.

    Example:
        >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1)
        tensor([1.6449, 1.0823])
    """
    hurwitz = scipy("special", "special.zeta").zeta

    broadcast_shapes(self.shape, other.shape)
    dtype = common_dtype("special.zeta", [self, other], FLOAT)
    x, q = (one.detach().numpy().astype(float) for one in (self, other))
    return hurwitz(x, q).astype(dtype)
