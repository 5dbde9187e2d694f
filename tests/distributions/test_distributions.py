"""Each distribution of the table against PyTorch's, and its draws against mathematics."""

import copy
import math

import numpy
import pytest
import torch as oracle
from table import CASES, numbers

import clew

pytestmark = [
    pytest.mark.filterwarnings("ignore:Singular sample detected"),
    pytest.mark.filterwarnings("ignore:.*Gradient edge.*"),
]
every = pytest.mark.parametrize("case", CASES, ids=str)
# PyTorch's Wishart draws are what it draws again, in place of those that are not singular (docs/deviations.md).
every_drawn_as_pytorch = pytest.mark.parametrize("case", [case for case in CASES if case.name != "Wishart"], ids=str)
BOTH = (clew, oracle)


def assert_close(ours, theirs, tolerance=1e-9):
    if isinstance(theirs, oracle.Tensor):
        if theirs.dtype == oracle.float32:
            tolerance = max(tolerance, 2e-5)
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype) == str(theirs.dtype)
        numpy.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=tolerance, atol=tolerance)
    else:
        assert str(ours) == str(theirs)


def outcome(function):
    """What it gives, or that it is not implemented."""
    try:
        return function()
    except NotImplementedError:
        return "not implemented"


def agree(function, case, tolerance=1e-9):
    """A function of a distribution and its module gives the same in both."""
    ours, theirs = (outcome(lambda module=module: function(case.make(module), module)) for module in BOTH)
    assert_close(ours, theirs, tolerance)


def value_for(case, shape=(3,)):
    """Draws of PyTorch's, as numbers that both are given."""
    oracle.manual_seed(1)
    return case.make(oracle).sample(shape).numpy()


def tensor(module, value):
    return module.tensor(value.tolist(), dtype=getattr(module, str(value.dtype)))


@every
@pytest.mark.parametrize("name", ["mean", "mode", "variance", "stddev", "batch_shape", "event_shape"])
def test_properties(case, name):
    agree(lambda made, module: getattr(made, name), case)


@every
@pytest.mark.parametrize("name", ["entropy", "perplexity"])
def test_entropy(case, name):
    # PyTorch's multinomial has log n! in float32
    agree(lambda made, module: getattr(made, name)(), case, 1e-6 if case.name == "Multinomial" else 1e-9)


@every
def test_what_it_can(case):
    assert case.make(clew).has_enumerate_support == case.make(oracle).has_enumerate_support
    if case.name != "LogitRelaxedBernoulli":  # PyTorch's has rsample and denies it
        assert case.make(clew).has_rsample == case.make(oracle).has_rsample
    agree(lambda made, module: made.support, case)
    agree(lambda made, module: repr(made), case)


@every
def test_log_prob_and_its_gradients(case):
    value = value_for(case)
    results = []
    for module in BOTH:
        leaves = []
        log_prob = case.make(module, leaves=leaves).log_prob(tensor(module, value))
        weights = module.arange(1, log_prob.numel() + 1, dtype=log_prob.dtype).reshape(log_prob.shape)
        results.append((log_prob, module.autograd.grad((log_prob * weights).sum(), leaves, allow_unused=True)))
    (ours, our_gradients), (theirs, their_gradients) = results
    assert_close(ours, theirs)
    assert any(one is not None for one in their_gradients)
    for one, other in zip(our_gradients, their_gradients, strict=True):
        assert (one is None) == (other is None)
        if one is None:
            continue
        if case.name == "Wishart" and other.dim() == 2:  # above the diagonal of a factor, where nothing is read
            one, other = one.tril(), other.tril()
        assert_close(one, other, 1e-7)  # PyTorch's derivative of digamma


@every
def test_distribution_functions(case):
    value = value_for(case)
    agree(lambda made, module: made.cdf(tensor(module, value)), case, 1e-8)
    quantiles = numpy.full((1,) * (value.ndim - 1), 0.3)
    agree(lambda made, module: made.icdf(tensor(module, quantiles)), case, 1e-8)


