"""Public reports on views and on writes in place, each as a test. The first line of a docstring is the report."""

import pytest


def test_a_view_of_one_of_several_views_cannot_be_written(torch):
    """https://github.com/pytorch/pytorch/issues/36608, https://github.com/pytorch/pytorch/issues/49824

    `v.unbind()[0].mul_(2)` was refused, but not a write to a further view of it, which gave wrong gradients.
    """
    base = torch.arange(9.0).reshape(3, 3).requires_grad_().clone()
    first = base.unbind()[0]
    for view in (first, first.narrow(0, 0, 2), first.view_as(first)):
        with pytest.raises(RuntimeError, match=r"is a view|output of a function that returns multiple views"):
            view.mul_(2)


@pytest.mark.parametrize("parts", [lambda x: x.chunk(2, 1), lambda x: x.split(1, 1), lambda x: x.unbind(1)])
def test_parts_of_a_tensor_cannot_be_written(torch, parts):
    """https://github.com/pytorch/pytorch/issues/46820

    `v *= scale` on a part that `chunk` gave raised an internal assertion later, in backward.
    """
    flow = torch.ones(1, 2, requires_grad=True) * 1
    part = parts(flow)[1]
    with pytest.raises(RuntimeError, match="view"):
        part *= 2


def test_the_gradient_after_a_write_to_a_slice(torch):
    """https://github.com/pytorch/xla/issues/1718

    The gradient norm of a layer was wrong after `x[:, :768] = 0` on its result.
    """
    layer = torch.nn.Linear(3, 4)
    batch = torch.arange(6.0).reshape(2, 3)
    out = layer(batch)
    out[:, :3] = 0
    out.sum().backward()
    expected = torch.zeros(4, 3)
    expected[3] = batch.sum(0)
    assert layer.weight.grad.equal(expected)
    assert layer.bias.grad.tolist() == [0, 0, 0, 2]


def test_a_write_to_the_base_leads_past_its_older_views(torch):
    """https://github.com/pytorch/pytorch/issues/8874

    After a write to the base, a view of a view hangs on the base directly, so the view between them retains nothing.
    """
    leaf = torch.ones(4, requires_grad=True)
    base = leaf.clone()
    between = base[2:]
    last = between[1]
    between.retain_grad()
    base[0] += 0
    last.backward()
    assert leaf.grad.tolist() == [0, 0, 0, 1]
    assert between.grad is None


def test_writes_to_a_view_reach_the_base(torch):
    """https://github.com/pytorch/pytorch/issues/3313

    A write to a view was refused while other tensors shared its memory; its history has to become the base's.
    """
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    factor = torch.tensor(5.0, requires_grad=True)
    base = leaf * 1
    rows, pair = base.view(3, 1), base[1:]
    pair.mul_(factor)
    assert rows.flatten().tolist() == [1, 10, 15]
    (rows * rows).sum().backward()
    assert leaf.grad.tolist() == [2, 2 * 25 * 2, 2 * 25 * 3]
    assert factor.grad.item() == 2 * 5 * (4 + 9)


def test_as_strided_of_an_expanded_tensor(torch):
    """https://github.com/pytorch/pytorch/issues/8626

    The gradient through `as_strided` of an expanded tensor was wrong, as one number stands for several elements.
    """
    weight = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    leaf = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    wide = (leaf * 1).expand(3, 2)
    assert torch.autograd.grad((wide.as_strided((3, 2), (1, 0)) * weight).sum(), leaf)[0].flatten().tolist() == [
        1,
        5,
        9,
    ]
    leaf = torch.ones(2, dtype=torch.float64, requires_grad=True)
    wide = leaf.expand(3, 2)
    (given,) = torch.autograd.grad((wide.as_strided((3, 2), wide.stride()) * weight).sum(), leaf)
    assert given.tolist() == weight.sum(0).tolist()


def test_narrow_of_an_expanded_tensor(torch):
    """https://github.com/pytorch/pytorch/issues/8626

    `y.narrow` of an expanded `y` gave another gradient than `y.contiguous().narrow`.
    """
    leaf = torch.randn(3, 1, requires_grad=True)
    weight = torch.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    for copy in (lambda x: x, lambda x: x.contiguous(), lambda x: x.clone()):
        (given,) = torch.autograd.grad((copy(leaf.expand(3, 3)).narrow(0, 0, 2) * weight).sum(), leaf)
        assert given.flatten().tolist() == [7, 56, 0]


