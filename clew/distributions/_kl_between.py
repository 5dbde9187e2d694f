"""Divergences between members of different families: -entropy(p) - E[log q], from means under p."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor

from ._kl_registry import infinite_where, register_kl
from .bernoulli import Bernoulli, Binomial, Poisson
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Beta
from .exponential import Exponential, Laplace, Pareto
from .gamma import Gamma
from .normal import Normal
from .uniform import Gumbel, Uniform
from .utils import euler_constant

# Where p puts mass on what q excludes, whatever the parameters are.
_INFINITE: dict[type, list[type]] = {
    Beta: [Pareto],
    ContinuousBernoulli: [Pareto],
    Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gumbel: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Laplace: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Normal: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Pareto: [Beta, ContinuousBernoulli, Uniform],
    Poisson: [Bernoulli, Binomial],
}
for _p, _wider in _INFINITE.items():
    for _q in _wider:

        @register_kl(_p, _q)
        def _infinite(p: Any, q: Any) -> Tensor:
            return clew.full(p.batch_shape, math.inf, dtype=p.mean.dtype)


def _mean_log(p: Any) -> Tensor:
    """E[log x] of a uniform number on [low, high]."""
    width = p.high - p.low
    return (p.high.xlogy(p.high) - p.low.xlogy(p.low) - width) / width


def _under_exponential(p: Any, q: Any) -> Tensor:
    """-entropy(p) - E[log q] for an exponential q, from the mean of p."""
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _under_gamma(p: Any, q: Any, mean_log: Tensor) -> Tensor:
    """The same for a gamma q, from the means of x and log x."""
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * mean_log + q.rate * p.mean


def _under_normal(p: Any, q: Any) -> Tensor:
    """The same for a normal q, from mean and variance."""
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + spread


def _under_gumbel(p: Any, q: Any, mean_exp: Tensor) -> Tensor:
    """The same for a Gumbel q, from the means of x and exp(-(x - loc) / scale)."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp


def _under_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


for _p in (Beta, ContinuousBernoulli, Gamma):
    register_kl(_p, Exponential)(_under_exponential)
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_p, Normal)(_under_normal)
register_kl(Beta, ContinuousBernoulli)(_under_continuous_bernoulli)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    return _under_gamma(p, q, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    return infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    return infinite_where((q.low >= 0) | (q.high <= 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    return _under_gamma(p, q, -p.rate.log() - euler_constant)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    return _under_gumbel(p, q, (q.loc / q.scale).exp() * product / (product + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    return _under_gumbel(p, q, (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)).pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    return _under_gumbel(p, q, ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp())


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    difference = (-(p.low - q.loc) / q.scale).exp() - (-(p.high - q.loc) / q.scale).exp()
    return _under_gumbel(p, q, q.scale / (p.high - p.low) * difference)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    z = away / p.scale
    mean_abs = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + away * (math.sqrt(0.5) * z).erf()
    return -p.entropy() + (2 * q.scale).log() + mean_abs / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    return infinite_where(p.alpha <= 1, _under_exponential(p, q))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    return infinite_where(p.alpha <= 1, _under_gamma(p, q, p.scale.log() + p.alpha.reciprocal()))


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    return infinite_where(p.alpha <= 2, _under_normal(p, q))


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    means = (a - 1) * _mean_log(p) + (b - 1) * _mean_log(mirrored)
    return infinite_where((p.high > 1) | (p.low < 0), q._log_normalizer(a, b) - means - p.entropy())


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return infinite_where((p.high >= 1) | (p.low <= 0), _under_continuous_bernoulli(p, q))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return infinite_where(p.low < 0, _under_exponential(p, q))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    return infinite_where(p.low < 0, _under_gamma(p, q, _mean_log(p)))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    log_density = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    return infinite_where(p.low < q.scale, -p.entropy() - log_density)
