"""Expectations that divergences between distributions of two families are made of."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor


def infinite_where(condition: Tensor, value: Tensor) -> Tensor:
    """The value, but infinity where the condition holds."""
    return clew.where(condition, math.inf, value)


def mean_log(p: Any) -> Tensor:
    """E[log x] of a uniform number on [low, high]."""
    width = p.high - p.low
    return (p.high.xlogy(p.high) - p.low.xlogy(p.low) - width) / width


def under_exponential(p: Any, q: Any) -> Tensor:
    """-entropy(p) - E[log q] for an exponential q, from the mean of p."""
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def under_gamma(p: Any, q: Any, mean_log: Tensor) -> Tensor:
    """The same for a gamma q, from the means of x and log x."""
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * mean_log + q.rate * p.mean


def under_normal(p: Any, q: Any) -> Tensor:
    """The same for a normal q, from mean and variance."""
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + spread


def under_gumbel(p: Any, q: Any, mean_exp: Tensor) -> Tensor:
    """The same for a Gumbel q, from the means of x and exp(-(x - loc) / scale)."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp


def under_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """The same for a continuous Bernoulli q, from the mean."""
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def exp_under_uniform(p: Any, q: Any) -> Tensor:
    """The mean of exp(-(x - q.loc) / q.scale)."""
    difference = (-(p.low - q.loc) / q.scale).exp() - (-(p.high - q.loc) / q.scale).exp()
    return q.scale / (p.high - p.low) * difference


def exp_under_gamma(p: Any, q: Any, concentration: Any) -> Tensor:
    return (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)).pow(-concentration)
