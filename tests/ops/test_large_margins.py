"""Functions over exp(x) where exp overflows or is lost beside 1: values and the first two or three derivatives."""

import math

import numpy
import pytest

clew = pytest.importorskip("clew")
torch = pytest.importorskip("torch")

POINTS = numpy.array([-100.0, -90, -60, -30, -19, -3, -0.25, 0, 0.25, 3, 19, 30, 60, 90, 100])


def softplus(x):
    """log(1 + exp(x)) and its first two derivatives: the logistic function s, and s (1 - s)."""
    small = numpy.exp(-abs(x))
    value = numpy.maximum(x, 0) + numpy.log1p(small)
    return value, numpy.where(x < 0, small, 1) / (1 + small), small / (1 + small) ** 2


def mirrored(x):
    value, slope, bend = softplus(-x)
    return value, -slope, bend


def cross_entropy(x):
    """That of a target of 0.25."""
    value, slope, bend = softplus(x)
    return value - x / 4, slope - 0.25, bend


def base_two(x):
    value, slope, bend = softplus(x * math.log(2))
    return value / math.log(2), slope, bend * math.log(2)


FORMULAS = {
    "soft_margin_loss": (lambda m, x: m.nn.functional.soft_margin_loss(x, m.ones_like(x), reduction="none"), mirrored),
    "soft_margin_loss, other class": (
        lambda m, x: m.nn.functional.soft_margin_loss(x, -m.ones_like(x), reduction="none"), softplus,
    ),
    "logsigmoid": (lambda m, x: -m.nn.functional.logsigmoid(x), mirrored),
    "softplus": (lambda m, x: m.nn.functional.softplus(x, threshold=50), softplus),
    "logaddexp, first": (lambda m, x: m.logaddexp(x, m.zeros_like(x)), softplus),
    "logaddexp, second": (lambda m, x: m.logaddexp(m.zeros_like(x), x), softplus),
    "logaddexp2, first": (lambda m, x: m.logaddexp2(x, m.zeros_like(x)), base_two),
    "logaddexp2, second": (lambda m, x: m.logaddexp2(m.zeros_like(x), x), base_two),
    "binary_cross_entropy_with_logits": (
        lambda m, x: m.nn.functional.binary_cross_entropy_with_logits(x, m.full_like(x, 0.25), reduction="none"),
        cross_entropy,
    ),
    "multilabel_soft_margin_loss": (
        lambda m, x: m.nn.functional.multilabel_soft_margin_loss(
            x.unsqueeze(1), m.full_like(x, 0.25).unsqueeze(1), reduction="none"
        ),
        cross_entropy,
    ),
}  # fmt: skip
COMPARED = {
    "mish": lambda m, x: m.nn.functional.mish(x),
    "silu": lambda m, x: m.nn.functional.silu(x),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "gelu, tanh": lambda m, x: m.nn.functional.gelu(x, approximate="tanh"),
    "elu": lambda m, x: m.nn.functional.elu(x),
    "celu": lambda m, x: m.nn.functional.celu(x),
    "selu": lambda m, x: m.nn.functional.selu(x),
}


def orders(module, function, dtype, count):
    x = module.tensor(POINTS.tolist(), dtype=getattr(module, dtype), requires_grad=True)
    found = [function(module, x)]
    for _ in range(count):
        found.append(module.autograd.grad(found[-1].sum(), x, create_graph=True)[0])
    return [numpy.array(each.tolist()) for each in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_like_softplus_is_right_for_large_arguments(name, dtype):
    function, formula = FORMULAS[name]
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    for found, expected in zip(orders(clew, function, dtype, 2), formula(POINTS), strict=True):
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*COMPARED, "soft_margin_loss"])
def test_derivatives_for_large_arguments_agree(name, dtype):
    function = COMPARED.get(name) or FORMULAS[name][0]
    tolerance = 3e-6 if dtype == "float32" else 1e-12
    for ours, theirs in zip(*(orders(module, function, dtype, 3) for module in (clew, torch)), strict=True):
        assert numpy.isfinite(ours).all()
        right = numpy.isfinite(theirs)  # PyTorch's third derivative of gelu, for one, is not
        numpy.testing.assert_allclose(ours[right], theirs[right], rtol=tolerance, atol=tolerance)
