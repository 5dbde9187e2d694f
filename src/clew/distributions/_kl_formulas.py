"""The formulas of Kullback-Leibler divergences.

They are integrals of the densities that the classes document.
"""

from __future__ import annotations

import math
from typing import Any

import clew
import clew.nn.functional as F
from clew import Tensor
from clew._samples import any_true

from ._kl_expectations import (
    exp_under_gamma,
    exp_under_uniform,
    infinite_where,
    mean_log,
    under_continuous_bernoulli,
    under_exponential,
    under_gamma,
    under_gumbel,
    under_normal,
)
from .bernoulli import Bernoulli, Binomial, Geometric, Poisson
from .categorical import Categorical, OneHotCategorical
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Beta, Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential, Pareto
from .gamma import Gamma
from .kl import Formula, kl_divergence, register_kl
from .multivariate_normal import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    half_log_det,
    solve_lower,
    squared_length,
    squared_norm,
)
from .normal import Cauchy, Gumbel, HalfNormal, Laplace, Normal, Uniform
from .transformed_distribution import Independent, TransformedDistribution
from .utils import euler_constant, sum_rightmost


# ------------------------------------------------------------------------------------------------ a family with itself
@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    def part(chance: Tensor, other: Tensor, log_ratio: Tensor) -> Tensor:
        return clew.where(chance == 0, 0.0, infinite_where(other == 0, chance * log_ratio))

    return part(p.probs, q.probs, F.softplus(-q.logits) - F.softplus(-p.logits)) + part(
        1 - p.probs, 1 - q.probs, F.softplus(q.logits) - F.softplus(p.logits)
    )


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if any_true(p.total_count < q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return infinite_where(p.total_count > q.total_count, p.total_count * one)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = infinite_where(q.probs == 0, p.probs * (p.logits - q.logits))
    return clew.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    means = a.digamma() - a.sum(-1, keepdim=True).digamma()
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * means).sum(-1)


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    normalizers = b.lgamma() - a.lgamma() + b * (p.rate / q.rate).log()
    return normalizers + (a - b) * a.digamma() + (q.rate - p.rate) * a / p.rate


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    means = ratio * euler_constant + ((1 + ratio).lgamma() - away).exp()
    return away - ratio.log() + means - (1 + euler_constant)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return away / q.scale - ratio.log() + ratio * (-away / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio, away = (p.scale / q.scale).pow(2), ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + away - 1 - ratio.log())


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log-normalizer (Nielsen and Nock 2010, https://arxiv.org/abs/1112.4221)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    natural, normalizer, means = p._normalizer_and_means()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for eta, other, mean in zip(natural, q._natural_params, means, strict=True):
        result = result - sum_rightmost((other - eta) * mean, mean.dim() - result.dim())
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL(p || q) of transformed distributions: expected the same transforms and event shape"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL(p || q) of Independent: expected the same reinterpreted_batch_ndims, got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ------------------------------------------------------------------------------------- normal distributions of vectors
def _same_event(p: Any, q: Any) -> int:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )
    return int(p.event_shape[0])


def _diagonal_root(p: Any) -> Tensor:
    return p._unbroadcasted_cov_diag.sqrt().diag_embed()


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    size, ours, theirs = _same_event(p, q), p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    moved = squared_norm(solve_lower(theirs, ours)) + squared_length(theirs, q.loc - p.loc)
    return half_log_det(theirs) - half_log_det(ours) + 0.5 * (moved - size)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_and_full(p: Any, q: Any) -> Tensor:
    size, theirs = _same_event(p, q), q._unbroadcasted_scale_tril
    trace = squared_norm(solve_lower(theirs, p._unbroadcasted_cov_factor)) + squared_norm(
        solve_lower(theirs, _diagonal_root(p))
    )
    moved = trace + squared_length(theirs, q.loc - p.loc)
    return 0.5 * (2 * half_log_det(theirs) - p.log_det() + moved - size)


