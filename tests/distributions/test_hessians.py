"""Hessians of log-likelihoods by `func.hessian`, arguments checked: values are read inside of jacfwd and jacrev."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import clew as torch

pytestmark = [
    pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning", "ignore:There is a performance drop"),
]

COUNTS, SIMPLEX = [1.0, 2.0, 5.0], [0.2, 0.3, 0.5]
POSITIVE = [0.2, 0.5, 1.7, 0.9]
# Of the distributions d, of the logarithms of what is positive p, and of t = (0.7, 1.3, 0.4).
LIKELIHOODS: dict[str, tuple[Callable[[Any, Any, Any], Any], Any]] = {
    "Bernoulli": (lambda d, t, p: d.Bernoulli(t[2]), [0.0, 1.0, 1.0]),
    "Bernoulli of logits": (lambda d, t, p: d.Bernoulli(logits=t[0]), [0.0, 1.0, 1.0]),
    "Beta": (lambda d, t, p: d.Beta(p[0], p[1]), SIMPLEX),
    "Binomial": (lambda d, t, p: d.Binomial(5, logits=t[0]), COUNTS),
    "Categorical": (lambda d, t, p: d.Categorical(t), [0, 1, 2, 1]),
    "Categorical of logits": (lambda d, t, p: d.Categorical(logits=t), [0, 1, 2, 1]),
    "Cauchy": (lambda d, t, p: d.Cauchy(t[0], p[1]), POSITIVE),
    "Chi2": (lambda d, t, p: d.Chi2(p[0]), POSITIVE),
    "ContinuousBernoulli": (lambda d, t, p: d.ContinuousBernoulli(t[2]), SIMPLEX),
    "Dirichlet": (lambda d, t, p: d.Dirichlet(p), SIMPLEX),
    "Exponential": (lambda d, t, p: d.Exponential(p[0]), POSITIVE),
    "FisherSnedecor": (lambda d, t, p: d.FisherSnedecor(p[0], p[1]), POSITIVE),
    "Gamma": (lambda d, t, p: d.Gamma(p[0], p[1]), POSITIVE),
    "Geometric": (lambda d, t, p: d.Geometric(t[2]), COUNTS),
    "Gumbel": (lambda d, t, p: d.Gumbel(t[0], p[1]), POSITIVE),
    "HalfCauchy": (lambda d, t, p: d.HalfCauchy(p[1]), POSITIVE),
    "HalfNormal": (lambda d, t, p: d.HalfNormal(p[1]), POSITIVE),
    "Independent": (lambda d, t, p: d.Independent(d.Normal(t, p), 1), SIMPLEX),
    "InverseGamma": (lambda d, t, p: d.InverseGamma(p[0], p[1]), POSITIVE),
    "Kumaraswamy": (lambda d, t, p: d.Kumaraswamy(p[0], p[1]), SIMPLEX),
    "LKJCholesky": (lambda d, t, p: d.LKJCholesky(2, p[0]), [[1.0, 0.0], [0.6, 0.8]]),
    "Laplace": (lambda d, t, p: d.Laplace(t[0], p[1]), POSITIVE),
    "LogNormal": (lambda d, t, p: d.LogNormal(t[0], p[1]), POSITIVE),
    "LogisticNormal": (lambda d, t, p: d.LogisticNormal(t, p), [0.2, 0.3, 0.1, 0.4]),
    "LowRankMultivariateNormal": (lambda d, t, p: d.LowRankMultivariateNormal(t, t[:, None], p), SIMPLEX),
    "MixtureSameFamily": (lambda d, t, p: d.MixtureSameFamily(d.Categorical(logits=t), d.Normal(t, p)), POSITIVE),
    "Multinomial": (lambda d, t, p: d.Multinomial(8, logits=t), COUNTS),
    "MultivariateNormal": (lambda d, t, p: d.MultivariateNormal(t, scale_tril=p.diag()), SIMPLEX),
    "MultivariateNormal of a covariance": (lambda d, t, p: d.MultivariateNormal(t, p.diag() + 0.1), SIMPLEX),
    "NegativeBinomial": (lambda d, t, p: d.NegativeBinomial(p[1], logits=t[0]), COUNTS),
    "Normal": (lambda d, t, p: d.Normal(t[0], p[1]), POSITIVE),
    "OneHotCategorical": (lambda d, t, p: d.OneHotCategorical(logits=t), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "Pareto": (lambda d, t, p: d.Pareto(t[2] / 4, p[1]), POSITIVE),
    "Poisson": (lambda d, t, p: d.Poisson(p[0]), COUNTS),
    "RelaxedBernoulli": (lambda d, t, p: d.RelaxedBernoulli(p[0], logits=t[1]), SIMPLEX),
    "RelaxedOneHotCategorical": (lambda d, t, p: d.RelaxedOneHotCategorical(p[0], logits=t), SIMPLEX),
    "StudentT": (lambda d, t, p: d.StudentT(p[0], t[1], p[2]), POSITIVE),
    "TransformedDistribution": (
        lambda d, t, p: d.TransformedDistribution(
            d.Normal(t[0], p[1]), [d.SigmoidTransform(), d.AffineTransform(0, 2 + t[2])]
        ),
        SIMPLEX,
    ),
    "Uniform": (lambda d, t, p: d.Uniform(-p[0], 3 + p[1]), POSITIVE),
    "VonMises": (lambda d, t, p: d.VonMises(t[0], p[1]), POSITIVE),
    "Weibull": (lambda d, t, p: d.Weibull(p[0], p[1]), POSITIVE),
    "Wishart": (lambda d, t, p: d.Wishart(3 + p[0], p.diag()), [[1.1, 0.1, 0.0], [0.1, 1.0, 0.2], [0.0, 0.2, 0.9]]),
}


def log_likelihood(module: Any, name: str) -> Callable[[Any], Any]:
    make, data = LIKELIHOODS[name]

    def of(t: Any) -> Any:
        given = module.tensor(data, dtype=module.int64 if isinstance(data[0], int) else module.float64)
        return make(module.distributions, t, t.exp()).log_prob(given).sum()

    return of


def point(module: Any) -> Any:
    return module.tensor([0.7, 1.3, 0.4], dtype=module.float64)


def test_every_distribution_is_here() -> None:
    names = {name.split()[0] for name in LIKELIHOODS}
    of_module = {name: getattr(torch.distributions, name) for name in torch.distributions.__all__}
    families = {
        name
        for name, value in of_module.items()
        if isinstance(value, type) and issubclass(value, torch.distributions.Distribution)
    }
    abstract = {"Distribution", "ExponentialFamily"}
    # ... of which the value is a draw's, or that another one stands for.
    others = {"LogitRelaxedBernoulli", "ExpRelaxedCategorical", "OneHotCategoricalStraightThrough", "GeneralizedPareto"}
    assert families - names - abstract - others == set()


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize(
    "way",
    [
        torch.func.hessian,
        lambda f: torch.func.jacfwd(torch.func.jacfwd(f)),
        lambda f: torch.func.jacrev(torch.func.jacrev(f)),
        lambda f: lambda t: torch.autograd.functional.hessian(f, t, vectorize=True),
    ],
    ids=["hessian", "jacfwd(jacfwd)", "jacrev(jacrev)", "functional, vectorized"],
)
def test_the_hessian_is_pytorchs(name: str, way: Any) -> None:
    expected = pytorch.autograd.functional.hessian(log_likelihood(pytorch, name), point(pytorch))
    found = way(log_likelihood(torch, name))(point(torch))
    numpy.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-7, atol=1e-9)  # trigamma


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Dirichlet"])
def test_an_argument_outside_its_domain_is_refused(name: str) -> None:
    make, _ = LIKELIHOODS[name]
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        torch.func.hessian(lambda t: make(torch.distributions, t, -t.exp()).log_prob(t).sum())(point(torch))