@every
def test_the_derivative_of_cdf_is_the_density(case):
    """Where there is a density and a cdf: by differentiation, not by PyTorch."""
    made, value = case.make(clew, "float64"), tensor(clew, value_for(case)).double()
    if made.support.is_discrete or made.event_shape:
        return
    cdf = outcome(lambda: made.cdf(value.requires_grad_()))
    if isinstance(cdf, str):
        return
    (slope,) = clew.autograd.grad(cdf.sum(), value)
    numpy.testing.assert_allclose(numbers(slope), numpy.exp(numbers(made.log_prob(value))), rtol=1e-6)


@every
def test_enumerated_values(case):
    for expand in (True, False):
        agree(lambda made, module, expand=expand: made.enumerate_support(expand), case)
    if case.make(clew).has_enumerate_support:
        made = case.make(clew)
        total = made.log_prob(made.enumerate_support()).exp().sum(0)
        numpy.testing.assert_allclose(numbers(total), 1.0, rtol=1e-9)


@every
def test_expanded(case):
    def larger(made):
        return made.expand((2, *made.batch_shape))

    agree(lambda made, module: repr(larger(made)), case)
    agree(lambda made, module: larger(made).batch_shape, case)
    agree(lambda made, module: larger(made).event_shape, case)
    agree(lambda made, module: larger(made).mean, case)
    agree(lambda made, module: larger(made).variance, case)
    if case.name != "Multinomial":  # PyTorch's forgets what it needs
        agree(lambda made, module: larger(made).entropy(), case)
    value = value_for(case, (2,))
    agree(lambda made, module: larger(made).log_prob(tensor(module, value)), case)
    made = larger(case.make(clew))
    assert tuple(made.sample((3,)).shape) == (3, *made.batch_shape, *made.event_shape)
    assert larger(case.make(clew).expand((1, *case.make(clew).batch_shape))).batch_shape[:2] == (2, 1)


@every_drawn_as_pytorch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_are_pytorchs(case, dtype):
    """The same seed gives the same numbers, up to the rounding of elementary functions."""
    drawn = []
    for module in BOTH:
        module.manual_seed(7)
        drawn.append(case.make(module, dtype).sample((5, 4)))
    assert not drawn[0].requires_grad
    assert_close(*drawn, 2e-5 if dtype == "float32" else 1e-9)


@every_drawn_as_pytorch
def test_gradients_of_draws(case):
    results = []
    for module in BOTH:
        module.manual_seed(3)
        leaves = []
        made = case.make(module, leaves=leaves)
        drawn = outcome(lambda made=made: made.rsample((6,)))
        if isinstance(drawn, str):
            results.append(drawn)
            continue
        weights = module.arange(1, drawn.numel() + 1, dtype=drawn.dtype).reshape(drawn.shape).sin()
        gradients = module.autograd.grad((drawn * weights).sum(), leaves, allow_unused=True)
        results.append([drawn, *gradients])
    ours, theirs = results
    assert (ours == "not implemented") == (theirs == "not implemented")
    if theirs == "not implemented":
        return
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert_close(one, other, max(case.rough, 1e-8))


@pytest.mark.parametrize("given", ["covariance_matrix", "scale_tril"])
def test_gradients_of_wishart_draws(given):
    """Against differences: of draws from the same seed, with degrees of freedom that do not change."""
    matrix = clew.tensor([[2.0, 0.5], [0.5, 1.0]] if given == "covariance_matrix" else [[1.4, 0.0], [0.3, 1.1]])

    def draw(matrix):
        clew.manual_seed(0)
        if given == "covariance_matrix":
            matrix = (matrix + matrix.mT) / 2
        return clew.distributions.Wishart(5.0, **{given: matrix.tril() if given == "scale_tril" else matrix}).rsample()

    assert clew.autograd.gradcheck(draw, matrix.double().requires_grad_())


