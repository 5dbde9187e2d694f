"""The exponential distribution and its transforms; distributions with power tails."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .utils import broadcast_all, euler_constant, uniform

__all__ = ["Exponential", "GeneralizedPareto", "Pareto", "Weibull"]


class Exponential(ExponentialFamily):
    """The exponential distribution with the density rate exp(-rate x).

    Args:
        rate: 1 / mean, a positive number or tensor.

    Example:
        >>> torch.distributions.Exponential(4.0).mean
        tensor(0.2500)
    """

    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor
    _formulas: ClassVar = {
        "mean": lambda rate: rate.reciprocal(),
        "mode": lambda rate: clew.zeros_like(rate),
        "variance": lambda rate: rate.pow(-2),
        "_rsample": lambda shape, rate: clew.empty(shape, dtype=rate.dtype).exponential_() / rate,
        "_log_prob": lambda value, rate: rate.log() - rate * value,
        "_cdf": lambda value, rate: 1 - (-rate * value).exp(),
        "icdf": lambda value, rate: -(-value).log1p() / rate,
        "entropy": lambda rate: 1 - rate.log(),
        "_natural_params": lambda rate: (-rate,),
        "_log_normalizer": lambda x: -(-x).log(),
    }

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale * x^(1 / concentration) for x from `Exponential(1)`.

    Args:
        scale, concentration: positive numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Weibull(torch.tensor(2.0), torch.tensor(1.0)).mean
        tensor(2.)
    """

    arg_constraints: ClassVar = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor
    concentration_reciprocal: Tensor
    _formulas: ClassVar = {
        "concentration_reciprocal": lambda concentration: concentration.reciprocal(),
        "mean": lambda scale, concentration_reciprocal: scale * (1 + concentration_reciprocal).lgamma().exp(),
        "mode": lambda scale, concentration: scale * ((concentration - 1) / concentration) ** (1 / concentration),
    }

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(clew.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution of type 1, on [scale, inf): scale * exp(x) for x from `Exponential(alpha)`.

    Args:
        scale: the smallest value.
        alpha: the exponent of the tail.

    Example:
        >>> torch.distributions.Pareto(torch.tensor(1.0), torch.tensor(2.0)).mean
        tensor(2.)
    """

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Tensor
    alpha: Tensor
    support = constraints.depending(lambda self: constraints.greater_than_eq(self.scale))
    _formulas: ClassVar = {
        "mean": lambda scale, alpha: alpha.clamp(min=1) * scale / (alpha.clamp(min=1) - 1),
        "mode": "scale",
        "entropy": lambda scale, alpha: (scale / alpha).log() + (1 + alpha.reciprocal()),
    }

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution: P(x > t) = (1 + c z)^(-1 / c), exp(-z) for c = 0, z = (t - loc) / scale.

    Args:
        loc: the smallest value.
        scale: positive.
        concentration: c; the values are bounded where it is negative.

    Example:
        >>> torch.distributions.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.5)).mean
        tensor(2.)
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
    _formulas: ClassVar = {
        "mode": "loc",
        "_rsample": lambda shape, self, loc: self.icdf(uniform(shape, loc)),
        "entropy": lambda scale, concentration: scale.log() + concentration + 1,
    }

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.depending
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
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        c = clew.where(valid, self.concentration, 0.25)
        return clew.where(valid, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

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
