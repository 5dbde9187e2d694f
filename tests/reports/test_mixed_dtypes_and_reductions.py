"""Public reports on operands of several dtypes, on reductions into places, and on draws, each as a test.

The first line of a docstring is the report.
"""

import math

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning", "ignore:index_reduce.. is in beta")
INF = math.inf


def test_the_tangent_of_a_product_into_places(torch):
    """https://github.com/pytorch/pytorch/issues/196702

    `scatter_reduce(prod)` has a tangent of 0 where two factors meet in one place: the derivative of a cubic is 57.6018.
    """

    def function(t):
        x = torch.stack((t + 1, 2 * t + 1, t + 3))
        source = torch.stack((t + 2, 3 * t + 1, 2 * t + 3))
        y = torch.scatter_reduce(x, 0, torch.tensor([0, 0, 2]), source, "prod")
        return 2 * y[0] - 3 * y[1] + 5 * y[2]

    t = torch.tensor(0.01, dtype=torch.float64)
    exact = 2 * ((2.01 + 1.01) * 1.03 + 3 * 1.01 * 2.01) - 6 + 5 * (3.02 + 2 * 3.01)
    assert torch.func.grad(function)(t).item() == pytest.approx(exact)
    if torch.__name__ != "torch":  # 0
        assert torch.func.jvp(function, (t,), (torch.ones_like(t),))[1].item() == pytest.approx(exact)
        second = torch.func.grad(torch.func.grad(function))(t).item()
        assert torch.func.jacfwd(torch.func.jacfwd(function))(t).item() == pytest.approx(second)


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [2.0, 5.0, 0.0]], ids=str)
def test_products_of_zeros_into_places(torch, name, values):
    """https://github.com/pytorch/pytorch/pull/76523, https://github.com/pytorch/pytorch/pull/77382

    The gradient of a factor 0 was 0: it is the product of the others, as far as those are not 0.
    """
    at = torch.tensor([0, 0, 1])
    base = torch.tensor([7.0, 11.0], dtype=torch.float64, requires_grad=True)
    source = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    getattr(base, name)(0, at, source, "prod").sum().backward()
    a, b, c = values
    assert source.grad.tolist() == [7 * b, 7 * a, 11]
    assert base.grad.tolist() == [a * b, c]


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_maxima_into_places(torch, name):
    """https://github.com/pytorch/pytorch/pull/76523, https://github.com/pytorch/pytorch/issues/168358

    Equal maxima share the gradient; a base of -inf that is left out of the maximum gave NaN.
    """
    at = torch.tensor([0, 0, 1])
    base = torch.tensor([3.0, -INF], dtype=torch.float64, requires_grad=True)
    source = torch.tensor([3.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
    getattr(base, name)(0, at, source, "amax").sum().backward()
    assert source.grad.tolist() == pytest.approx([1 / 3, 1 / 3, 1])
    assert base.grad.tolist() == pytest.approx([1 / 3, 0])
    base = torch.full((2,), -INF, dtype=torch.float64, requires_grad=True)
    source = torch.tensor([3.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
    getattr(base, name)(0, at, source, "amax", include_self=False).sum().backward()
    assert source.grad.tolist() == [0.5, 0.5, 1]
    assert base.grad.tolist() == [0, 0]


def test_deviations_from_the_mean_have_no_gradient(torch):
    """https://github.com/pytorch/pytorch/issues/107007

    The gradient of the sum of x - mean(x) is 0, not 1 - 1/n: the mean is used n times.
    """
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    (x - x.mean()).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]


def test_an_incoming_gradient_of_another_dtype(torch):
    """https://github.com/pytorch/pytorch/issues/1198

    `backward(gradient)` in float32 of a float64 result worked or raised, as the operation had it.
    """
    for function in (lambda x: x * 2, lambda x: x * x):
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        function(x).backward(torch.ones(2, dtype=torch.float32))
        assert x.grad.dtype == torch.float64


@pytest.mark.beyond
def test_losses_of_two_dtypes(torch):
    """https://github.com/pytorch/pytorch/issues/36553, https://github.com/pytorch/pytorch/issues/94086,
    https://github.com/pytorch/pytorch/issues/76785

    `mse_loss` and `l1_loss` of a float64 prediction and a float32 target failed in backward: they work, or raise first.
    """
    functional = torch.nn.functional
    for loss in (functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss, functional.huber_loss, torch.dist):
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([0.25, 4.5], dtype=torch.float32, requires_grad=True)
        try:
            out = loss(x, y)
        except (RuntimeError, TypeError) as error:
            assert "dtype" in str(error)  # noqa: PT017
            continue
        out.backward()
        assert (x.grad.dtype, y.grad.dtype) == (torch.float64, torch.float32)
        assert torch.allclose(x.grad, -y.grad.double())


def test_products_of_two_dtypes(torch):
    """https://github.com/pytorch/pytorch/issues/21408, https://github.com/pytorch/pytorch/issues/78240

    Each operand's gradient has its operand's dtype, also under broadcasting.
    """
    for function in (torch.mul, torch.add, torch.xlogy, torch.atan2, torch.pow, torch.maximum, torch.hypot):
        x = torch.full((2, 3), 1.5, dtype=torch.float32, requires_grad=True)
        y = torch.full((), 0.75, dtype=torch.float64, requires_grad=True)
        z = torch.full((3,), 0.75, dtype=torch.float64, requires_grad=True)
        if function is torch.hypot:
            y, z = y.detach().float().requires_grad_(), z.detach().float().requires_grad_()
        function(x, y).sum().backward()
        function(x, z).sum().backward()
        assert x.grad.dtype == torch.float32
        assert y.grad.dtype == y.dtype
        assert z.grad.dtype == z.dtype
        assert (y.grad - 2 * z.grad.sum() / 2).abs() < 1e-5


def test_products_in_another_dtype(torch):
    """https://github.com/pytorch/pytorch/issues/76786

    `cumprod` and `prod` with a dtype other than the input's failed in backward.
    """
    for function in (torch.cumprod, torch.prod, torch.cumsum, torch.sum):
        x = torch.tensor([2.0, 3.0, 0.0, 5.0], dtype=torch.float32, requires_grad=True)
        function(x, -1, dtype=torch.float64).sum().backward()
        assert x.grad.dtype == torch.float32
        wide = x.detach().double().requires_grad_()
        function(wide, -1).sum().backward()
        assert torch.allclose(x.grad.double(), wide.grad)


def test_distances_of_equal_embeddings(torch):
    """https://github.com/huggingface/sentence-transformers/pull/4033, https://github.com/tensorflow/tensorflow/issues/30199

    A triplet loss whose positive equals its anchor had NaN gradients, even where the loss is 0.
    """
    functional = torch.nn.functional
    a = torch.tensor([[1.0, 2.0]], requires_grad=True)
    b = torch.tensor([[5.0, 2.0]])
    functional.triplet_margin_loss(a, a.detach().clone(), b).backward()
    assert a.grad.isfinite().all()
    for distance in (torch.cdist, lambda x, y: torch.linalg.vector_norm(x - y, dim=-1), functional.pairwise_distance):
        a.grad = None
        distance(a, a.detach().clone()).sum().backward()
        assert a.grad.isfinite().all()
    zero = torch.zeros(1, 2, requires_grad=True)
    (functional.cosine_similarity(zero, b).sum() + functional.normalize(zero).sum()).backward()
    assert zero.grad.isfinite().all()


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5, 20.0])
def test_draws_from_a_gamma_distribution(torch, alpha):
    """https://github.com/pytorch/pytorch/issues/3813, https://github.com/pytorch/pytorch/pull/3978

    The derivative of a draw by its shape is -(dF/d alpha) / f at it, F the cumulative distribution and f its density.
    """
    stats = pytest.importorskip("scipy.stats")
    torch.manual_seed(0)
    shape = torch.full((50,), alpha, dtype=torch.float64, requires_grad=True)
    draws = torch.distributions.Gamma(shape, torch.ones((), dtype=torch.float64)).rsample()
    draws.sum().backward()
    x, step = draws.detach().numpy(), 1e-5 * alpha
    slope = (stats.gamma.cdf(x, alpha + step) - stats.gamma.cdf(x, alpha - step)) / (2 * step)
    exact = -slope / stats.gamma.pdf(x, alpha)
    assert shape.grad.numpy() == pytest.approx(exact, rel=1e-2)


def test_draws_from_a_beta_distribution(torch):
    """https://github.com/pytorch/pytorch/issues/15773, https://github.com/pyro-ppl/numpyro/issues/48

    The derivative of a draw by both parameters is that of its cumulative distribution, not of two Gamma draws.
    """
    stats = pytest.importorskip("scipy.stats")
    torch.manual_seed(0)
    a, b = (torch.full((50,), value, dtype=torch.float64, requires_grad=True) for value in (1.5, 4.0))
    draws = torch.distributions.Beta(a, b).rsample()
    draws.sum().backward()
    x, step = draws.detach().numpy(), 1e-6
    density = stats.beta.pdf(x, 1.5, 4.0)
    by_a = -(stats.beta.cdf(x, 1.5 + step, 4.0) - stats.beta.cdf(x, 1.5 - step, 4.0)) / (2 * step) / density
    by_b = -(stats.beta.cdf(x, 1.5, 4.0 + step) - stats.beta.cdf(x, 1.5, 4.0 - step)) / (2 * step) / density
    assert a.grad.numpy() == pytest.approx(by_a, rel=1e-2)
    assert b.grad.numpy() == pytest.approx(by_b, rel=1e-2)
