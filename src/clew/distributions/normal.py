"""Distributions with a location and a scale, and what is made from them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, AffineTransform, ExpTransform, StickBreakingTransform
from .utils import _standard_normal as _standard_normal
from .utils import broadcast_all, euler_constant, full_of, standard_normal, uniform

__all__ = [
    "Cauchy",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "Normal",
    "Uniform",
]


class _LocScale(Distribution):
    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor
    _formulas: ClassVar = {"mean": "loc", "mode": "loc"}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution with the density exp(-((x - loc) / scale)² / 2) / (scale sqrt(2 pi)).

    Args:
        loc, scale: mean and standard deviation, numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Normal(torch.tensor([0.0]), torch.tensor([1.0])).log_prob(torch.tensor([0.0]))
        tensor([-0.9189])
    """

    _formulas: ClassVar = {
        "stddev": "scale",
        "variance": lambda scale: scale.pow(2),
        "_sample": lambda shape, loc, scale: clew.normal(loc.expand(shape), scale.expand(shape)),
        "_rsample": lambda shape, loc, scale: loc + standard_normal(shape, loc) * scale,
        "_log_prob": lambda value, loc, scale: (
            -((value - loc) ** 2) / (2 * scale**2) - scale.log() - math.log(2 * math.pi) / 2
        ),
        "_cdf": lambda value, loc, scale: 0.5 * (1 + ((value - loc) / scale / math.sqrt(2)).erf()),
        "icdf": lambda value, loc, scale: loc + scale * clew.erfinv(2 * value - 1) * math.sqrt(2),
        "entropy": lambda scale: 0.5 + 0.5 * math.log(2 * math.pi) + scale.log(),
        "_natural_params": lambda loc, scale: (loc / scale.pow(2), -0.5 * scale.pow(2).reciprocal()),
        "_log_normalizer": lambda x, y: -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log(),
    }


class Cauchy(_LocScale):
    """The Cauchy (Lorentz) distribution with the density 1 / (pi scale (1 + ((x - loc) / scale)²)).

    Args:
        loc, scale: median and half width at half height, numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.7500)
    """

    _formulas: ClassVar = {
        "mean": lambda self, loc: full_of(math.nan, self._extended_shape(), loc),  # the integral does not exist
        "variance": lambda self, loc: full_of(math.inf, self._extended_shape(), loc),
        "_rsample": lambda shape, loc, scale: loc + clew.empty(shape, dtype=loc.dtype).cauchy_() * scale,
        "_log_prob": lambda value, loc, scale: (
            -math.log(math.pi) - scale.log() - (((value - loc) / scale) ** 2).log1p()
        ),
        "_cdf": lambda value, loc, scale: ((value - loc) / scale).atan() / math.pi + 0.5,
        "icdf": lambda value, loc, scale: (math.pi * (value - 0.5)).tan() * scale + loc,
        "entropy": lambda scale: math.log(4 * math.pi) + scale.log(),
    }


class Laplace(_LocScale):
    """The Laplace distribution with the density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc, scale: mean and scale, numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Laplace(0.0, 1.0).variance
        tensor(2.)
    """

    _formulas: ClassVar = {
        "variance": lambda scale: 2 * scale.pow(2),
        "stddev": lambda scale: math.sqrt(2) * scale,
        "_log_prob": lambda value, loc, scale: -(2 * scale).log() - (value - loc).abs() / scale,
        "_cdf": lambda value, loc, scale: 0.5 - 0.5 * (value - loc).sign() * (-(value - loc).abs() / scale).expm1(),
        "icdf": lambda value, loc, scale: loc - scale * (value - 0.5).sign() * (-2 * (value - 0.5).abs()).log1p(),
        "entropy": lambda scale: 1 + (2 * scale).log(),
    }

    def _rsample(self, shape: Size) -> Tensor:
        draws = clew.empty(shape, dtype=self.loc.dtype).uniform_(clew.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * draws.sign() * (-draws.abs()).log1p()


class Uniform(Distribution):
    """The uniform distribution on [low, high), whose mode is NaN.

    Args:
        low, high: numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Uniform(0.0, 3.0).mean
        tensor(1.5000)
    """

    has_rsample = True
    low: Tensor
    high: Tensor
    support = constraints.depending(lambda self: constraints.interval(self.low, self.high))
    _formulas: ClassVar = {
        "arg_constraints": lambda low, high: {
            "low": constraints.less_than(high),
            "high": constraints.greater_than(low),
        },
        "mean": lambda low, high: (high + low) / 2,
        "mode": lambda high: math.nan * high,
        "variance": lambda low, high: (high - low).pow(2) / 12,
        "stddev": lambda low, high: (high - low) / math.sqrt(12),
        "_rsample": lambda shape, low, high: low + uniform(shape, low) * (high - low),
        "_log_prob": lambda value, low, high: (
            ((low <= value) & (high > value)).to(low.dtype).log() - (high - low).log()
        ),
        "_cdf": lambda value, low, high: ((value - low) / (high - low)).clamp(min=0, max=1),
        "icdf": lambda value, low, high: value * (high - low) + low,
        "entropy": lambda low, high: (high - low).log(),
    }

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, low=low, high=high)