@every
def test_moments_of_draws(case):
    """Mean and variance of 20000 draws are within five standard errors of what the formulas say."""
    made = case.make(clew)
    mean = outcome(lambda: made.mean)
    if mean == "not implemented" or not case.finite_moments or case.name in ("Categorical", "VonMises"):
        return
    clew.manual_seed(0)
    drawn = numbers(made.sample((20000,)))
    deviation = drawn.std(0)
    numpy.testing.assert_array_less(abs(drawn.mean(0) - numbers(mean)), 5 * deviation / math.sqrt(20000) + 1e-12)
    squares = (drawn - drawn.mean(0)) ** 2
    error = 5 * squares.std(0) / math.sqrt(20000) + 1e-12
    numpy.testing.assert_array_less(abs(squares.mean(0) - numbers(made.variance)), error)


@every
def test_density_of_draws_by_entropy(case):
    """The mean of -log_prob over draws is the entropy."""
    made = case.make(clew)
    entropy = outcome(made.entropy)
    if isinstance(entropy, str) or case.name in ("MixtureSameFamily", "GeneralizedPareto"):
        return
    clew.manual_seed(0)
    surprise = -numbers(made.log_prob(made.sample((5000,))))
    error = 5 * surprise.std(0) / math.sqrt(5000) + 1e-9
    numpy.testing.assert_array_less(abs(surprise.mean(0) - numbers(entropy)), error)


@every
def test_bad_parameters(case):
    """What PyTorch refuses is refused with the same words."""
    refused = 0
    for name, value in case.arguments.items():
        if not isinstance(value, (list, float)) or (isinstance(value, list) and isinstance(value[0], str)):
            continue
        for bad in (-1.0, float("nan")):
            changed = (numpy.array(value) * 0 + bad).tolist()
            outcomes = []
            for module in BOTH:
                try:
                    case.make(module, **{name: changed})
                    outcomes.append("taken")
                except (ValueError, AssertionError) as error:
                    outcomes.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
                except RuntimeError as error:
                    outcomes.append(type(error).__name__)
            if case.name in ("FisherSnedecor", "StudentT", "ContinuousBernoulli", "LowRankMultivariateNormal"):
                # Ours name the argument; PyTorch's that of a distribution inside, or fail in what they compute from it.
                ours = f"ValueError: Expected parameter {name} "
                assert outcomes[0].startswith(ours) or outcomes[0] == outcomes[1]
            else:
                assert outcomes[0] == outcomes[1]
            refused += outcomes[0] != "taken"
    nothing_checked = ("MixtureSameFamily", "TransformedDistribution", "Independent")
    assert refused or case.name in nothing_checked


@every
def test_bad_values(case):
    value = value_for(case)
    for bad in (value - 1e4, value * float("nan") if value.dtype.kind == "f" else value + 1000, value[..., None, None]):
        outcomes = []
        for module in BOTH:
            try:
                case.make(module).log_prob(tensor(module, bad))
                outcomes.append("taken")
            except ValueError as error:
                outcomes.append(str(error).splitlines()[0])
            except (RuntimeError, IndexError) as error:
                outcomes.append(type(error).__name__)
        assert outcomes[0] == outcomes[1]


@every
def test_copies(case):
    made = case.make(clew)
    again = copy.deepcopy(made)
    value = tensor(clew, value_for(case))
    assert made.log_prob(value).tolist() == again.log_prob(value).tolist()


@every
def test_unchecked_arguments_are_taken(case):
    made = case.make(clew, validate_args=False)
    assert "invalid" not in repr(made)
    assert not made._validate_args


def test_a_variance_has_the_shape_of_batch_and_event_whatever_a_subclass_calls_its_draws():
    """`gpytorch`'s MultitaskMultivariateNormal, for example, arranges a vector's elements as a matrix."""
    import torch

    def shape(module):
        class AsMatrix(module.distributions.MultivariateNormal):
            def _extended_shape(self, sample_shape=()):
                return module.Size([3, 2])

        return tuple(AsMatrix(module.zeros(6), module.eye(6)).variance.shape)

    assert shape(clew) == shape(torch) == (6,)
