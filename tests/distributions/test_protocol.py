"""What programs rely on besides formulas: names, subclasses, validation, numbers as parameters, samplers."""

import importlib
import math
import pkgutil
import subprocess
import sys

import numpy
import pytest
import scipy.special
import scipy.stats
import torch as oracle

import clew
import clew.distributions as D


def test_names_are_pytorchs():
    missing = {name for name in oracle.distributions.__all__ if not hasattr(D, name)}
    assert not missing
    for found in pkgutil.iter_modules(oracle.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{found.name}")
        ours = importlib.import_module(f"clew.distributions.{found.name}")
        assert not {name for name in theirs.__all__ if not hasattr(ours, name)}, found.name


def test_it_is_loaded_when_it_is_used():
    source = "import sys, clew; assert 'clew.distributions' not in sys.modules; clew.distributions.Normal(0., 1.)"
    subprocess.run([sys.executable, "-c", source], check=True)


def test_numbers_make_scalars_of_the_default_dtype():
    made = D.Normal(0, 1)
    assert (made.loc.dtype, tuple(made.batch_shape)) == (clew.float32, ())
    assert D.Normal(0, clew.ones(2, dtype=clew.float64)).loc.dtype == clew.float64
    with pytest.raises(ValueError, match="must all be instances of Number, "):
        D.Normal("0", 1.0)


class Shifted(D.Distribution):
    """As users write them."""

    arg_constraints = {"loc": D.constraints.real}  # noqa: RUF012
    support = D.constraints.real
    has_rsample = True

    def __init__(self, loc, validate_args=None):
        self.loc = loc
        super().__init__(loc.shape, validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return self.loc + clew.rand(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return clew.zeros(value.shape)


def test_users_distributions():
    made = Shifted(clew.zeros(2, requires_grad=True))
    assert tuple(made.sample((3,)).shape) == (3, 2)
    assert not made.sample().requires_grad
    assert made.rsample().requires_grad
    assert repr(made) == "Shifted(loc: torch.Size([2]))"
    with pytest.raises(ValueError, match="to be within the support"):
        made.log_prob(clew.tensor([math.nan, 0.0]))
    with pytest.raises(NotImplementedError):
        made.expand((3, 2))
    for name in ("mean", "mode", "variance", "entropy", "cdf", "icdf", "enumerate_support"):
        arguments = [clew.zeros(2)] if name in ("cdf", "icdf") else []
        with pytest.raises(NotImplementedError, match=name):
            getattr(made, name)(*arguments)
    with pytest.raises(ValueError, match="Expected parameter loc"):
        Shifted(clew.tensor([math.nan]))


def test_users_subclasses_expand_with_an_instance():
    class Scaled(D.Normal):
        def __init__(self, scale):
            self.note = "kept"
            super().__init__(0.0, scale)

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand\(\) method"):
        Scaled(1.0).expand((2,))

    class Expandable(Scaled):
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Expandable, _instance)
            new.note = "own"
            return super().expand(batch_shape, _instance=new)

    wide = Expandable(2.0).expand((2,))
    assert (wide.note, wide.scale.tolist(), tuple(wide.batch_shape)) == ("own", [2.0, 2.0], (2,))


def test_validation_can_be_switched_off():
    D.Distribution.set_default_validate_args(False)
    try:
        assert math.isnan(D.Normal(0.0, -1.0).log_prob(clew.tensor(0.0)).item())
    finally:
        D.Distribution.set_default_validate_args(True)
    assert math.isnan(D.Normal(0.0, -1.0, validate_args=False).entropy().item())
    with pytest.raises(ValueError, match="expected True or False"):
        D.Distribution.set_default_validate_args(2)


def test_missing_declarations_warn():
    class Bare(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        made = Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        made._validate_sample(clew.zeros(()))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert tuple(D.Normal(0.0, 1.0).sample_n(3).shape) == (3,)


@pytest.mark.parametrize("total", [4, 50, 1000])
def test_draws_of_counts(total):
    """Frequencies against probabilities: the binomial sampler has three ways, the Poisson sampler two."""
    clew.manual_seed(total)
    for chance in (0.1, 0.5, 0.8):
        drawn = clew.binomial(clew.full((20000,), float(total)), clew.full((20000,), chance)).numpy()
        mean = total * chance
        assert abs(drawn.mean() - mean) < 5 * math.sqrt(mean * (1 - chance) / 20000)
        counts = numpy.bincount(drawn.astype(int), minlength=total + 1)
        expected = scipy.stats.binom(total, chance).pmf(numpy.arange(total + 1)) * 20000
        common = expected > 20
        assert ((counts - expected)[common] ** 2 / expected[common]).sum() < 2 * common.sum() + 30
    drawn = clew.poisson(clew.full((20000,), total / 10)).numpy()
    assert abs(drawn.mean() - total / 10) < 5 * math.sqrt(total / 10 / 20000)


@pytest.mark.parametrize("a", [0.01, 0.5, 1.0, 3.0, 100.0, 1e4])
def test_draws_of_gamma_numbers(a):
    clew.manual_seed(1)
    drawn = D.Gamma(clew.tensor(a, dtype=clew.float64), 1.0).sample((5000,)).numpy()
    assert scipy.stats.kstest(drawn, scipy.stats.gamma(a).cdf).pvalue > 1e-3


def slope(function, a):
    """By differences of the fourth order."""
    h = a * 1e-3
    return (8 * (function(a + h) - function(a - h)) - (function(a + 2 * h) - function(a - 2 * h))) / (12 * h)


@pytest.mark.parametrize("chance", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_gamma_draws_move_as_their_quantiles(chance):
    a = numpy.logspace(-1, 5, 60)
    x = scipy.special.gammaincinv(a, chance)
    expected = slope(lambda a: scipy.special.gammaincinv(a, chance), a)
    found = clew._core.ops._standard_gamma_grad(clew.from_numpy(a), clew.from_numpy(x)).numpy()
    numpy.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("chance", [0.01, 0.2, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("b", [0.2, 1.0, 7.0, 300.0])
def test_beta_draws_move_as_their_quantiles(chance, b):
    a = numpy.logspace(-0.5, 3, 40)
    x = scipy.special.betaincinv(a, b, chance)
    a, x = a[x < 1 - 1e-6], x[x < 1 - 1e-6]  # nearer to 1 the differences have no digits
    expected = slope(lambda a: scipy.special.betaincinv(a, b, chance), a)
    given = [clew.from_numpy(numpy.ascontiguousarray(one)) for one in (x, a, a + b)]
    found = clew._core.ops._dirichlet_grad(*given).numpy() * (1 - x)
    numpy.testing.assert_allclose(found, expected, rtol=2e-6)


def test_special_functions_against_scipy():
    x = numpy.concatenate([numpy.linspace(-0.999, 0.999, 101), 1 - numpy.logspace(-1, -15, 15)])
    numpy.testing.assert_allclose(clew.erfinv(clew.from_numpy(x)).numpy(), scipy.special.erfinv(x), rtol=1e-14, atol=0)
    assert clew.erfinv(clew.tensor([-1.0, 1.0])).tolist() == [-math.inf, math.inf]
    a, q = numpy.meshgrid(numpy.logspace(-3, 5, 30), [1e-5, 0.1, 0.5, 0.9, 0.999])
    x = scipy.special.gammaincinv(a, q)
    ours = [clew.from_numpy(numpy.ascontiguousarray(one)) for one in (a, x)]
    lower, upper = clew.igamma(*ours).numpy(), clew.igammac(*ours).numpy()
    numpy.testing.assert_allclose(lower, scipy.special.gammainc(a, x), rtol=1e-12, atol=1e-300)
    numpy.testing.assert_allclose(upper, scipy.special.gammaincc(a, x), rtol=1e-12)
    edges = [[0.0, 1.0], [1.0, 0.0], [1.0, math.inf], [math.inf, 1.0], [-1.0, 1.0], [0.0, 0.0], [math.nan, 1.0]]
    for pair in edges:
        for name in ("igamma", "igammac"):
            ours, theirs = (getattr(m, name)(m.tensor(pair[0]), m.tensor(pair[1])).item() for m in (clew, oracle))
            assert ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    x = numpy.logspace(-3, 3, 50)
    for n in (1, 2, 6):
        found = clew.polygamma(n, clew.from_numpy(x)).numpy()
        numpy.testing.assert_allclose(found, scipy.special.polygamma(n, x), rtol=1e-10)
    for p in (1, 2, 5):
        found = clew.mvlgamma(clew.from_numpy(x + 3), p).numpy()
        numpy.testing.assert_allclose(found, [scipy.special.multigammaln(one, p) for one in x + 3], rtol=1e-12)


def test_bad_arguments_of_samplers():
    with pytest.raises(RuntimeError, match="expected rate to be non-negative"):
        clew.poisson(clew.tensor([-1.0]))
    with pytest.raises(RuntimeError, match="one dtype"):
        clew.binomial(clew.tensor([1.0]), clew.tensor([0.5], dtype=clew.float64))
    with pytest.raises(NotImplementedError, match="floating"):
        clew.poisson(clew.tensor([1]))
    with pytest.raises(RuntimeError, match="sigma > 0"):
        clew.zeros(2).cauchy_(0, -1)
    with pytest.raises(RuntimeError, match="expects std > 0"):
        clew.zeros(2).log_normal_(0, 0)
    with pytest.raises(NotImplementedError, match="log_normal_: not implemented for dtype int64"):
        clew.zeros(2, dtype=clew.int64).log_normal_()
    with pytest.raises(NotImplementedError, match="log_normal_: not implemented for dtype complex64"):
        clew.zeros(2, dtype=clew.complex64).log_normal_()
    for name in ("cauchy_", "exponential_"):
        with pytest.raises(RuntimeError, match=f"(?s){name}: .* is a continuous probability distribution.*complex64"):
            getattr(clew.zeros(2, dtype=clew.complex64), name)()
    with pytest.raises(RuntimeError, match="negative n"):
        clew.polygamma(-1, clew.ones(1))
    with pytest.raises(RuntimeError, match="greater than or equal to 1"):
        clew.mvlgamma(clew.ones(1), 0)
    with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension of length 3"):
        clew.broadcast_shapes((2,), (3,))


@pytest.mark.beyond  # PyTorch never returns from these
def test_samplers_that_would_refuse_every_proposal():
    """They return, with what the distribution tends to; NaN where there is none."""
    for chance in (0.3, 0.7):
        assert clew.binomial(clew.tensor([math.nan, 3.0]), clew.full((2,), chance)).isnan().tolist() == [True, False]
    clew.manual_seed(2)
    concentrations = clew.tensor([math.nan, -math.inf, math.inf, 3e38], dtype=clew.float64)
    drawn = D.VonMises(clew.full((4,), 0.5, dtype=clew.float64), concentrations, validate_args=False).sample()
    assert drawn[:2].isnan().all()
    numpy.testing.assert_allclose(drawn[2:].numpy(), 0.5, atol=1e-15)
    flat = D.VonMises(0.0, clew.tensor(0.0), validate_args=False).sample((5000,)).numpy()
    assert scipy.stats.kstest(flat, scipy.stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-3
    sharp = D.VonMises(clew.zeros((), dtype=clew.float64), 3e17).sample((5000,)).numpy()
    assert abs(sharp.std() / 3e17**-0.5 - 1) < 0.05


def test_draws_can_be_differentiated_once():
    a = clew.ones(2, dtype=clew.float64, requires_grad=True)
    (slope,) = clew.autograd.grad(D.Gamma(a, 1.0).rsample().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="draws can be differentiated once"):
        slope.sum().backward()


def test_own_generators_draw_the_same():
    for draw in (
        lambda generator: clew.poisson(clew.full((9,), 30.0), generator=generator),
        lambda generator: clew.binomial(clew.full((9,), 30.0), clew.full((9,), 0.4), generator=generator),
        lambda generator: clew.zeros(9).cauchy_(1.0, 2.0, generator=generator),
        lambda generator: clew.zeros(9).log_normal_(1.0, 2.0, generator=generator),
    ):
        own = clew.Generator().manual_seed(5)
        clew.manual_seed(5)
        assert draw(own).tolist() == draw(None).tolist()


@pytest.mark.beyond
def test_checks_read_all_samples_of_a_batch(torch):
    """PyTorch refuses them inside vmap, and with its Jacobians of distributions."""
    D, scales, x = torch.distributions, torch.tensor([1.0, 2.0]), torch.tensor(0.5)
    found = torch.vmap(lambda scale: D.Normal(0.0, scale).log_prob(x))(scales)
    torch.testing.assert_close(found, D.Normal(0.0, scales).log_prob(x))
    with pytest.raises(ValueError, match="Expected parameter scale"):
        torch.vmap(lambda scale: D.Normal(0.0, scale).log_prob(x))(-scales)
    with pytest.raises(ValueError, match="within the support"):
        torch.vmap(lambda value: D.Exponential(1.0).log_prob(value))(-scales)
    bends = torch.func.hessian(lambda scale: D.Normal(0.0, scale).log_prob(x).sum())(scales)
    torch.testing.assert_close(bends, torch.diag(1 / scales**2 - 3 * x**2 / scales**4))
