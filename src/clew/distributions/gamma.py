"""The gamma distribution, and what is made from it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor, _core

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import standard_normal

__all__ = ["Chi2", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"]

_ops: Any = _core.ops


class Gamma(ExponentialFamily):
    """The gamma distribution with the density rate^a x^(a - 1) exp(-rate x) / Gamma(a), a = concentration.

    Draws follow Marsaglia and Tsang 2000; their gradient is that of x with the probability P(a, x) held fixed
    (Figurnov, Mohamed and Mnih 2018, https://arxiv.org/abs/1805.08498).

    Args:
        concentration, rate: positive numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor
    _formulas: ClassVar = {
        "mean": lambda concentration, rate: concentration / rate,
        "mode": lambda concentration, rate: ((concentration - 1) / rate).clamp(min=0),
        "variance": lambda concentration, rate: concentration / rate.pow(2),
        "_cdf": lambda value, concentration, rate: clew.igamma(concentration, rate * value),
        "_natural_params": lambda concentration, rate: (concentration - 1, -rate),
        "_log_normalizer": lambda x, y: (x + 1).lgamma() - (x + 1) * (-y).log(),
    }

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, concentration=concentration, rate=rate)

    def _rsample(self, shape: Size) -> Tensor:
        draws: Tensor = _ops._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        draws.detach().clamp_(min=clew.finfo(draws.dtype).tiny)  # what is rounded to 0 keeps its gradient
        return draws

    def log_prob(self, value: Any) -> Tensor:
        return super().log_prob(clew.as_tensor(value, dtype=self.rate.dtype))

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of df standard normal numbers.

    Args:
        df: degrees of freedom, a positive number or tensor.

    Example:
        >>> torch.distributions.Chi2(torch.tensor(3.0)).mean
        tensor(3.)
    """

    arg_constraints: ClassVar = {"df": constraints.positive}
    df: Tensor
    _formulas: ClassVar = {"df": lambda concentration: concentration * 2}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x for x from `Gamma(concentration, rate)`.

    Example:
        >>> torch.distributions.InverseGamma(torch.tensor(3.0), torch.tensor(4.0)).mean
        tensor(2.)
    """

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True
    concentration: Tensor
    rate: Tensor
    _formulas: ClassVar = {
        "concentration": "base_dist.concentration",
        "rate": "base_dist.rate",
        "mean": lambda concentration, rate: clew.where(concentration > 1, rate / (concentration - 1), math.inf),
        "mode": lambda concentration, rate: rate / (concentration + 1),
    }

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return clew.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """Fisher's F: the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    Args:
        df1, df2: degrees of freedom of numerator and denominator, positive numbers or tensors.

    Example:
        >>> torch.distributions.FisherSnedecor(torch.tensor(2.0), torch.tensor(4.0)).mean
        tensor(2.)
    """

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor
    _formulas: ClassVar = {
        "mean": lambda df2: (df2 / (df2 - 2)).masked_fill(df2 <= 2, math.nan),
        "mode": lambda df1, df2: ((df1 - 2) / df1 * df2 / (df2 + 2)).masked_fill(df1 <= 2, math.nan),
    }

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df1=df1, df2=df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        return (2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))).masked_fill(b <= 4, math.nan)

    def _rsample(self, shape: Size) -> Tensor:
        tiny = clew.finfo(self.df1.dtype).tiny
        numerator, denominator = (gamma.rsample(self._outer(shape)) for gamma in (self._gamma1, self._gamma2))
        return (numerator / denominator.clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p() - log_beta


class StudentT(Distribution):
    """Student's t: loc + scale * z / sqrt(w / df) for a standard normal z and a chi-squared w.

    Args:
        df: degrees of freedom, positive.
        loc, scale: median and scale.

    Example:
        >>> torch.distributions.StudentT(torch.tensor(4.0)).variance
        tensor(2.)
    """

    arg_constraints: ClassVar = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor
    _formulas: ClassVar = {
        "mean": lambda df, loc: loc.masked_fill(df <= 1, math.nan),
        "mode": "loc",
        "_log_beta": lambda df: (0.5 * df).lgamma() + math.lgamma(0.5) - (0.5 * (df + 1)).lgamma(),
    }
    _log_beta: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def _rsample(self, shape: Size) -> Tensor:
        normal = standard_normal(shape, self.df)
        return self.loc + self.scale * (normal * (self._chi2.rsample(self._outer(shape)) / self.df).rsqrt())

    def _log_prob(self, value: Tensor) -> Tensor:
        tail = -0.5 * (self.df + 1) * (((value - self.loc) / self.scale) ** 2 / self.df).log1p()
        return tail - self.scale.log() - 0.5 * self.df.log() - self._log_beta

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        means = half * (half.digamma() - (0.5 * self.df).digamma())
        return self.scale.log() + means + 0.5 * self.df.log() + self._log_beta
