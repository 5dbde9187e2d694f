"""Functions that PyTorch records as one node are one node, with the same values, gradients and errors."""

import numpy
import pytest
from oracle import check, check_error, module, sample

F = "nn.functional."


@pytest.mark.parametrize(
    "pad", [(1, 2), (0, 0), (), (-1, 1), (2, 0, 0, 3), (-1, -1, 1, -1, 0, 2), (-3, 0), (0, 0, -2, -2)], ids=str
)
def test_pad(pad):
    check(F + "pad", sample((2, 4, 3)), pad)
    check(F + "pad", sample((2, 4, 3)), pad, kwargs={"value": 2.5})
    check(F + "pad", sample((2, 4, 3), dtype="int64"), pad, kwargs={"value": 2}, second=False)


def test_pad_of_other_layouts_and_many_axes():
    def padded(to, pad):
        x = to.from_numpy(sample((2, 4, 3))).requires_grad_()
        y = to.nn.functional.pad(x.transpose(0, 2)[:, 1:], pad)
        (slope,) = to.autograd.grad((y**2).sum(), x)
        return y.detach().numpy(), slope.numpy()

    import torch as reference

    for ours, theirs in zip(padded(module, (1, 2)), padded(reference, (1, 2)), strict=True):
        numpy.testing.assert_allclose(ours, theirs)
    x = module.ones([1] * 12)
    assert module.nn.functional.pad(x, (0, 1) * 12).sum() == 1


