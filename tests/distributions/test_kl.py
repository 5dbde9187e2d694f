"""Divergences: every pair of classes against PyTorch's, and against the mean of log p - log q over draws."""

import warnings

import numpy
import pytest
import torch as oracle
from table import COVARIANCE, FACTOR, LOGITS, PROBS, case, numbers

import clew
import clew.distributions as D

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

# Two of each family, which overlap in part: some divergences are finite, some are not.
PAIRS = {
    one.name: (one, other)
    for one, other in [
        (case("Bernoulli", probs=[0.2, 0.0, 1.0, 0.5]), case("Bernoulli", probs=[0.5, 0.3, 0.0, 0.0])),
        (
            case("Beta", concentration1=[0.5, 2.0], concentration0=[0.7, 1.5]),
            case("Beta", concentration1=[1.5, 2.5], concentration0=[1.7, 0.5]),
        ),
        (case("Binomial", total_count=5, probs=[0.2, 0.6]), case("Binomial", total_count=5, probs=[0.5, 0.3])),
        (case("Categorical", probs=PROBS), case("Categorical", probs=[[0.5, 0.0, 0.5], [0.3, 0.3, 0.4]])),
        (case("Cauchy", loc=[0.0, 1.0], scale=[1.0, 2.0]), case("Cauchy", loc=[0.5, 1.0], scale=[1.0, 0.5])),
        (case("ContinuousBernoulli", probs=[0.2, 0.5]), case("ContinuousBernoulli", probs=[0.6, 0.9])),
        (case("Dirichlet", concentration=[[0.5, 2.0]]), case("Dirichlet", concentration=[[1.5, 1.0]])),
        (case("Exponential", rate=[0.5, 2.0]), case("Exponential", rate=[1.5, 0.3])),
        (
            case("Gamma", concentration=[0.5, 2.0], rate=[1.0, 3.0]),
            case("Gamma", concentration=[1.5, 0.7], rate=[0.4, 2.0]),
        ),
        (case("Geometric", probs=[0.2, 0.6]), case("Geometric", probs=[0.5, 0.3])),
        (case("Gumbel", loc=[0.0, 1.0], scale=[1.0, 2.0]), case("Gumbel", loc=[0.5, 1.0], scale=[1.0, 0.5])),
        (case("HalfNormal", scale=[1.0, 2.0]), case("HalfNormal", scale=[0.7, 3.0])),
        (
            case(
                "Independent", base_distribution=case("Normal", loc=[0.0, 1.0], scale=1.0), reinterpreted_batch_ndims=1
            ),
            case(
                "Independent", base_distribution=case("Normal", loc=[0.5, 1.0], scale=2.0), reinterpreted_batch_ndims=1
            ),
        ),
        (case("Laplace", loc=[0.0, 1.0], scale=[1.0, 2.0]), case("Laplace", loc=[0.5, 1.0], scale=[1.0, 0.5])),
        (
            case(
                "LowRankMultivariateNormal",
                loc=[0.0, 1.0, 2.0],
                cov_factor=[[1.0], [0.5], [0.3]],
                cov_diag=[1.0, 2.0, 0.5],
            ),
            case(
                "LowRankMultivariateNormal",
                loc=[0.5, 1.0, 1.0],
                cov_factor=[[0.4, 1.0], [0.5, 0.2], [0.3, -1.0]],
                cov_diag=[1.5, 1.0, 0.7],
            ),
        ),
        (
            case("MultivariateNormal", loc=[[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]], covariance_matrix=COVARIANCE),
            case("MultivariateNormal", loc=[0.5, 1.0, 1.0], scale_tril=FACTOR),
        ),
        (case("Normal", loc=[0.0, 1.0], scale=[1.0, 2.0]), case("Normal", loc=[0.5, 1.0], scale=[1.0, 0.5])),
        (case("OneHotCategorical", probs=PROBS), case("OneHotCategorical", logits=LOGITS)),
        (case("Pareto", scale=[1.0, 2.0], alpha=[3.5, 1.0]), case("Pareto", scale=[0.5, 3.0], alpha=[1.0, 2.0])),
        (case("Poisson", rate=[[0.5], [3.0]]), case("Poisson", rate=[[1.5], [2.0]])),
        (
            case(
                "TransformedDistribution",
                base_distribution=case("Normal", loc=0.0, scale=1.0),
                transforms=["ExpTransform"],
            ),
            case(
                "TransformedDistribution",
                base_distribution=case("Normal", loc=1.0, scale=2.0),
                transforms=["ExpTransform"],
            ),
        ),
        (case("Uniform", low=[0.2, 1.0], high=[0.7, 2.0]), case("Uniform", low=[0.0, 1.5], high=[1.0, 3.0])),
        (case("Wishart", df=5.0, covariance_matrix=COVARIANCE), case("Wishart", df=4.0, scale_tril=FACTOR)),
        (case("LogNormal", loc=[0.0, 1.0], scale=[1.0, 2.0]), case("LogNormal", loc=[0.5, 1.0], scale=[1.0, 0.5])),
        (case("StudentT", df=[3.0]), case("StudentT", df=[4.0])),
        (case("Weibull", scale=1.0, concentration=2.0), case("Weibull", scale=2.0, concentration=2.0)),
    ]
}


