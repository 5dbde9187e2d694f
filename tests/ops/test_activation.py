"""Activation functions, with derivatives of the first and second order."""

import inspect

import numpy
import pytest
import sampling
from oracle import check, check_error, module, sample, strided, sweep

FUNCTIONS = {
    "relu": [{}],
    "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}],
    "softplus": [{}, {"beta": 2.0}, {"beta": 0.5, "threshold": 0.3}],
    "leaky_relu": [{}, {"negative_slope": 0.3}],
    "elu": [{}, {"alpha": 0.5}],
    "logsigmoid": [{}],
    "threshold": [{"threshold": 0.1, "value": -2.0}],
    "hardtanh": [{}, {"min_val": -0.5, "max_val": 0.2}],
    "relu6": [{}],
    "selu": [{}],
    "celu": [{}, {"alpha": 0.7}],
    "hardsigmoid": [{}],
    "hardswish": [{}],
    "mish": [{}],
    "softsign": [{}],
    "tanhshrink": [{}],
}
OPERATIONS = {overload.operation for overload in sampling.overloads()}
NATIVE = [name for name in FUNCTIONS if name in OPERATIONS]
IN_PLACE = [
    name for name in FUNCTIONS if "inplace" in inspect.signature(getattr(module.nn.functional, name)).parameters
]
ROUNDED = ("celu", "hardsigmoid")  # PyTorch keeps their constants in float32
WITHOUT_SECOND = ("hardsigmoid",)  # PyTorch has none
CASES = [(name, kwargs) for name, all_kwargs in FUNCTIONS.items() for kwargs in all_kwargs]


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_activations(name, kwargs):
    rtol = 1e-6 if name in ROUNDED else None
    options = {"kwargs": kwargs, "node": name in NATIVE, "second": name not in WITHOUT_SECOND, "rtol": rtol}
    sweep(f"nn.functional.{name}", "nonzero", integers=False, **options)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_activations(name):
    for kwargs in FUNCTIONS[name]:
        x = sample((3, 4), "nonzero")

        def gradient_of(to, x=x, kwargs=kwargs):
            leaf = to.from_numpy(x.copy()).requires_grad_()
            result = getattr(to.nn.functional, name)(leaf * 1.5, inplace=True, **kwargs)
            (result * result).sum().backward()
            return result.detach().numpy(), leaf.grad.numpy()

        import torch

        for ours, theirs in zip(gradient_of(module), gradient_of(torch), strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-6 if name in ROUNDED else 1e-9)


def test_relu_methods():
    check("relu", sample((3, 4), "nonzero"), method=True)
    check("relu_", sample((3, 4), "nonzero"), method=True)
    check("relu_", strided(sample((3, 4), "nonzero")), method=True)
    check("relu", sample((3, 4), dtype="int64"))
    check("relu", numpy.array([0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf]))


@pytest.mark.parametrize("name", ["gelu", "silu", "softplus", "elu", "logsigmoid"])
def test_activations_far_from_zero(name):
    far = numpy.array([-1000.0, -100.0, -30.0, 30.0, 100.0, 1000.0, numpy.inf])
    check(f"nn.functional.{name}", far, second=False)
    # PyTorch's gelu gives NaN for infinity in float32.
    check(f"nn.functional.{name}", far[: 6 if name == "gelu" else 7].astype("float32"), second=False)


def test_gelu_refuses_another_approximation():
    check_error(
        "nn.functional.gelu", sample((3,)), kwargs={"approximate": "fast"}, match="approximate argument must be"
    )


@pytest.mark.parametrize("name", [name for name in NATIVE if name not in WITHOUT_SECOND])
def test_third_derivatives(name):
    """The rules of the derivatives are made of operations, so they go on."""
    x = sample((5,), "nonzero")
    kwargs = FUNCTIONS[name][0]

    def third(to):
        leaf = to.from_numpy(x.copy()).requires_grad_()
        value = (getattr(to.nn.functional, name)(leaf, **kwargs) * leaf).sin().sum()
        for _ in range(3):
            (gradient,) = to.autograd.grad(value, leaf, create_graph=True)
            value = (gradient * leaf).sum()
        return gradient.detach().numpy()

    import torch

    numpy.testing.assert_allclose(third(module), third(torch), rtol=1e-7, atol=1e-9)


def test_what_activations_save():
    x = module.tensor([1.0, -1.0], requires_grad=True)
    y = module.relu(x)
    assert y.grad_fn._saved_result is y or y.grad_fn._saved_result.tolist() == [1.0, 0.0]
    assert module.nn.functional.gelu(x).grad_fn._saved_self is x
