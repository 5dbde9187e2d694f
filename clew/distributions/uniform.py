"""The uniform distribution, and the Gumbel distribution that is made from it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all, euler_constant, uniform

__all__ = ["Gumbel", "Uniform"]


class Uniform(Distribution):
    """Numbers from [low, high), all equally likely.

    Args:
        low, high: numbers or tensors that are broadcast together.

    >>> from clew.distributions import Uniform
    >>> Uniform(0.0, 3.0).mean
    tensor(1.5000)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Each bound limits the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: the density has no peak."""
        return math.nan * self.high

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / math.sqrt(12)

    def _rsample(self, shape: Size) -> Tensor:
        return self.low + uniform(shape, self.low) * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale log(-log u) for u from [0, 1).

    Args:
        loc, scale: numbers or tensors that are broadcast together.
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = clew.finfo(self.loc.dtype)
        low, high = clew.full_like(self.loc, info.tiny), clew.full_like(self.loc, 1 - info.eps)
        steps = [
            ExpTransform().inv,
            AffineTransform(0, -clew.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
