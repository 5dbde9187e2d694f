"""3.7 autograd.Function: its other styles, and what it refuses."""

from importlib import import_module

import pytest
from graph_support import assert_close, assert_equal


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def returning(torch, backward, forward=lambda ctx, x, *more: x * 2):
    return type(
        "Made", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


def test_setup_context(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x, scale):
            return x**3 * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.scale = inputs
            ctx.save_for_backward(x)
            ctx.shape = tuple(output.shape)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            assert ctx.shape == (2,)
            return grad * 3 * x**2 * ctx.scale, None

    x = leaf(torch)
    (first,) = torch.autograd.grad(Cube.apply(x, 2).sum(), x, create_graph=True)
    assert_close(first, [6, 24])
    assert_close(torch.autograd.grad(first.sum(), x)[0], [12, 24])


def test_vjp_is_another_name_for_backward(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = leaf(torch)
    Double.apply(x).sum().backward()
    assert_equal(x.grad, [2, 2])


def test_once_differentiable(torch):
    once_differentiable = import_module(torch.__name__ + ".autograd.function").once_differentiable

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            assert not torch.is_grad_enabled()
            return grad * 2 * x

    x = leaf(torch)
    Square.apply(x).sum().backward()
    assert_equal(x.grad, [2, 4])
    (first,) = torch.autograd.grad((Square.apply(x) ** 2).sum(), x, create_graph=True)
    assert_equal(first, [4, 32])
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.sum().backward()


def test_the_number_of_gradients_is_checked(torch):
    for backward in (lambda ctx, grad: (grad, grad), lambda ctx, grad: ()):
        x = leaf(torch)
        y = returning(torch, backward).apply(x)
        with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
            y.sum().backward()
        assert x.grad is None


def test_extra_gradients_of_none_are_forgiven(torch):
    x = leaf(torch)
    returning(torch, lambda ctx, grad: (grad * 2, None, None)).apply(x).sum().backward()
    assert_equal(x.grad, [2, 2])


def test_the_shape_of_gradients_is_checked(torch):
    x = leaf(torch)
    y = returning(torch, lambda ctx, grad: torch.ones(3)).apply(x)
    with pytest.raises(RuntimeError, match=r"returned an invalid gradient at index 0 - got \[3\] but expected shape"):
        y.sum().backward()
    assert x.grad is None


def test_a_gradient_that_can_be_summed_to_the_shape_is_summed(torch):
    x = leaf(torch)
    y = returning(torch, lambda ctx, grad: torch.ones(5, 2)).apply(x)
    y.sum().backward()
    assert_equal(x.grad, [5, 5])


def test_none_is_no_gradient(torch):
    x = leaf(torch)
    (returning(torch, lambda ctx, grad: None).apply(x).sum() + (x * 3).sum()).backward()
    assert_equal(x.grad, [3, 3])


def test_a_gradient_for_what_needs_none_is_dropped(torch):
    w = torch.ones(2)
    x = leaf(torch)
    returning(torch, lambda ctx, grad: (grad * 2, grad)).apply(x, w).sum().backward()
    assert w.grad is None
    assert_equal(x.grad, [2, 2])


def test_gradients_must_be_tensors(torch):
    x = leaf(torch)
    y = returning(torch, lambda ctx, grad: 5).apply(x)
    with pytest.raises((TypeError, RuntimeError)):
        y.sum().backward()
    assert x.grad is None


def test_without_backward(torch):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    y = Half.apply(leaf(torch))
    with pytest.raises(NotImplementedError, match="backward"):
        y.sum().backward()


def test_save_for_backward_takes_only_tensors(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x, 5)
        return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        returning(torch, lambda ctx, grad: grad, forward).apply(leaf(torch))


def test_functions_are_not_called_but_applied(torch):
    with pytest.raises((RuntimeError, TypeError, DeprecationWarning)):
        returning(torch, lambda ctx, grad: grad)()(leaf(torch))


def test_exceptions_come_through(torch):
    def fail(ctx, *arguments):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        returning(torch, lambda ctx, grad: grad, fail).apply(leaf(torch))
    x = leaf(torch)
    with pytest.raises(KeyError, match="mine"):
        returning(torch, fail).apply(x).sum().backward()
    assert x.grad is None


def test_forward_mode(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2

    x = leaf(torch)
    Double.apply(x).sum().backward()
    assert_equal(x.grad, [2, 2])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        assert_equal(torch.autograd.forward_ad.unpack_dual(Double.apply(dual)).tangent, [2, 2])


def test_hooks_on_python_nodes(torch):
    x = leaf(torch)
    y = returning(torch, lambda ctx, grad: grad * 2).apply(x)
    seen = []
    y.register_hook(lambda grad: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda grads, outputs: seen.append("after"))
    y.sum().backward()
    assert seen == ["tensor", "before", "after"]


def test_a_function_within_a_function(torch):
    double = returning(torch, lambda ctx, grad: grad * 2)

    def forward(ctx, x):
        return double.apply(x) * 3

    outer = returning(torch, lambda ctx, grad: double.apply(grad) * 3, forward)
    x = leaf(torch)
    y = outer.apply(x)
    assert y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    assert_equal(x.grad, [6, 6])


def test_gradcheck_of_a_function(torch):
    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Exponential.apply, (x,))
    assert torch.autograd.gradgradcheck(Exponential.apply, (x,))