def test_views_that_overlap_add_up(torch):
    """https://github.com/pytorch/pytorch/issues/8626

    Elements that several windows of `as_strided` or `unfold` show get the sum of their gradients.
    """
    for windows in (lambda x: x.as_strided((3, 3), (1, 1)), lambda x: x.unfold(0, 3, 1)):
        leaf = torch.arange(5.0, requires_grad=True)
        (windows(leaf) ** 2).sum().backward()
        assert leaf.grad.tolist() == [0, 4, 12, 12, 8]


@pytest.mark.parametrize(
    "write", [lambda x: x.add_(1), lambda x: x.cos_(), lambda x: x.mul_(2), lambda x: x.copy_(x.clone())]
)
def test_an_expanded_tensor_cannot_be_written(torch, write):
    """https://github.com/pytorch/pytorch/issues/957, https://github.com/pytorch/pytorch/issues/4664,
    https://github.com/pytorch/pytorch/issues/17935

    `ones(1).expand(3).mul_(2)` multiplied the one number three times.
    """
    number = torch.full((1,), 0.5)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        write(number.expand(3))
    assert number.item() == 0.5


def test_views_made_under_no_grad(torch):
    """https://github.com/pytorch/pytorch/issues/11390

    It was unclear what a view made under `no_grad` is: a later write to it with history would change its base's.
    """
    leaf = torch.ones(3, requires_grad=True)
    base = leaf * 1
    with torch.no_grad():
        view = base[1:]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2)
    with torch.no_grad():
        view.mul_(2)
    base.sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1], "the write was not recorded"


def test_detach_in_place_of_a_view(torch):
    """https://github.com/pytorch/pytorch/issues/25814, https://github.com/pytorch/pytorch/issues/3674

    `detach_()` of a view is refused with a message that says what to call instead.
    """
    base = torch.ones(2, 3, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match=r"[Cc]an't detach views in-place.*[Uu]se detach\(\)"):
        base[0].detach_()
    assert base.transpose(0, 1).contiguous().detach_().requires_grad is False


def test_gradients_that_are_views_are_zeroed(torch):
    """https://github.com/pytorch/pytorch/issues/25814

    `zero_grad()` failed ("can't detach views in-place") where a `.grad` was assigned as a view, or came from a slice.
    """
    leaf = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([leaf], 0.5)
    big = torch.zeros(4)
    big[1:3] = leaf
    big.sum().backward()
    assert leaf.grad.tolist() == [1, 1]
    optimizer.zero_grad(set_to_none=False)
    assert leaf.grad.tolist() == [0, 0]
    leaf.grad = torch.arange(4.0).reshape(2, 2)[1]
    optimizer.step()
    assert leaf.tolist() == [0, -0.5]
    optimizer.zero_grad(set_to_none=False)
    assert leaf.grad.tolist() == [0, 0]


def test_detach_in_place_leaves_earlier_uses(torch):
    """https://github.com/pytorch/pytorch/issues/2512

    `b.detach_()` does not sever graphs that were built from `b` before.
    """
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    c = b * 2
    b.detach_()
    assert b.is_leaf
    (c + b).sum().backward()
    assert a.grad.tolist() == [4, 4]


def test_the_real_part_can_be_replaced(torch):
    """https://github.com/pytorch/pytorch/issues/83828

    `c.real = c.real.clamp(0, 0.1)` failed with an internal assertion: `clamp` saves what is then written over.
    """
    leaf = torch.tensor([0.05 + 1j, 0.5 + 2j], dtype=torch.complex128, requires_grad=True)
    c = leaf * 1.0
    c.real = c.real.clamp(0, 0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.abs().sum().backward()

    def clamped(z):
        c = z * 1.0
        c.real = z.real.clamp(0, 0.1)
        return (c.abs() ** 2).sum()

    clamped(leaf).backward()
    assert torch.allclose(leaf.grad, torch.tensor([0.1 + 2j, 4j], dtype=torch.complex128))
    assert torch.autograd.gradcheck(clamped, leaf)


def test_a_write_to_what_abs_saved_is_found(torch):
    """https://github.com/pytorch/pytorch/issues/83828

    With `c.real = c.real.clamp_(0, 0.1)` the write to `c` goes through a view of itself, and is differentiated, too.
    """
    leaf = torch.tensor([0.05 + 1j, 0.5 + 2j], dtype=torch.complex128, requires_grad=True)
    c = leaf * 1.0
    c.real = c.real.clamp_(0, 0.1)
    (c.abs() ** 2).sum().backward()
    assert torch.allclose(leaf.grad, torch.tensor([0.1 + 2j, 4j], dtype=torch.complex128))


def test_retained_gradient_of_what_was_written(torch):
    """https://github.com/pytorch/pytorch/pull/79996

    `retain_grad()` before a write in place gave the gradient of the value before the write; hooks keep to theirs.
    """
    a = torch.tensor([1.0], requires_grad=True).clone()
    before, after = [], []
    a.register_hook(lambda g: before.append(g.item()))
    a.retain_grad()
    a.mul_(2)
    a.register_hook(lambda g: after.append(g.item()))
    (a * 3).sum().backward()
    assert a.grad.item() == 3
    assert (before, after) == ([6.0], [3.0])


def test_retained_gradient_of_a_written_view(torch):
    """https://github.com/pytorch/pytorch/pull/79996

    A view that was written after `retain_grad()` retains the gradient of its present value.
    """
    leaf = torch.ones(3, requires_grad=True)
    base = leaf * 1
    view = base[1:]
    view.retain_grad()
    view.mul_(5)
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2, 2]
    assert leaf.grad.tolist() == [0, 10, 10]


