"""Public reports on `autograd.Function`, each as a test. The first line of a docstring is the report."""

import pytest


def test_a_result_of_einsum(torch):
    """https://github.com/pytorch/pytorch/issues/22072

    The backward of a function that returned what `einsum` gave was not called: the result was a view.
    """

    class Contraction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.einsum("ab,ab->a", x, w)

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return 10 * g[:, None] * w, 10 * g[:, None] * x

    w = torch.tensor([[2.0, 3.0]], requires_grad=True)
    Contraction.apply(torch.tensor([[5.0, 7.0]]), w).sum().backward()
    assert w.grad.tolist() == [[50, 70]]


def test_a_result_that_is_a_view(torch):
    """https://github.com/pytorch/pytorch/issues/14707

    A write under `no_grad` to a result that is a view replaced the function's backward by the view's, in silence.
    """

    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.tensor((x.detach().numpy() * 3).tolist()).view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.view(2, 2) * 3

    x = torch.ones(2, 2, requires_grad=True)
    out = Flat.apply(x)
    with torch.no_grad():
        out.fill_(1)
    with pytest.raises(RuntimeError, match="is a view"):
        out.sum().backward()
    Flat.apply(x).sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


def test_a_view_of_the_input_and_a_write_to_its_base(torch):
    """https://github.com/pytorch/pytorch/issues/73604

    A function returns a view of its input, and the input is written after: its backward cannot be kept, so it raises.
    """

    class Alias(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:]

        @staticmethod
        def backward(ctx, g):
            return g * 10

    base = torch.ones(1, requires_grad=True)
    z = base * 1
    x = Alias.apply(z)
    x.sum().backward(retain_graph=True)
    assert base.grad.tolist() == [10]
    z.mul_(-1)
    with pytest.raises(RuntimeError, match="view"):
        x.sum().backward()
    with pytest.raises(RuntimeError, match="view"):
        Alias.apply(base * 1).mul_(2)


@pytest.mark.parametrize("history", [True, False])
def test_an_input_that_was_written_is_returned_itself(torch, history):
    """https://github.com/pytorch/pytorch/issues/90209

    `f.apply(x) is x` was True after `mark_dirty` only where `x` requires a gradient.
    """

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    leaf = torch.ones(2, requires_grad=history)
    x = leaf.clone()
    assert Doubled.apply(x) is x
    if history:
        (x * 3).sum().backward()
        assert leaf.grad.tolist() == [6, 6]


def test_mark_dirty_of_what_is_no_input(torch):
    """https://github.com/pytorch/pytorch/issues/149252

    A view of an intermediate that is marked dirty gave an internal assertion.
    """

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            part = x.clone()[:1]
            ctx.mark_dirty(part)
            return part

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="mark_dirty"):
        Wrong.apply(torch.ones(2, requires_grad=True) * 1)


def test_writes_to_an_input_that_is_not_a_leaf(torch):
    """https://github.com/pytorch/pytorch/issues/5871

    A function that writes into a part of its input lost the gradient of what was added, unless the input is a leaf.
    """

    class AddToSecond(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            a[1:2] += b
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, g):
            return g, g[1:2]

    a, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    out = AddToSecond.apply(a + 1, b)
    assert out.tolist() == [2, 3]
    (out * torch.tensor([5.0, 7.0])).sum().backward()
    assert a.grad.tolist() == [5, 7]
    assert b.grad.tolist() == [7]


@pytest.mark.beyond
def test_an_intermediate_kept_in_the_context(torch):
    """https://github.com/pytorch/pytorch/issues/58509, https://github.com/pytorch/pytorch/issues/76185,
    https://github.com/pytorch/pytorch/issues/104040

    A second derivative through a value that forward computed and kept was wrong in silence: it is right, or it raises.
    """

    class FourSquares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.double = x * 2
            return ctx.double**2

        @staticmethod
        def backward(ctx, g):
            return 4 * ctx.double * g

    x = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    (plain,) = torch.autograd.grad(FourSquares.apply(x), x)
    assert plain.tolist() == [24], "the first derivative is right"
    try:
        (g,) = torch.autograd.grad(FourSquares.apply(x), x, create_graph=True)
        (second,) = torch.autograd.grad(g, x)
    except RuntimeError as error:
        wrong = None if "FourSquares" in str(error) else str(error)
    else:
        wrong = None if second.tolist() == [8] else second
    assert wrong is None


@pytest.mark.beyond
def test_an_intermediate_among_the_saved_tensors(torch):
    """https://github.com/pytorch/pytorch/issues/23108, https://github.com/pytorch/pytorch/issues/18619

    `save_for_backward` of what is neither input nor output has no history in backward either.
    """

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            cube = x**3
            ctx.save_for_backward(cube)
            return cube * x

        @staticmethod
        def backward(ctx, g):
            (cube,) = ctx.saved_tensors
            return 4 * cube * g

    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    try:
        (g,) = torch.autograd.grad(Power.apply(x), x, create_graph=True)
        (second,) = torch.autograd.grad(g, x)
    except RuntimeError as error:
        wrong = None if "Power" in str(error) else str(error)
    else:
        wrong = None if second.item() == 12 else second
    assert wrong is None


def test_masks_kept_in_the_context_do_no_harm(torch):
    """https://github.com/pytorch/pytorch/issues/23108

    "I don't think we can differentiate bad use case from legitimate here": masks, shapes and numbers are legitimate.
    """

    class Rectified(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mask = x > 0
            ctx.scale = 2.0
            ctx.save_for_backward(x)
            return torch.where(ctx.mask, x**2, 0 * x) * ctx.scale

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.where(ctx.mask, 2 * x, 0 * x) * ctx.scale * g

    x = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(Rectified.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [12, 0]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [4, 0]


def test_the_recommended_way_to_keep_an_intermediate(torch):
    """https://github.com/pytorch/pytorch/pull/81340

    An intermediate that is returned as a second output, and ignored outside, has a history in backward.
    """

    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept = x.exp()
            ctx.save_for_backward(x, kept)
            return kept * x, kept

        @staticmethod
        def backward(ctx, g, g_kept):
            x, kept = ctx.saved_tensors
            return g * (kept * x + kept) + g_kept * kept

    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: Exponential.apply(x)[0], x)
    assert torch.autograd.gradgradcheck(lambda x: Exponential.apply(x)[0], x)


def test_once_differentiable(torch):
    """https://github.com/pytorch/pytorch/pull/81340

    `once_differentiable` makes a second derivative raise instead of being wrong.
    """

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 3 * x**2
            return x**3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return ctx.slope * g

    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(Once.apply(x) ** 2, x, create_graph=True)
    assert g.item() == 6 * 2**5
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.backward()


def test_saved_tensors_are_freed(torch):
    """https://github.com/pytorch/pytorch/issues/18619

    What a function saved is freed by its backward; a second one says so.
    """

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor(2.0, requires_grad=True)
    y = Square.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_gradient_for_an_input_that_needs_none(torch):
    """https://github.com/pytorch/pytorch/issues/81296

    Parameters that a function uses, but that are not among its arguments, get no gradient.
    """

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x * weight

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return g * weight, g * x

    x, weight = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    Scale.apply(x, weight).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert weight.grad is None
