"""Probability distributions: draws, log-probabilities, divergences, and transforms between spaces.

A family of distributions is one module. PyTorch has a module for each distribution: their names stand for the module in
which the distribution is, so that `from clew.distributions.poisson import Poisson` works.

Example:
    >>> Normal = torch.distributions.Normal
    >>> loc = torch.tensor(1.0, requires_grad=True)
    >>> torch.distributions.kl_divergence(Normal(loc, 1.0), Normal(0.0, 1.0)).backward()
    >>> loc.grad
    tensor(1.)
"""

import sys as _sys

from . import _kl_formulas as _kl_formulas
from . import bernoulli as _bernoulli
from . import categorical as _categorical
from . import cauchy as cauchy
from . import constraints as constraints
from . import dirichlet as _dirichlet
from . import exp_family as exp_family
from . import exponential as _exponential
from . import gamma as _gamma
from . import log_normal as log_normal
from . import multivariate_normal as _multivariate_normal
from . import normal as _normal
from . import relaxed_bernoulli as _relaxed_bernoulli
from . import transformed_distribution as _transformed_distribution
from . import transforms as transforms
from . import uniform as uniform
from . import wishart as _wishart
from .bernoulli import *  # noqa: F403
from .categorical import *  # noqa: F403
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from .continuous_bernoulli import *  # noqa: F403
from .dirichlet import *  # noqa: F403
from .distribution import *  # noqa: F403
from .exp_family import *  # noqa: F403
from .exponential import *  # noqa: F403
from .gamma import *  # noqa: F403
from .kl import *  # noqa: F403
from .mixture_same_family import *  # noqa: F403
from .multivariate_normal import *  # noqa: F403
from .normal import *  # noqa: F403
from .relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from .relaxed_bernoulli import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from .transformed_distribution import *  # noqa: F403
from .transforms import *  # noqa: F403
from .von_mises import *  # noqa: F403
from .wishart import *  # noqa: F403

__all__ = [  # noqa: F405
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]

for _module, _names in {
    _bernoulli: "binomial geometric negative_binomial poisson",
    _categorical: "multinomial one_hot_categorical",
    _dirichlet: "beta kumaraswamy",
    _exponential: "generalized_pareto pareto weibull",
    _gamma: "chi2 fishersnedecor inverse_gamma studentT",
    _multivariate_normal: "lowrank_multivariate_normal",
    _normal: "gumbel half_cauchy half_normal laplace logistic_normal",
    _relaxed_bernoulli: "relaxed_categorical",
    _transformed_distribution: "independent",
    _wishart: "lkj_cholesky",
}.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
