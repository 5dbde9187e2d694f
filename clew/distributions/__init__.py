"""Probability distributions: draws, log-probabilities, divergences, and transforms between spaces.

>>> import clew as torch
>>> from clew.distributions import Normal, kl_divergence
>>> loc = torch.tensor(1.0, requires_grad=True)
>>> kl_divergence(Normal(loc, 1.0), Normal(0.0, 1.0)).backward()
>>> loc.grad
tensor(1.)

A family of distributions is one module. PyTorch has a module for each distribution: their names stand for the module in
which the distribution is, so that `from clew.distributions.poisson import Poisson` works.
"""

import sys as _sys

from . import bernoulli as _bernoulli
from . import categorical as _categorical
from . import cauchy as _cauchy
from . import constraints as constraints
from . import dirichlet as _dirichlet
from . import exponential as _exponential
from . import gamma as _gamma
from . import log_normal as _log_normal
from . import multivariate_normal as _multivariate_normal
from . import relaxed_bernoulli as _relaxed_bernoulli
from . import transformed_distribution as _transformed_distribution
from . import transforms as transforms
from . import uniform as _uniform
from . import wishart as _wishart
from .bernoulli import Bernoulli as Bernoulli
from .bernoulli import Binomial as Binomial
from .bernoulli import Geometric as Geometric
from .bernoulli import NegativeBinomial as NegativeBinomial
from .bernoulli import Poisson as Poisson
from .categorical import Categorical as Categorical
from .categorical import Multinomial as Multinomial
from .categorical import OneHotCategorical as OneHotCategorical
from .categorical import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from .cauchy import Cauchy as Cauchy
from .cauchy import HalfCauchy as HalfCauchy
from .cauchy import HalfNormal as HalfNormal
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from .continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from .dirichlet import Beta as Beta
from .dirichlet import Dirichlet as Dirichlet
from .dirichlet import Kumaraswamy as Kumaraswamy
from .distribution import Distribution as Distribution
from .exp_family import ExponentialFamily as ExponentialFamily
from .exponential import Exponential as Exponential
from .exponential import GeneralizedPareto as GeneralizedPareto
from .exponential import Laplace as Laplace
from .exponential import Pareto as Pareto
from .exponential import Weibull as Weibull
from .gamma import Chi2 as Chi2
from .gamma import FisherSnedecor as FisherSnedecor
from .gamma import Gamma as Gamma
from .gamma import InverseGamma as InverseGamma
from .gamma import StudentT as StudentT
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from .log_normal import LogisticNormal as LogisticNormal
from .log_normal import LogNormal as LogNormal
from .mixture_same_family import MixtureSameFamily as MixtureSameFamily
from .multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from .normal import Normal as Normal
from .relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from .relaxed_bernoulli import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from .transformed_distribution import Independent as Independent
from .transformed_distribution import TransformedDistribution as TransformedDistribution
from .transforms import *  # noqa: F403
from .uniform import Gumbel as Gumbel
from .uniform import Uniform as Uniform
from .von_mises import VonMises as VonMises
from .wishart import LKJCholesky as LKJCholesky
from .wishart import Wishart as Wishart

for _module, _names in {
    _bernoulli: "binomial geometric negative_binomial poisson",
    _categorical: "multinomial one_hot_categorical",
    _cauchy: "half_cauchy half_normal",
    _dirichlet: "beta kumaraswamy",
    _exponential: "generalized_pareto laplace pareto weibull",
    _gamma: "chi2 fishersnedecor inverse_gamma studentT",
    _log_normal: "logistic_normal",
    _multivariate_normal: "lowrank_multivariate_normal",
    _relaxed_bernoulli: "relaxed_categorical",
    _transformed_distribution: "independent",
    _uniform: "gumbel",
    _wishart: "lkj_cholesky",
}.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