def outcome(p, q, module):
    """The divergence and its gradients, or what it raises."""
    leaves = []
    try:
        found = module.distributions.kl_divergence(p.make(module, leaves=leaves), q.make(module, leaves=leaves))
    except (NotImplementedError, ValueError) as error:
        return type(error).__name__, None
    if not found.requires_grad:
        return found, [None] * len(leaves)
    weights = module.where(found.isinf(), 0.0, 1.0 + module.arange(found.numel()).reshape(found.shape))
    return found, module.autograd.grad((found * weights).sum(), leaves, allow_unused=True)


def compare(p, q):
    (ours, our_gradients), (theirs, their_gradients) = outcome(p, q, clew), outcome(p, q, oracle)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    assert ours.shape == tuple(theirs.shape)
    numpy.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-9, atol=1e-9)
    if numpy.isinf(numbers(theirs)).any():
        return  # 0 * inf in PyTorch's gradients
    for one, other in zip(our_gradients, their_gradients, strict=True):
        if p.name == "Wishart" and other is not None and other.dim() == 2:  # nothing is read above a factor's diagonal
            one, other = one.tril(), other.tril()
        if one is not None and other is not None:
            numpy.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("p", PAIRS)
@pytest.mark.parametrize("q", PAIRS)
def test_against_pytorchs(p, q):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # ambiguous pairs, in both
        compare(PAIRS[p][0], PAIRS[q][1])


@pytest.mark.parametrize("name", PAIRS)
def test_of_itself(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(PAIRS[name][0], PAIRS[name][0])


def test_every_pair_is_in_the_table():
    from torch.distributions import kl as theirs

    from clew.distributions import kl as ours

    def names(registry):
        return {(p.__name__, q.__name__) for p, q in registry}

    pairs = names(ours._REGISTRY)
    assert pairs >= names(theirs._KL_REGISTRY)
    assert {name for pair in pairs for name in pair} <= {*PAIRS, "ExponentialFamily", "Standard"}


REGISTERED = [(p.__name__, q.__name__) for p, q in D.kl._REGISTRY if {p.__name__, q.__name__} <= PAIRS.keys()]


@pytest.mark.parametrize(("p", "q"), REGISTERED)
def test_against_the_mean_over_draws(p, q):
    one, other = PAIRS[p][0].make(clew), PAIRS[q][1].make(clew, validate_args=False)
    expected = numbers(D.kl_divergence(one, other))
    if not numpy.isfinite(expected).all():
        return
    one, other = one.expand(expected.shape), other.expand(expected.shape)
    clew.manual_seed(0)
    drawn = one.sample((20000,))
    ratios = numbers(one.log_prob(drawn) - other.log_prob(drawn))
    error = 5 * ratios.std(0) / numpy.sqrt(20000) + 1e-9
    numpy.testing.assert_array_less(abs(ratios.mean(0) - expected), error)


def test_of_classes_that_nobody_knows():
    class Mine(D.Distribution):
        arg_constraints = {}  # noqa: RUF012

    with pytest.raises(
        NotImplementedError, match="No KL\\(p \\|\\| q\\) is implemented for p type Mine and q type Normal"
    ):
        D.kl_divergence(Mine(), D.Normal(0.0, 1.0))


def test_registered_formulas_hold_for_subclasses():
    class Mine(D.Normal):
        pass

    class Other(Mine):
        pass

    D.register_kl(Mine, D.Normal)(lambda p, q: "mine")
    D.register_kl(D.Normal, Other)(lambda p, q: "other")
    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == "mine"
    assert D.kl_divergence(D.Normal(0.0, 1.0), Other(0.0, 1.0)) == "other"
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence\\(Other, Other\\)"):
        D.kl_divergence(Other(0.0, 1.0), Other(0.0, 1.0))
    with pytest.raises(TypeError, match="expected type_q to be a class"):
        D.register_kl(D.Normal, 3)


def test_formulas_are_registered_for_classes_that_are_no_distributions():
    """Those of a library with a class of its own for distributions, as Pyro's."""

    class Other:
        pass

    D.register_kl(D.Normal, Other)(lambda p, q: "other")
    assert D.kl_divergence(D.Normal(0.0, 1.0), Other()) == "other"


def test_events_of_different_shapes():
    one = D.MultivariateNormal(clew.zeros(2), clew.eye(2))
    with pytest.raises(ValueError, match="different event shapes"):
        D.kl_divergence(one, D.MultivariateNormal(clew.zeros(3), clew.eye(3)))
