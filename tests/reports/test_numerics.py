"""Public reports on numbers that are very small, very large or nearly equal, each as a test.

The first line of a docstring is the report.
"""

import math

import pytest

INF = math.inf


def slope(torch, function, *values, dtype="float64"):
    """The derivatives of a function of numbers by each of them."""
    inputs = [torch.tensor(value, dtype=getattr(torch, dtype), requires_grad=True) for value in values]
    return [g.item() for g in torch.autograd.grad(function(*inputs), inputs)]


def test_tails_of_sigmoid_and_tanh(torch):
    """https://github.com/pytorch/pytorch/issues/195527, https://github.com/jax-ml/jax/issues/40385

    At 40 the derivative of `sigmoid` is 4e-18, and comes out as 0, as it is made of the result, which is rounded to 1.
    `logsigmoid` keeps it.
    """
    exact = math.exp(-40) / (1 + math.exp(-40)) ** 2
    assert slope(torch, torch.sigmoid, 40.0)[0] == pytest.approx(exact, abs=2**-53)
    assert slope(torch, torch.sigmoid, -40.0)[0] == pytest.approx(exact, rel=1e-14)
    assert slope(torch, torch.tanh, 20.0)[0] == pytest.approx(4 * math.exp(-40), abs=2**-52)
    assert slope(torch, torch.nn.functional.logsigmoid, 40.0)[0] == pytest.approx(math.exp(-40), rel=1e-14)


def test_an_exponential_out_of_range(torch):
    """https://github.com/pytorch/pytorch/issues/192407

    2^1024 is out of range, so infinite, and its derivative is taken from it: infinite, not ln 2 times 2^1024.
    """
    assert slope(torch, torch.exp2, 1024.0) == [INF]
    assert slope(torch, torch.exp2, 1023.0)[0] == pytest.approx(math.log(2) * 2.0**1023)


@pytest.mark.beyond
def test_atan2_in_half_precision(torch):
    """https://github.com/pytorch/pytorch/issues/193040

    1 / (a^2 + b^2) is out of float16's range where the derivative b / (a^2 + b^2) is 250.
    """
    y, x = slope(torch, torch.atan2, 2e-3, 2e-3, dtype="float16")
    assert y == pytest.approx(250, rel=2e-3)
    assert x == pytest.approx(-250, rel=2e-3)


@pytest.mark.beyond
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_atan2_of_numbers_whose_squares_are_out_of_range(torch, size):
    """https://github.com/pytorch/pytorch/issues/98276

    The gradient of `atan2` was 0 or NaN where a^2 + b^2 is not representable.
    """
    y, x = slope(torch, torch.atan2, size, 2 * size, dtype="float32")
    assert y == pytest.approx(0.4 / size, rel=1e-5)
    assert x == pytest.approx(-0.2 / size, rel=1e-5)


@pytest.mark.beyond
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_norms_of_numbers_whose_squares_are_out_of_range(torch, size):
    """https://github.com/pytorch/pytorch/issues/193006, https://github.com/jax-ml/jax/issues/5816

    The norm of numbers around 1e20 in float32 was infinite and its gradient 0 in silence; of 1e-30 both were 0.
    """
    x = torch.tensor([3 * size, 4 * size], dtype=torch.float32, requires_grad=True)
    y = x.norm()
    y.backward()
    assert y.item() == pytest.approx(5 * size, rel=1e-5)
    assert x.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)


def test_deviations_of_small_numbers(torch):
    """https://github.com/pytorch/pytorch/issues/4320

    The deviation of numbers around 1e-30 in float32 is not 0, and its gradient has the usual size.
    """
    x = torch.tensor([1e-30, 2e-30, -1e-30], dtype=torch.float32, requires_grad=True)
    y = x.std()
    y.backward()
    centred = [1 / 3, 4 / 3, -5 / 3]
    deviation = math.sqrt(sum(c * c for c in centred) / 2)
    assert y.item() == pytest.approx(deviation * 1e-30, rel=1e-5)
    assert x.grad.tolist() == pytest.approx([c / (2 * deviation) for c in centred], rel=1e-4)


