"""3.4 Any order of derivative; gradcheck and gradgradcheck.

tests/ops/test_registry.py checks the derivatives of every operation; this file, what makes them right.
"""

import math
from importlib import import_module

import numpy
import pytest
from graph_support import assert_close


def derivatives(torch, function, at, order):
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    values = [function(x)]
    for _ in range(order):
        values.append(torch.autograd.grad(values[-1], x, create_graph=True)[0])
    return [value.item() for value in values]


def test_sine_to_the_eighth_order(torch):
    expected = [math.sin(0.7 + order * math.pi / 2) for order in range(9)]
    assert derivatives(torch, lambda x: x.sin(), 0.7, 8) == pytest.approx(expected, rel=1e-12)


def test_polynomials_powers_and_exponentials(torch):
    assert derivatives(torch, lambda x: x**5, 2.0, 6) == [32, 80, 160, 240, 240, 120, 0]
    assert derivatives(torch, lambda x: x * x * x, 2.0, 3) == [8, 12, 12, 6]
    expected = [2**order * math.exp(2 * 0.3) for order in range(6)]
    assert derivatives(torch, lambda x: (2 * x).exp(), 0.3, 5) == pytest.approx(expected, rel=1e-12)
    expected = [math.log(2.0)] + [(-1) ** (n - 1) * math.factorial(n - 1) / 2.0**n for n in range(1, 6)]
    assert derivatives(torch, lambda x: x.log(), 2.0, 5) == pytest.approx(expected, rel=1e-12)


def test_tanh_to_the_third_order(torch):
    t = math.tanh(0.4)
    first, second = 1 - t * t, -2 * t * (1 - t * t)
    third = -2 * first * first - 2 * t * second
    assert derivatives(torch, lambda x: x.tanh(), 0.4, 3) == pytest.approx([t, first, second, third], rel=1e-12)


def test_mixed_partial_derivatives(torch):
    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    y = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    f = x**2 * y.sin()
    by_x, by_y = torch.autograd.grad(f, [x, y], create_graph=True)
    (by_x_y,) = torch.autograd.grad(by_x, y, retain_graph=True)
    (by_y_x,) = torch.autograd.grad(by_y, x, retain_graph=True)
    assert by_x_y.item() == by_y_x.item() == pytest.approx(2 * 1.5 * math.cos(0.5), rel=1e-12)
    (by_y_y,) = torch.autograd.grad(by_y, y)
    assert by_y_y.item() == pytest.approx(-(1.5**2) * math.sin(0.5), rel=1e-12)


def test_a_hessian_vector_product(torch):
    matrix = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    x = torch.tensor([0.3, -0.2], requires_grad=True)
    f = (x @ matrix @ x) / 2
    (gradient,) = torch.autograd.grad(f, x, create_graph=True)
    (product,) = torch.autograd.grad(gradient, x, torch.tensor([1.0, -1.0]))
    assert_close(product, [1, -2])


def test_a_gradient_penalty_reaches_the_weights(torch, oracle):
    found = []
    for module in (torch, oracle):
        w = module.tensor([[0.1, -0.2], [0.3, 0.4]], dtype=module.float64, requires_grad=True)
        x = module.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=module.float64, requires_grad=True)
        (gradient,) = module.autograd.grad((x @ w).tanh().sum(), x, create_graph=True)
        ((gradient**2).sum() + (x * w).sum()).backward()
        found.append((w.grad.tolist(), x.grad.tolist()))
    for ours, theirs in zip(*found, strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12)


def wrong_square(torch):
    class WrongSquare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0] * 3

    return WrongSquare.apply


def double_input(torch):
    return torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)


def test_gradcheck_finds_a_wrong_derivative(torch):
    error = import_module(torch.__name__ + ".autograd.gradcheck").GradcheckError
    with pytest.raises(error, match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong_square(torch), (double_input(torch),))
    assert issubclass(error, RuntimeError)
    assert torch.autograd.gradcheck(wrong_square(torch), (double_input(torch),), raise_exception=False) is False


def test_gradgradcheck_finds_a_wrong_second_derivative(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].detach() * 2

    x = double_input(torch)
    assert torch.autograd.gradcheck(Square.apply, (x,))
    assert torch.autograd.gradgradcheck(Square.apply, (x,), raise_exception=False) is False


def test_gradcheck_checks_its_inputs(torch):
    with pytest.raises(ValueError, match="require"):
        torch.autograd.gradcheck(lambda x: x * 2, (torch.ones(2, dtype=torch.float64),))


def test_gradcheck_takes_several_outputs_and_other_arguments(torch):
    x = double_input(torch)
    assert torch.autograd.gradcheck(lambda t, k: (t.sin() * k, t**2), (x, 3), eps=1e-6, atol=1e-5, rtol=1e-3)
    assert x.grad is None
