"""Transforms of each element by itself."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Tensor

from . import constraints
from ._transform import Transform, widened
from .utils import broadcast_all, is_number, sum_rightmost


class Fixed(Transform):
    """A transform without parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class _Increasing(Fixed):
    domain = constraints.real
    bijective = True
    sign: ClassVar = +1


class ExpTransform(_Increasing):
    """y = exp(x).

    Example:
        >>> torch.distributions.ExpTransform()(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

    codomain = constraints.positive
    _formulas: ClassVar = {
        "_call": lambda x: x.exp(),
        "_inverse": lambda y: y.log(),
        "log_abs_det_jacobian": lambda x, y: x,
    }


def inside_unit_interval(x: Tensor) -> Tensor:
    """Numbers kept away from 0 and 1, on their side."""
    info = clew.finfo(x.dtype)
    return x.clamp(min=info.tiny, max=1 - info.eps)


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept away from 0 and 1.

    Example:
        >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """

    codomain = constraints.unit_interval
    _formulas: ClassVar = {
        "_call": lambda x: inside_unit_interval(x.sigmoid()),
        "log_abs_det_jacobian": lambda x, y: -F.softplus(-x) - F.softplus(x),
    }

    def _inverse(self, y: Tensor) -> Tensor:
        y = inside_unit_interval(y)
        return y.log() - (-y).log1p()


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)).

    Example:
        >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 1.0]))
        tensor([0.6931, 1.3133])
    """

    codomain = constraints.positive
    _formulas: ClassVar = {
        "_call": lambda x: F.softplus(x),
        "_inverse": lambda y: (-(-y).expm1()).log() + y,
        "log_abs_det_jacobian": lambda x, y: -F.softplus(-x),
    }


class TanhTransform(_Increasing):
    """y = tanh(x), whose Jacobian is exact where y is rounded to 1.

    Example:
        >>> torch.distributions.TanhTransform()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)
    _formulas: ClassVar = {
        "_call": lambda x: x.tanh(),
        "_inverse": lambda y: (y.log1p() - (-y).log1p()) / 2,
        "log_abs_det_jacobian": lambda x, y: 2 * (math.log(2) - x - F.softplus(-2 * x)),
    }


class AbsTransform(Fixed):
    """y = |x|, with the positive root for an inverse.

    Example:
        >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 1.0]))
        tensor([1., 1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    _formulas: ClassVar = {
        "_call": lambda x: x.abs(),
        "_inverse": lambda y: y,
    }


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


def _broadcast(shape: Any, *values: Any) -> Any:
    return clew.broadcast_shapes(shape, *(getattr(value, "shape", ()) for value in values))


class PowerTransform(Transform):
    """y = x^exponent for positive x.

    Example:
        >>> torch.distributions.PowerTransform(2.0)(torch.tensor([1.0, 3.0]))
        tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = Transform.__hash__

    _formulas: ClassVar = {
        "sign": lambda exponent: exponent.sign(),
        "forward_shape": lambda shape, exponent: _broadcast(shape, exponent),
        "inverse_shape": lambda shape, exponent: _broadcast(shape, exponent),
        "_call": lambda x, exponent: x.pow(exponent),
        "_inverse": lambda y, exponent: y.pow(1 / exponent),
        "log_abs_det_jacobian": lambda x, y, exponent: (exponent * y / x).abs().log(),
    }


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc, scale: numbers or tensors.
        event_dim: how many axes on the right make up an event.

    Example:
        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([0.0, 1.0]))
        tensor([1., 3.])
    """

    bijective = True
    domain = codomain = constraints.dependent_property(
        lambda self: widened(constraints.real, self._event_dim), is_discrete=False
    )

    _arguments: ClassVar = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim

    @property
    def sign(self) -> Any:
        return (self.scale > 0) - (self.scale < 0) if is_number(self.scale) else self.scale.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = Transform.__hash__

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = clew.full_like(x, self.scale) if is_number(self.scale) else self.scale
        return sum_rightmost(scale.abs().log().expand(x.shape), self._event_dim)

    _formulas: ClassVar = {
        "event_dim": "_event_dim",
        "forward_shape": lambda shape, loc, scale: _broadcast(shape, loc, scale),
        "inverse_shape": lambda shape, loc, scale: _broadcast(shape, loc, scale),
        "_call": lambda x, loc, scale: loc + scale * x,
        "_inverse": lambda y, loc, scale: (y - loc) / scale,
    }


class CumulativeDistributionTransform(Transform):
    """y = the probability, under a distribution, of at most x.

    Example:
        >>> normal = torch.distributions.Normal(0.0, 1.0)
        >>> torch.distributions.CumulativeDistributionTransform(normal)(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign: ClassVar = +1

    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain: ClassVar = property(lambda self: self.distribution.support)
    _formulas: ClassVar = {
        "_call": lambda x, distribution: distribution.cdf(x),
        "_inverse": lambda y, distribution: distribution.icdf(y),
        "log_abs_det_jacobian": lambda x, y, distribution: distribution.log_prob(x),
    }