def test_a_write_of_a_gradient_does_not_change_another(torch):
    """https://github.com/pytorch/pytorch/issues/46168

    In the backward of x + y both gradients are one tensor; the leaves must not share it, nor what was handed in.
    """
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    incoming = torch.ones(2)
    (x + y).backward(incoming)
    x.grad.mul_(7)
    assert y.grad.tolist() == [1, 1]
    assert incoming.tolist() == [1, 1]


def test_gradients_have_their_leaves_strides(torch):
    """https://github.com/pytorch/pytorch/issues/49256, https://github.com/pytorch/pytorch/pull/34904

    `backward` gave `.grad` the leaf's strides, `autograd.grad` those of the gradient that came in.
    """
    leaf = torch.randn(3, 3, requires_grad=True)
    leaf.clone().backward(torch.arange(9.0).reshape(3, 3).t())
    assert leaf.grad.stride() == (3, 1)
    turned = torch.randn(3, 2).t().requires_grad_()
    (turned * 2).sum().backward()
    assert turned.grad.stride() == turned.stride() == (1, 2)


def test_a_write_over_what_was_saved(torch):
    """https://github.com/pytorch/pytorch/issues/9391

    `sigmoid` saves its result, so a write to that is refused; `1 / (exp(-a) + 1)` saves other tensors, and it is fine.
    """
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.sigmoid()
    b[1] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.sum().backward()
    b = torch.div(1, (-a).exp() + 1)
    kept = b.detach().clone()
    b[1] = 2
    b.sum().backward()
    expected = kept * (1 - kept)
    expected[1] = 0
    assert torch.allclose(a.grad, expected)


def test_a_product_that_is_written_where_it_was_read(torch):
    """https://github.com/pytorch/pytorch/issues/55980

    `x[0] *= v` is differentiated, `x[0] = x[0] * v` is refused: the product saves what is written over then.
    """
    leaf, v = torch.tensor([[2.0], [3.0]], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    x = leaf * 1
    x[0] *= v
    x.sum().backward()
    assert leaf.grad.tolist() == [[5], [1]]
    assert v.grad.tolist() == [2]
    x = leaf * 1
    x[0] = x[0] * v
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
    x = leaf * 1
    x[0] = x[0].clone() * v
    x.sum().backward()
    assert v.grad.tolist() == [4]


def test_a_recurrence_in_one_tensor(torch):
    """https://github.com/pytorch/pytorch/issues/36470

    f[i] = g(f[i - 1] x) in one tensor is refused, as a write to one place counts for all; a list and `stack` are fine.
    """
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    f = torch.zeros(4, dtype=torch.float64)
    f[0] = 1
    for i in range(1, 4):
        f[i] = (f[i - 1] * x).sigmoid().squeeze()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        f.sum().backward()

    def recurrence(x):
        values = [torch.ones(1, dtype=torch.float64)]
        for _ in range(3):
            values.append((values[-1] * x).sigmoid())
        return torch.stack(values).sum()

    assert torch.autograd.gradcheck(recurrence, x)


def test_relu_in_place(torch):
    """https://github.com/pytorch/pytorch/issues/1029

    `relu(x, inplace=True)` has the gradient of `relu(x)`.
    """
    for inplace in (True, False):
        leaf = torch.tensor([-1.0, 2.0], requires_grad=True)
        y = torch.nn.functional.relu(leaf.clone(), inplace=inplace)
        (y * torch.tensor([3.0, 5.0])).sum().backward()
        assert leaf.grad.tolist() == [0, 5]
