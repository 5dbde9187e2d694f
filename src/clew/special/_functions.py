"""Functions of clew.special: other names of operations, compositions, and the public names of `_operations`."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import operation
from .._out import filled
from ..ops.elementwise import FLOAT, common_dtype
from . import _bessel, _operations

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

_ops: Any = _core.ops

psi = digamma = _ops.digamma
erf, erfc, erfinv = _ops.erf, _ops.erfc, _ops.erfinv
exp2, expm1, log1p = _ops.exp2, _ops.expm1, _ops.log1p
expit, gammaln, polygamma = _ops.sigmoid, _ops.lgamma, _ops.polygamma
log_softmax, softmax, logsumexp = _ops.log_softmax, _ops.softmax, _ops.logsumexp
round, xlogy = _ops.round, _ops.xlogy
i0, i0e, i1, i1e = _operations.i0, _operations.i0e, _operations.i1, _operations.i1e
entr, erfcx, ndtri, zeta = _operations.entr, _operations.erfcx, _operations.ndtri, _operations.zeta
gammainc, gammaincc = _ops.igamma, _ops.igammac
multigammaln: Any = import_module("clew").mvlgamma
modified_bessel_i0, modified_bessel_i1 = i0, i1


def _given(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    return filled(f"special.{name}", result, out)


def _floating(name: str, input: Tensor) -> Tensor:
    if input.is_complex():
        raise NotImplementedError(f"special.{name}: not implemented for dtype {input.dtype}; take the real parts first")
    return input if input.is_floating_point() else input.to(_core.get_default_dtype())


def _sine_over(x: Tensor) -> Tensor:
    """sin(x) / x, and 1 at 0."""
    zero = x == 0
    inside = _ops.where(zero, 1.0, x)
    result: Tensor = _ops.where(zero, 1.0, inside.sin() / inside)
    return result


@domain("fraction; input=fraction(a, b), eps=0.3")
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the sigmoid, log(x / (1 - x)).

    Args:
        input: floating; integers are cast to the default dtype, as by all functions here.
        eps: clamp to [eps, 1 - eps] first. Without it, what is outside [0, 1] gives NaN.

    Example:
        >>> torch.special.logit(torch.tensor([0.5, 1.0]))
        tensor([0., inf])
    """
    x = _floating("logit", input)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return _given("logit", (x / (1 - x)).log(), out)


@domain("real")
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    Example:
        >>> torch.special.sinc(torch.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
    """
    x = input if input.is_complex() else _floating("sinc", input)
    return _given("sinc", _sine_over(x * math.pi), out)


@domain("input=constant(real(a, b))")
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: sin(x) / x, and 1 at 0.

    Example:
        >>> torch.special.spherical_bessel_j0(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.8415])
    """
    return _given("spherical_bessel_j0", _sine_over(_floating("spherical_bessel_j0", input)), out)


@domain("real")
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The distribution function of the standard normal distribution, erfc(-x / sqrt(2)) / 2.

    Example:
        >>> torch.special.ndtr(torch.tensor([0.0, 1.96]))
        tensor([0.5000, 0.9750])
    """
    return _given("ndtr", 0.5 * (_floating("ndtr", input) * -math.sqrt(0.5)).erfc(), out)


@domain("real")
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`, accurate where `ndtr` underflows, too.

    Example:
        >>> torch.special.log_ndtr(torch.tensor([-100.0]))
        tensor([-5005.5244])
    """
    x = _floating("log_ndtr", input)
    low = x < -1
    tail, rest = x.masked_fill(~low, -1), x.masked_fill(low, 0)
    below = (erfcx(tail * -math.sqrt(0.5)) / 2).log() - tail.square() / 2
    above = (-0.5 * (rest * math.sqrt(0.5)).erfc()).log1p()
    return _given("log_ndtr", below.where(low, above), out)


@domain("input=real(a, b), other=positive(a, b)")
def xlog1py(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """x log1p(y), and 0 where x is 0, unless y is NaN.

    Example:
        >>> torch.special.xlog1py(torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 0.0]))
        tensor([0., 0.])
    """
    x, y = (one if isinstance(one, Tensor) else _core.tensor(one) for one in (input, other))
    common_dtype("special.xlog1py", [x, y], FLOAT)
    hidden = (x == 0) & ~_ops.isnan(y)
    product = x * (y.masked_fill(hidden, 0) if hidden.shape == y.shape else y).log1p()
    return _given("xlog1py", _ops.where(hidden, 0.0, product), out)


_BESSEL: list[Any] = [
    lambda x: _bessel.j(0, x),
    lambda x: _bessel.j(1, x),
    lambda x: _bessel.scaled_k(0, x) * numpy.exp(-x),
    lambda x: _bessel.scaled_k(1, x) * numpy.exp(-x),
    lambda x: _bessel.scaled_k(0, x),
    lambda x: _bessel.scaled_k(1, x),
]


@operation(
    "_special_bessel(Tensor self, *, int kind)",
    infer=lambda self, kind: self.new_empty(self.shape),
    domain="self=constant(positive(a, b)), kind=2",
)
def _bessel_of_kind(self: Any, kind: int) -> Any:
    """A Bessel function, by its place in the list."""
    return numpy.asarray(_BESSEL[kind](self)).astype(self.dtype, copy=False)


def _by_values(name: str, input: Tensor, kind: int, out: Tensor | None) -> Tensor:
    """A function without a derivative, as in PyTorch."""
    if _core.asks_for_derivative(input):
        raise NotImplementedError(f"special.{name}: the derivative is not implemented; detach the argument")
    x = _floating(name, input)
    if x.is_meta:
        return _given(name, _ops._empty_like(x, x.dtype), out)
    return _given(name, x.detach().clone().copy_(_bessel_of_kind(x.detach(), kind=kind)), out)


@domain("unsampled, 'PyTorch is less accurate: it is compared with SciPy'")
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0.

    Example:
        >>> torch.special.bessel_j0(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.7652])
    """
    return _by_values("bessel_j0", input, 0, out)


@domain("unsampled, 'PyTorch is less accurate: it is compared with SciPy'")
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1.

    Example:
        >>> torch.special.bessel_j1(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.4401])
    """
    return _by_values("bessel_j1", input, 1, out)


@domain("input=constant(positive(a, b))")
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0.

    Example:
        >>> torch.special.modified_bessel_k0(torch.tensor([0.0, 1.0]))
        tensor([   inf, 0.4210])
    """
    return _by_values("modified_bessel_k0", input, 2, out)


@domain("input=constant(positive(a, b))")
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1.

    Example:
        >>> torch.special.modified_bessel_k1(torch.tensor([0.0, 1.0]))
        tensor([   inf, 0.6019])
    """
    return _by_values("modified_bessel_k1", input, 3, out)


@domain("input=constant(positive(a, b))")
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times `modified_bessel_k0`, which does not underflow for large x.

    Example:
        >>> torch.special.scaled_modified_bessel_k0(torch.tensor([1.0, 100.0]))
        tensor([1.1445, 0.1252])
    """
    return _by_values("scaled_modified_bessel_k0", input, 4, out)


@domain("input=constant(positive(a, b))")
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times `modified_bessel_k1`, which does not underflow for large x.

    Example:
        >>> torch.special.scaled_modified_bessel_k1(torch.tensor([1.0, 100.0]))
        tensor([1.6362, 0.1258])
    """
    return _by_values("scaled_modified_bessel_k1", input, 5, out)
