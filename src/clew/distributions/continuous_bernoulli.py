"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Tensor

from . import constraints
from .bernoulli import ProbsOrLogits
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, cross_entropy, lazy_property, logits_to_probs, uniform

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers in [0, 1] with a density proportional to probs^x (1 - probs)^(1 - x) (Loaiza-Ganem and Cunningham 2019,
    https://arxiv.org/abs/1907.06845).

    Args:
        probs, logits: as for `Bernoulli`; `probs` are not the mean.
        lims: between these, where the formulas are 0 / 0, series about 1/2 are used.

    Example:
        >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
        tensor(0.5000)
    """

    support = constraints.unit_interval
    has_rsample = True
    _formulas: ClassVar = {
        "_rsample": lambda shape, self, probs: self.icdf(uniform(shape, probs)),
        "_log_prob": lambda value, self, logits: (
            self._cont_bern_log_norm() - cross_entropy(*broadcast_all(logits, value))
        ),
        "_natural_params": lambda logits: (logits,),
    }

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, of the Bernoulli distribution with the same density."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _by_region(self, formula: Any, series: Any) -> Tensor:
        """A formula of probs away from 1/2, a series in probs - 1/2 near it."""
        outside = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        cut = clew.where(outside, self.probs, self._lims[0])  # where the formula has finite gradients
        return clew.where(outside, formula(cut), series(self.probs - 0.5))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of 2 artanh(1 - 2 probs) / (1 - 2 probs)."""
        return self._by_region(
            lambda p: ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log(),
            lambda x: math.log(2) + (4 / 3 + 104 / 45 * x**2) * x**2,
        )

    @property
    def mean(self) -> Tensor:
        return self._by_region(
            lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), lambda x: 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        )

    @property
    def variance(self) -> Tensor:
        return self._by_region(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2,
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2,
        )

    def _cdf(self, value: Tensor) -> Tensor:
        inside = self._by_region(lambda p: (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), lambda x: value)
        return clew.where(value <= 0, clew.zeros_like(inside), clew.where(value >= 1, clew.ones_like(inside), inside))

    def icdf(self, value: Tensor) -> Tensor:
        return self._by_region(
            lambda p: ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()), lambda x: value
        )

    def entropy(self) -> Tensor:
        log_tail = (-self.probs).log1p()
        return self.mean * (log_tail - self.probs.log()) - self._cont_bern_log_norm() - log_tail

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of (exp(x) - 1) / x."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = clew.where(outside, x, self._lims[0] - 0.5)
        series = x / 2 + x**2 / 24 - x**4 / 2880
        return clew.where(outside, cut.expm1().abs().log() - cut.abs().log(), series)