def _trace_under(q: Any, factor: Tensor) -> Tensor:
    """tr(Q^-1 F F^T) for a covariance Q = W W^T + D: by the matrix inversion lemma."""
    outer = squared_norm(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    return outer - squared_norm(q.whitened_factor() @ factor)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_and_low_rank(p: Any, q: Any) -> Tensor:
    size, ours = _same_event(p, q), p._unbroadcasted_scale_tril
    moved = _trace_under(q, ours) + q.squared_distance(q.loc - p.loc)
    return 0.5 * (q.log_det() - 2 * half_log_det(ours) + moved - size)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    size = _same_event(p, q)
    trace = _trace_under(q, p._unbroadcasted_cov_factor) + _trace_under(q, _diagonal_root(p))
    return 0.5 * (q.log_det() - p.log_det() + trace + q.squared_distance(q.loc - p.loc) - size)


# ------------------------------------------ different families: -entropy(p) - E[log q], from means under p
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


def _infinite(p: Any, q: Any) -> Tensor:
    return clew.full(p.batch_shape, math.inf, dtype=p.mean.dtype)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    z = away / p.scale
    mean_abs = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + away * (math.sqrt(0.5) * z).erf()
    return -p.entropy() + (2 * q.scale).log() + mean_abs / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    means = (a - 1) * mean_log(p) + (b - 1) * mean_log(mirrored)
    return infinite_where((p.high > 1) | (p.low < 0), q._log_normalizer(a, b) - means - p.entropy())


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    log_density = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * mean_log(p)
    return infinite_where(p.low < q.scale, -p.entropy() - log_density)


_FORMULAS: dict[tuple[type, type], Formula] = {
    **{(p, q): _infinite for p, wider in _INFINITE.items() for q in wider},
    **{(p, Exponential): under_exponential for p in (Beta, ContinuousBernoulli, Gamma)},
    **{(p, Normal): under_normal for p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform)},
    (Beta, Beta): lambda p, q: _dirichlet(p._dirichlet, q._dirichlet),
    (Cauchy, Cauchy): lambda p, q: (  # Chyzak and Nielsen 2019, https://arxiv.org/abs/1905.10965
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
    ),
    (ContinuousBernoulli, ContinuousBernoulli): under_continuous_bernoulli,
    (Exponential, Exponential): lambda p, q: q.rate / p.rate - (q.rate / p.rate).log() - 1,
    (Geometric, Geometric): lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    (HalfNormal, HalfNormal): lambda p, q: _normal(p.base_dist, q.base_dist),
    (OneHotCategorical, OneHotCategorical): lambda p, q: _categorical(p._categorical, q._categorical),
    (Pareto, Pareto): lambda p, q: infinite_where(
        p.scale < q.scale, q.alpha * (p.scale / q.scale).log() - (q.alpha / p.alpha).log() + q.alpha / p.alpha - 1
    ),
    (Poisson, Poisson): lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    (Uniform, Uniform): lambda p, q: infinite_where(
        (q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log()
    ),
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (Beta, ContinuousBernoulli): under_continuous_bernoulli,
    (Beta, Gamma): lambda p, q: under_gamma(
        p, q, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    ),
    (Beta, Uniform): lambda p, q: infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log()),
    (ContinuousBernoulli, Uniform): lambda p, q: infinite_where(
        (q.low >= 0) | (q.high <= 1), -p.entropy() + (q.high - q.low).log()
    ),
    (Exponential, Gamma): lambda p, q: under_gamma(p, q, -p.rate.log() - euler_constant),
    (Exponential, Gumbel): lambda p, q: under_gumbel(p, q, exp_under_gamma(p, q, 1)),
    (Gamma, Gumbel): lambda p, q: under_gumbel(p, q, exp_under_gamma(p, q, p.concentration)),
    (Normal, Gumbel): lambda p, q: under_gumbel(
        p, q, ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    ),
    (Pareto, Exponential): lambda p, q: infinite_where(p.alpha <= 1, under_exponential(p, q)),
    (Pareto, Gamma): lambda p, q: infinite_where(p.alpha <= 1, under_gamma(p, q, p.scale.log() + p.alpha.reciprocal())),
    (Pareto, Normal): lambda p, q: infinite_where(p.alpha <= 2, under_normal(p, q)),
    (Uniform, ContinuousBernoulli): lambda p, q: infinite_where(
        (p.high >= 1) | (p.low <= 0), under_continuous_bernoulli(p, q)
    ),
    (Uniform, Exponential): lambda p, q: infinite_where(p.low < 0, under_exponential(p, q)),
    (Uniform, Gamma): lambda p, q: infinite_where(p.low < 0, under_gamma(p, q, mean_log(p))),
    (Uniform, Gumbel): lambda p, q: under_gumbel(p, q, exp_under_uniform(p, q)),
}
for _pair, _formula in _FORMULAS.items():
    register_kl(*_pair)(_formula)
