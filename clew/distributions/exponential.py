"""The exponential distribution and its transforms; distributions with exponential or power tails."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .utils import broadcast_all, euler_constant, uniform

__all__ = ["Exponential", "GeneralizedPareto", "Laplace", "Pareto", "Weibull"]


class Exponential(ExponentialFamily):
    """The exponential distribution with the density rate exp(-rate x).

    Args:
        rate: 1 / mean, a positive number or tensor.

    >>> from clew.distributions import Exponential
    >>> Exponential(4.0).mean
    tensor(0.2500)
    """

    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return clew.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def _rsample(self, shape: Size) -> Tensor:
        return clew.empty(shape, dtype=self.rate.dtype).exponential_() / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale * x^(1 / concentration) for x from `Exponential(1)`.

    Args:
        scale, concentration: positive numbers or tensors that are broadcast together.
    """

    arg_constraints: ClassVar = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(clew.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def concentration_reciprocal(self) -> Tensor:
        """1 / concentration."""
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        second = (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        return self.scale.pow(2) * (second - (2 * (1 + self.concentration_reciprocal).lgamma()).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution of type 1, on [scale, inf): scale * exp(x) for x from `Exponential(alpha)`.

    Args:
        scale: the smallest value.
        alpha: the exponent of the tail.
    """

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution: P(x > t) = (1 + c z)^(-1 / c), exp(-z) for c = 0, z = (t - loc) / scale.

    Args:
        loc: the smallest value.
        scale: positive.
        concentration: c; the values are bounded where it is negative.
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = clew.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _by_concentration(self, formula: Any, at_zero: Tensor) -> Tensor:
        """A formula of the concentration, and its limit where that is 0."""
        zero = clew.isclose(self.concentration, clew.zeros_like(self.concentration))
        return clew.where(zero, at_zero, formula(self.concentration.masked_fill(zero, 1)))

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        finite = self.loc + self.scale / (1 - clew.where(valid, self.concentration, 0.5))
        return clew.where(valid, finite, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        c = clew.where(valid, self.concentration, 0.25)
        return clew.where(valid, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def _rsample(self, shape: Size) -> Tensor:
        return self.icdf(uniform(shape, self.loc))

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale

        def power(c: Tensor) -> Tensor:  # (1 + 1 / c) log(1 + c z), and 0 where c = -1: a uniform distribution
            return clew.where(c == -1, 0.0, (1 + 1 / c) * (c * z).log1p())

        return -self.scale.log() - self._by_concentration(power, z)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log P(x > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return self._by_concentration(lambda c: -(c * z).log1p() / c, -z)

    def log_cdf(self, value: Tensor) -> Tensor:
        """log P(x <= value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        log_tail = (-value).log1p()
        return self._by_concentration(
            lambda c: self.loc + self.scale / c * (-c * log_tail).expm1(), self.loc - self.scale * log_tail
        )

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


class Laplace(Distribution):
    """The Laplace distribution with the density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc, scale: mean and scale, numbers or tensors that are broadcast together.
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def _rsample(self, shape: Size) -> Tensor:
        draws = clew.empty(shape, dtype=self.loc.dtype).uniform_(clew.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * draws.sign() * (-draws.abs()).log1p()

    def _log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def _cdf(self, value: Tensor) -> Tensor:
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * (-2 * away.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