@pytest.mark.parametrize("x", [85.0, 90.0, 95.0, 99.0, 200.0])
@pytest.mark.beyond
def test_softplus_with_a_high_threshold(torch, x):
    """https://github.com/tenstorrent/tt-metal/pull/56397, https://github.com/tracel-ai/burn/issues/5373

    exp(x) is infinite in float32 from 89 on, where the derivative of `softplus` was 0 or NaN; it is 1.
    """
    functional = torch.nn.functional
    assert slope(torch, lambda x: functional.softplus(x, threshold=100), x, dtype="float32") == [1]
    assert slope(torch, lambda x: functional.softplus(x, beta=5), x, dtype="float32") == [1]
    assert slope(torch, lambda x: functional.soft_margin_loss(-x, torch.ones(())), x, dtype="float32") == [1]


def test_logarithms_of_probabilities(torch):
    """https://github.com/pytorch/pytorch/issues/1620, https://github.com/pytorch/pytorch/issues/795

    The logarithm of a softmax has an infinite slope where the probability underflows; `log_softmax` has none.
    """
    functional = torch.nn.functional
    x = torch.tensor([0.0, 500.0, -500.0], requires_grad=True)
    (plain,) = torch.autograd.grad(functional.softmax(x, 0)[2].log(), x)
    assert not plain.isfinite().all()
    (stable,) = torch.autograd.grad(functional.log_softmax(x, 0)[2], x)
    assert stable.tolist() == [0, -1, 1]
    assert functional.cross_entropy(x[None], torch.tensor([2])).item() == 1000


def test_predictions_of_exactly_zero_and_one(torch):
    """https://github.com/snipsco/ntm-lasagne/issues/5, https://github.com/tiny-dnn/tiny-dnn/issues/410

    A cross entropy of a prediction of exactly 0 or 1 is NaN by its formula (0 log 0), and so is the gradient.
    """
    loss = torch.nn.functional.binary_cross_entropy
    p = torch.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    target = torch.tensor([0.0, 1.0, 1.0, 0.0])
    values = loss(p, target, reduction="none")
    assert values.tolist() == [0, 0, 100, 100]
    values.sum().backward()
    assert p.grad.isfinite().all()
    assert p.grad[2].item() < -1e6
    assert p.grad[3].item() > 1e6
    x = torch.tensor([-200.0, 200.0], requires_grad=True)
    values = torch.nn.functional.binary_cross_entropy_with_logits(x, torch.tensor([1.0, 0.0]), reduction="none")
    values.sum().backward()
    assert values.tolist() == [200, 200]
    assert x.grad.tolist() == [-1, 1]


def test_fractional_distances_of_nearly_equal_numbers(torch):
    """https://github.com/pytorch/pytorch/issues/36493

    `cdist` with p = 0.5 gave NaN where two coordinates differ by less than 1e-45.
    """
    x = torch.tensor([[1e-45, 2.0]], requires_grad=True)
    y = torch.tensor([[0.0, 3.0]], requires_grad=True)
    torch.cdist(x, y, p=0.5).backward()
    assert x.grad[0, 1].item() == pytest.approx(-1)
    assert not x.grad.isnan().any()
    assert torch.equal(x.grad, -y.grad)


def test_a_logarithm_of_a_sum_of_far_apart_numbers(torch):
    """https://github.com/tensorflow/tensorflow/issues/127243

    Second derivatives of cumulative sums of exponentials were NaN for numbers 100 apart.
    """
    x = torch.tensor([0.0, 200.0, -1000.0, 900.0], dtype=torch.float64, requires_grad=True)
    for function in (lambda x: x.logcumsumexp(0).sum(), lambda x: x.logsumexp(0), lambda x: x.log_softmax(0)[1]):
        (g,) = torch.autograd.grad(function(x), x, create_graph=True)
        assert g.isfinite().all()
        (second,) = torch.autograd.grad((g * torch.arange(4.0, dtype=torch.float64)).sum(), x)
        assert second.isfinite().all()
        assert second.abs().max().item() < 1e-11


def test_a_saturated_product(torch):
    """https://github.com/jax-ml/jax/issues/40315

    tanh(u) u^2 far out is u^2 or -u^2: its second derivative is 2 or -2, whatever is saved of `tanh`.
    """
    for sign in (1, -1):
        u = torch.tensor(sign * 1e4, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(torch.tanh(u) * u * u, u, create_graph=True)
        assert torch.autograd.grad(g, u)[0].item() == 2 * sign
