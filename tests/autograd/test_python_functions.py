"""3.7 autograd.Function: operations that users write."""

import pytest
from graph_support import MODIFIED, SECOND_TIME, assert_close, assert_equal


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def square(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square


def test_forward_and_backward(torch):
    x = leaf(torch)
    y = square(torch).apply(x)
    assert_equal(y, [1, 4])
    assert y.grad_fn.name() == "SquareBackward"
    assert y.grad_fn.next_functions[0][0].variable is x
    (y * torch.tensor([1.0, 10.0])).sum().backward()
    assert_equal(x.grad, [2, 40])


def test_forward_does_not_record_and_backward_only_under_create_graph(torch):
    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_grad_enabled())
            return grad * 2

    seen = []
    y = Watch.apply(leaf(torch)).sum()
    y.backward(retain_graph=True)
    x = leaf(torch)
    torch.autograd.grad(Watch.apply(x).sum(), x, create_graph=True)
    assert seen == [False, False, False, True]


def test_double_backward(torch):
    x = leaf(torch)
    (first,) = torch.autograd.grad((square(torch).apply(x) * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert_close(first, [3, 12])
    assert_close(second, [6, 12])


def test_without_gradient_nothing_is_recorded(torch):
    assert square(torch).apply(torch.ones(2)).grad_fn is None
    with torch.no_grad():
        assert not square(torch).apply(leaf(torch)).requires_grad


def test_saved_tensors_are_the_users_and_are_freed(torch):
    x = leaf(torch)
    y = square(torch).apply(x)
    assert type(y.grad_fn.saved_tensors) is tuple
    assert y.grad_fn.saved_tensors[0] is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.grad_fn.saved_tensors  # noqa: B018
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.sum().backward()


def test_writing_to_what_was_saved_is_found(torch):
    h = leaf(torch) * 1
    y = square(torch).apply(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_inputs_outputs_intermediates_and_none_can_be_saved(torch):
    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, nothing):
            middle = x.exp()
            result = middle * middle
            ctx.save_for_backward(x, nothing, middle, result)
            return result

        @staticmethod
        def backward(ctx, grad):
            x, nothing, middle, result = ctx.saved_tensors
            assert nothing is None
            assert torch.allclose(middle, x.exp())
            return grad * 2 * result, None

    x = leaf(torch)
    Save.apply(x, None).sum().backward()
    assert_close(x.grad, (2 * (2 * x).exp()).tolist())


def test_attributes_of_ctx(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, *, _=None):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(torch)
    y = Scale.apply(x, 5)
    assert y.grad_fn.factor == 5
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert_equal(x.grad, [10, 10])


def test_needs_input_grad(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, c):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(a, b)
            return a * b * c

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            a, b = ctx.saved_tensors
            return (
                (grad * b if ctx.needs_input_grad[0] else None),
                (grad * a if ctx.needs_input_grad[1] else None),
                None,
            )

    seen = []
    x = leaf(torch)
    Product.apply(torch.ones(2), x, 1).sum().backward()
    assert seen == [(False, True, False)] * 2
    assert_equal(x.grad, [1, 1])


def test_several_outputs(torch):
    class SinCos(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, by_sin, by_cos):
            (x,) = ctx.saved_tensors
            seen.append((by_sin.tolist(), by_cos.tolist()))
            return by_sin * x.cos() - by_cos * x.sin()

    seen = []
    x = leaf(torch)
    sine, cosine = SinCos.apply(x)
    assert sine.grad_fn is cosine.grad_fn
    (cosine * 2).sum().backward()
    assert seen == [([0.0, 0.0], [2.0, 2.0])], "gradients that nobody gave are zeros"
    assert_close(x.grad, (-2 * x.sin()).tolist())


def test_set_materialize_grads(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            seen.append((first is None, second is None))
            return second * 2

    seen = []
    x = leaf(torch)
    Two.apply(x)[1].sum().backward()
    assert seen == [(True, False)]
    assert_equal(x.grad, [2, 2])


def test_outputs_that_are_no_tensors_pass_through(torch):
    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "text", 5, None

        @staticmethod
        def backward(ctx, grad, *others):
            assert others == (None, None, None)
            return grad * 2

    x = leaf(torch)
    y, text, number, nothing = Mixed.apply(x)
    assert (text, number, nothing) == ("text", 5, None)
    y.sum().backward()
    assert_equal(x.grad, [2, 2])


def test_mark_non_differentiable(torch):
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, indices = x.sort()
            mask = x > 1
            ctx.mark_non_differentiable(indices, mask)
            ctx.save_for_backward(indices)
            return values, indices, mask

        @staticmethod
        def backward(ctx, by_values, by_indices, by_mask):
            seen.append((by_indices.tolist(), by_mask.tolist()))
            return torch.zeros(2).scatter(0, ctx.saved_tensors[0], by_values)

    seen = []
    x = torch.tensor([5.0, 1.0], requires_grad=True)
    values, indices, mask = Sorted.apply(x)
    assert values.requires_grad
    assert (indices.requires_grad, indices.grad_fn, mask.requires_grad) == (False, None, False)
    (values * torch.tensor([1.0, 2.0])).sum().backward()
    assert_equal(x.grad, [2, 1])
    assert seen == [([0, 0], [0, 0])]


def test_mark_dirty(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(torch)
    h = x * 1
    version = h._version
    y = Double.apply(h)
    assert y is h
    assert h._version > version
    assert h.grad_fn.name() == "DoubleBackward"
    h.sum().backward()
    assert_equal(x.grad, [2, 2])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(leaf(torch))


def test_an_input_that_is_returned_becomes_a_new_tensor(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = leaf(torch)
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    assert y.grad_fn.name() == "SameBackward"
    y.sum().backward()
    assert_equal(x.grad, [7, 7])


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:], lambda x: x.t(), lambda x: x[1]])
def test_what_was_written_into_a_view_can_be_differentiated_twice(torch, oracle, view):
    """And its nodes go when they are no longer needed."""

    def run(library):
        class Exp(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                ctx.save_for_backward(x.exp_())
                return x

            @staticmethod
            def backward(ctx, gradient):
                (y,) = ctx.saved_tensors
                return gradient * y

        x = library.tensor([[0.2, 0.3], [0.4, 0.5]], requires_grad=True)
        y = Exp.apply(view(x * 1))
        (first,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        return first.detach(), library.autograd.grad(first.sum(), x)[0]

    for _ in range(3):
        for ours, theirs in zip(run(torch), run(oracle), strict=True):
            assert_close(ours, theirs.numpy())


RETURNED = {
    "x": lambda ctx, x: x,
    "twice": lambda ctx, x: (x, x),
    "with another": lambda ctx, x: (x, x * 2),
    "not differentiable": lambda ctx, x: ctx.mark_non_differentiable(x) or x,
    "dirty": lambda ctx, x: ctx.mark_dirty(x) or x.mul_(2),
}
GIVEN = {
    "leaf": lambda torch: torch.arange(3.0).requires_grad_(),
    "result": lambda torch: torch.arange(3.0).requires_grad_() * 2,
    "view": lambda torch: (torch.arange(6.0).reshape(2, 3).requires_grad_() * 2).t(),
    "data": lambda torch: torch.arange(3.0),
    "integers": lambda torch: torch.arange(3),
}


@pytest.mark.parametrize("with_grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("returned", RETURNED)
def test_what_is_done_to_a_returned_input_is_not_done_to_the_input(torch, oracle, returned, given, with_grad):
    def run(library):
        class Same(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return RETURNED[returned](ctx, x)

            @staticmethod
            def backward(ctx, *gradients):
                return sum(gradient for gradient in gradients if gradient is not None)

        x = GIVEN[given](library)
        with library.set_grad_enabled(with_grad):
            try:
                result = Same.apply(x)
            except RuntimeError:
                return "RuntimeError"
        results = result if isinstance(result, tuple) else (result,)
        told = [
            (y is x, y._is_view(), y._base is x, y.requires_grad, y.is_leaf, y._version, y.data_ptr() == x.data_ptr())
            for y in results
        ]
        if results[0].is_floating_point():
            results[0].requires_grad_()
        return told, x.requires_grad, x.is_leaf

    assert run(torch) == run(oracle)


def test_a_view_of_an_input_can_be_returned(torch):
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return torch.cat([grad, torch.zeros(1)])

    x = leaf(torch)
    First.apply(x).sum().backward()
    assert_equal(x.grad, [1, 0])


@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("create_graph", [True, False])
def test_a_function_that_no_gradient_reaches_is_asked_all_the_same(torch, materialize, create_graph):
    seen = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad)
            return None if grad is None else grad * 2

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            return None

    x = torch.ones(2, requires_grad=True)
    y = Nothing.apply(Doubled.apply(x))
    (grad,) = torch.autograd.grad(y, x, torch.ones(2), create_graph=create_graph, allow_unused=True)
    assert [one if one is None else one.tolist() for one in seen] == ([[0.0, 0.0]] if materialize else [None])
    assert (grad.tolist() == [0.0, 0.0]) if materialize else grad is None
