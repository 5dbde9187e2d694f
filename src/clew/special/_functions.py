"""Functions of clew.special: other names of operations, compositions, and the faces of `_operations`."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
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
]

_ops: Any = _core.ops

psi = digamma = _ops.digamma
erf, erfc, erfinv = _ops.erf, _ops.erfc, _ops.erfinv
exp2, expm1, log1p = _ops.exp2, _ops.expm1, _ops.log1p
expit, gammaln, polygamma = _ops.sigmoid, _ops.lgamma, _ops.polygamma
log_softmax, softmax, logsumexp = _ops.log_softmax, _ops.softmax, _ops.logsumexp
round, xlogy = _ops.round, _ops.xlogy
i0, i0e, i1, i1e = _operations.i0, _operations.i0e, _operations.i1, _operations.i1e
erfcx, ndtri = _operations.erfcx, _operations.ndtri
gammainc, gammaincc = _ops.igamma, _ops.igammac
multigammaln: Any = import_module("clew").mvlgamma
modified_bessel_i0, modified_bessel_i1 = i0, i1


def _given(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return result
    from ..linalg._checks import filled

    return filled(f"special.{name}", result, out)


def _floating(input: Tensor) -> Tensor:
    return input if input.dtype.is_floating_point else input.to(_core.get_default_dtype())


@domain("fraction; input=fraction(a, b), eps=0.3")
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the sigmoid, log(x / (1 - x)).

    Args:
        eps: clamp to [eps, 1 - eps] first. Without it, what is outside [0, 1] gives NaN.

    >>> import clew
    >>> clew.special.logit(clew.tensor([0.5, 1.0]))
    tensor([0., inf])
    """
    x = _floating(input)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return _given("logit", (x / (1 - x)).log(), out)


@domain("real")
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    >>> import clew
    >>> clew.special.sinc(clew.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    return _given("sinc", spherical_bessel_j0(_floating(input) * math.pi), out)


@domain("input=constant(real(a, b))")
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(x) / x, and 1 at 0.

    >>> import clew
    >>> clew.special.spherical_bessel_j0(clew.tensor([0.0]))
    tensor([1.])
    """
    x = _floating(input)
    zero = x == 0
    inside = _ops.where(zero, 1.0, x)
    return _given("spherical_bessel_j0", _ops.where(zero, 1.0, inside.sin() / inside), out)


@domain("positive")
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-x log(x), 0 at 0, and -inf below.

    >>> import clew
    >>> clew.special.entr(clew.tensor([-1.0, 0.0, 1.0]))
    tensor([-inf, -0., -0.])
    """
    x = _floating(input)
    return _given("entr", _ops.where(x < 0, -math.inf, -_ops.xlogy(x, _ops.where(x < 0, 1.0, x))), out)


@domain("real")
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The distribution function of the standard normal distribution.

    >>> import clew
    >>> clew.special.ndtr(clew.tensor([0.0]))
    tensor([0.5000])
    """
    return _given("ndtr", 0.5 * (_floating(input) * -math.sqrt(0.5)).erfc(), out)


@domain("real")
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`, also where that vanishes.

    >>> import clew
    >>> clew.special.log_ndtr(clew.tensor([-100.0]))
    tensor([-5005.5244])
    """
    x = _floating(input)
    low = x < -1
    tail, rest = x.masked_fill(~low, -1), x.masked_fill(low, 0)
    below = (erfcx(tail * -math.sqrt(0.5)) / 2).log() - tail.square() / 2
    above = (-0.5 * (rest * math.sqrt(0.5)).erfc()).log1p()
    return _given("log_ndtr", below.where(low, above), out)


@domain("input=real(a, b), other=positive(a, b)")
def xlog1py(input: Tensor | float, other: Tensor | float, *, out: Tensor | None = None) -> Tensor:
    """x log1p(y), and 0 where x is 0, unless y is NaN.

    >>> import clew
    >>> clew.special.xlog1py(clew.tensor([0.0, 1.0]), clew.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    x, y = (one if isinstance(one, Tensor) else _core.tensor(one) for one in (input, other))
    hidden = (x == 0) & ~_ops.isnan(y)
    product = x * y.masked_fill(hidden, 0).log1p() if hidden.any() and hidden.shape == y.shape else x * y.log1p()
    return _given("xlog1py", _ops.where(hidden, 0.0, product), out)


def _by_values(name: str, input: Tensor, compute: Any, out: Tensor | None) -> Tensor:
    """A function without a derivative, as in PyTorch."""
    if input.requires_grad and _core.is_grad_enabled():
        raise NotImplementedError(f"special.{name}: the derivative is not implemented; detach the argument")
    x = _floating(input)
    return _given(name, x.detach().clone().copy_(_core.from_numpy(numpy.asarray(compute(x.detach().numpy())))), out)


@domain("unsampled, 'PyTorch is less accurate: it is compared with SciPy'")
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""
    return _by_values("bessel_j0", input, lambda x: _bessel.j(0, x), out)


@domain("unsampled, 'PyTorch is less accurate: it is compared with SciPy'")
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""
    return _by_values("bessel_j1", input, lambda x: _bessel.j(1, x), out)


@domain("input=constant(positive(a, b))")
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
    return _by_values("modified_bessel_k0", input, lambda x: _bessel.scaled_k(0, x) * numpy.exp(-x), out)


@domain("input=constant(positive(a, b))")
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
    return _by_values("modified_bessel_k1", input, lambda x: _bessel.scaled_k(1, x) * numpy.exp(-x), out)


@domain("input=constant(positive(a, b))")
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times `modified_bessel_k0`."""
    return _by_values("scaled_modified_bessel_k0", input, lambda x: _bessel.scaled_k(0, x), out)


@domain("input=constant(positive(a, b))")
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times `modified_bessel_k1`."""
    return _by_values("scaled_modified_bessel_k1", input, lambda x: _bessel.scaled_k(1, x), out)