def test_block_diag_of_many_constants():
    """More runs of blocks without gradient than one node tells of."""

    def blocks(to):
        leaves = [to.from_numpy(sample((1, 2), seed=i)).requires_grad_() for i in range(20)]
        parts = [part for leaf in leaves for part in (leaf, to.ones(2, 1, dtype=to.float64))]
        y = to.block_diag(*parts)
        weight = to.arange(y.numel(), dtype=to.float64).reshape(y.shape)
        return [tensor.detach().numpy() for tensor in (y, *to.autograd.grad((y * weight).sum(), leaves))]

    import torch as reference

    for ours, theirs in zip(blocks(module), blocks(reference), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_block_diag_promotes_blocks_of_any_shape_alike():
    check("block_diag", sample((2, 3), dtype="float32"), sample((1, 2), dtype="float64"), second=False)
    check("block_diag", sample((0, 2)), sample((0,)), sample((2, 1)), grad=False)
    check("block_diag")
    check_error("block_diag", sample((2, 2, 2)), match="2 or fewer dimensions")


@pytest.mark.parametrize("k", range(-1, 5))
def test_rot90_lies_in_memory_as_pytorchs(k):
    import torch as reference

    for shape in ((2, 3), (2, 3, 4)):
        array = sample(shape)
        ours, theirs = module.from_numpy(array).rot90(k), reference.from_numpy(array).rot90(k)
        assert ours.stride() == theirs.stride()
        numpy.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert module.ones(0, 3).rot90(k).numel() == 0


def test_rot90_refuses():
    check_error("rot90", sample((3,)), match="total dims >= 2")
    check_error("rot90", sample((3, 3)), 1, (1, -1), match="different")
    check_error("rot90", sample((3, 3)), 1, (0,), match="rotation dims == 2")
    with pytest.raises(IndexError, match="out of range"):
        module.ones(3, 3).rot90(1, (0, 2))


def test_glu_and_mish():
    check(F + "glu", sample((2, 4, 3)), 1)
    check(F + "glu", sample((2, 4)))
    check(F + "mish", sample((5, 4)))
    check(F + "mish", numpy.array([-1e4, -50.0, 0.0, 30.0, 1e4]), second=False)  # PyTorch's is NaN at 1e4
    check_error(F + "glu", sample((3,)), match="even")
    check_error(F + "glu", sample(()), match="scalars")
    check_error(F + "glu", sample((4,), dtype="int64"), match="not implemented")
    x = module.tensor([1.0, -2.0])
    assert module.nn.Mish(inplace=True)(x) is x


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy(reduction):
    p, target = sample((3, 4), "unit") ** 2, sample((3, 4), "unit", seed=1) ** 2
    weight = sample((4,), "positive")
    for weights in (None, weight):

        def loss(to, weights=weights):
            x, t = (to.from_numpy(array).requires_grad_() for array in (p, target))
            given = None if weights is None else to.from_numpy(weights)
            y = to.nn.functional.binary_cross_entropy(x, t, given, reduction=reduction)
            assert type(y.grad_fn).__name__ == "BinaryCrossEntropyBackward0"
            slopes = to.autograd.grad((y * y).sum(), (x, t), create_graph=True)
            return [tensor.detach().numpy() for tensor in (y, *slopes, *to.autograd.grad(slopes[0].sum(), (x, t)))]

        import torch as reference

        for ours, theirs in zip(loss(module), loss(reference), strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_binary_cross_entropy_at_its_ends():
    p, target = numpy.array([0.0, 1.0, 0.0, 1.0, 1e-20]), numpy.array([0.0, 1.0, 1.0, 0.0, 1.0])
    check(F + "binary_cross_entropy", p, target, grad=False)
    check_error(F + "binary_cross_entropy", p * 2, target, match="between 0 and 1")
    check_error(F + "binary_cross_entropy", p * numpy.nan, target, match="between 0 and 1")
    check_error(F + "binary_cross_entropy", p, target.astype("float32"), match="Found dtype")


def test_a_result_without_derivative_has_no_history():
    """Else its gradient alone would run a rule that was given none."""
    for shape in ((2, 3), (2, 3, 4)):
        x = module.ones(shape, requires_grad=True)
        target = module.zeros((2, *shape[2:]), dtype=module.int64)
        name = "nll_loss2d_forward" if len(shape) > 2 else "nll_loss_forward"
        output, total = getattr(module._core.ops, name)(x, target, None, 1, -100)
        assert output.requires_grad
        assert not total.requires_grad
        with pytest.raises(RuntimeError, match="does not require grad"):
            total.backward()


# --------------------------------------------------------------------------------------------------------------- edges
def edges_of(tensor):
    """The name of a node and those of the nodes that it leads to."""
    node = tensor.grad_fn
    return type(node).__name__, [below and type(below).__name__ for below, _ in node.next_functions]


def written(x, write):
    y = x * 1
    write(y)
    return y


EDGES = {
    "index": lambda to, x, v, i: x[i],
    "two indices": lambda to, x, v, i: x[i, i],
    "where": lambda to, x, v, i: to.where(x > 0, x, 0.0),
    "gather": lambda to, x, v, i: x.gather(1, i.view(1, 2)),
    "embedding": lambda to, x, v, i: to.nn.functional.embedding(i, x),
    "nll_loss": lambda to, x, v, i: to.nn.functional.nll_loss(x[:2], i, to.ones(4)),
    "masked_fill": lambda to, x, v, i: x.masked_fill(x > 0, to.tensor(1.0)),
    "scatter": lambda to, x, v, i: x.scatter(0, i.view(1, 2), v),
    "index_add": lambda to, x, v, i: x.index_add(0, i, v),
    "batch_norm": lambda to, x, v, i: to.nn.functional.batch_norm(x, to.zeros(4), to.ones(4), training=True),
    "attention": lambda to, x, v, i: to.nn.functional.scaled_dot_product_attention(*[x.view(1, 1, 3, 4)] * 3),
    "a number": lambda to, x, v, i: x + 1,
    "1 - x": lambda to, x, v, i: 1 - x,
    "rsub": lambda to, x, v, i: to.rsub(x, x),
    "div": lambda to, x, v, i: x / 2,
    "div, not rounded": lambda to, x, v, i: to.div(x, x, rounding_mode=None),
    "div, rounded": lambda to, x, v, i: to.div(x, 2, rounding_mode="floor"),
    "index written": lambda to, x, v, i: written(x, lambda y: y.__setitem__(i, v)),
    "index of a view written": lambda to, x, v, i: written(x, lambda y: y[:, :2].__setitem__(i, v[:, :2])),
    "mask of a view written": lambda to, x, v, i: written(x, lambda y: y[0].masked_fill_(v[0] > 0, 1.0)),
    "row written": lambda to, x, v, i: written(x, lambda y: y.__setitem__(0, v[0])),
    "row zeroed": lambda to, x, v, i: written(x, lambda y: y[0].zero_()),
    "mask written": lambda to, x, v, i: written(x, lambda y: y.__setitem__(x > 0, 1.0)),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_pytorchs(name):
    """Inputs that can have no derivative have no edge, not one to nowhere."""

    def edges(to):
        x, v = to.ones(3, 4, requires_grad=True), to.ones(2, 4, requires_grad=True)
        return edges_of(EDGES[name](to, x, v, to.tensor([0, 1])))

    import torch as reference

    assert edges(module) == edges(reference)


def test_hooks_see_the_gradients_of_these_edges():
    def seen(to):
        x, v = to.ones(3, requires_grad=True), to.ones(3, requires_grad=True)
        y = to.where(to.tensor([True, False, True]), x, v)
        counts = []

        def double_the_second(gradients, _):
            counts.append(len(gradients))
            return gradients[0], gradients[1] * 2

        y.grad_fn.register_hook(double_the_second)
        y.sum().backward()
        return counts, x.grad.tolist(), v.grad.tolist()

    import torch as reference

    assert seen(module) == seen(reference) == ([2], [1, 0, 1], [0, 2, 0])


def test_tools_see_one_result_for_each_edge():
    x = module.ones(3, requires_grad=True)
    loss = x[module.tensor([0, 2])].sum()
    assert module.graph.predict_peak(loss) > 0
    for at in module.graph.step(loss):
        assert len(at.outgoing) == len(at.node.next_functions)