# ----------------------------------------------------------------------------------------------------- made from them
class LogNormal(TransformedDistribution):
    """The log-normal distribution: exp(x) for x from `Normal(loc, scale)`.

    Example:
        >>> torch.distributions.LogNormal(0.0, 1.0).mean
        tensor(1.6487)
    """

    arg_constraints = _LocScale.arg_constraints
    support = constraints.positive
    has_rsample = True
    loc: Tensor
    scale: Tensor
    _formulas: ClassVar = {
        "loc": "base_dist.loc",
        "scale": "base_dist.scale",
        "mean": lambda loc, scale: (loc + scale.pow(2) / 2).exp(),
        "mode": lambda loc, scale: (loc - scale.pow(2)).exp(),
        "variance": lambda loc, scale: scale.pow(2).expm1() * (2 * loc + scale.pow(2)).exp(),
        "entropy": lambda base_dist, loc: base_dist.entropy() + loc,
    }

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)


class LogisticNormal(TransformedDistribution):
    """Weights on the simplex of K: `StickBreakingTransform` of K - 1 numbers from `Normal(loc, scale)`.

    Example:
        >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).sample().sum()
        tensor(1.)
    """

    arg_constraints = _LocScale.arg_constraints
    support = constraints.simplex
    has_rsample = True
    loc: Tensor
    scale: Tensor
    _formulas: ClassVar = {"loc": "base_dist.base_dist.loc", "scale": "base_dist.base_dist.scale"}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class _Half(TransformedDistribution):
    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale: Tensor
    _whole: ClassVar[Any]  # the distribution of x, which is symmetric about 0
    _formulas: ClassVar = {
        "scale": "base_dist.scale",
        "mode": lambda scale: clew.zeros_like(scale),
        "_log_prob": lambda value, base_dist: clew.where(
            value >= 0, base_dist.log_prob(value) + math.log(2), -math.inf
        ),
        "_cdf": lambda value, base_dist: 2 * base_dist.cdf(value) - 1,
        "icdf": lambda value, base_dist: base_dist.icdf((value + 1) / 2),
        "entropy": lambda base_dist: base_dist.entropy() - math.log(2),
    }
    cdf = Distribution.cdf

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)


class HalfNormal(_Half):
    """|x| for x from `Normal(0, scale)`.

    Example:
        >>> torch.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    _whole = Normal
    _formulas: ClassVar = {
        "mean": lambda scale: scale * math.sqrt(2 / math.pi),
        "variance": lambda scale: scale.pow(2) * (1 - 2 / math.pi),
    }


class HalfCauchy(_Half):
    """|x| for x from `Cauchy(0, scale)`.

    Example:
        >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)
    """

    _whole = Cauchy
    _formulas: ClassVar = {
        "mean": lambda self, scale: full_of(math.inf, self._extended_shape(), scale),
        "variance": "base_dist.variance",
    }


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale log(-log u) for u from [0, 1).

    Args:
        loc, scale: numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Gumbel(torch.tensor(0.0), torch.tensor(1.0)).mean
        tensor(0.5772)
    """

    arg_constraints = _LocScale.arg_constraints
    support = constraints.real
    loc: Tensor
    scale: Tensor
    _formulas: ClassVar = {
        "mean": lambda loc, scale: loc + scale * euler_constant,
        "mode": "loc",
        "stddev": lambda scale: math.pi / math.sqrt(6) * scale,
        "variance": lambda stddev: stddev.pow(2),
        "_log_prob": lambda value, loc, scale: (loc - value) / scale - ((loc - value) / scale).exp() - scale.log(),
        "entropy": lambda scale: scale.log() + (1 + euler_constant),
    }

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = loc, scale = broadcast_all(loc, scale)
        info = clew.finfo(loc.dtype)
        base = Uniform(clew.full_like(loc, info.tiny), clew.full_like(loc, 1 - info.eps), validate_args=validate_args)
        minus_log = ExpTransform().inv, AffineTransform(0, -clew.ones_like(scale)), ExpTransform().inv
        super().__init__(base, [*minus_log, AffineTransform(loc, -scale)], validate_args=validate_args)
