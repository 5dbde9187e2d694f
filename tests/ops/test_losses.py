"""Native losses; `nn.functional` names them and their reductions."""

import numpy
import pytest
from oracle import check, check_error, module, sample, strided

INF = numpy.inf
REDUCTIONS = [0, 1, 2]
F = "nn.functional."


# --------------------------------------------------------------------------------------------------- element by element
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_differences(name, reduction):
    kwargs = {"reduction": reduction}
    for shape in ((3, 4), (), (0,), (2, 0)):
        check(F + name, sample(shape, seed=1), sample(shape, seed=2), kwargs=kwargs)
        check(F + name, sample(shape, seed=1), sample(shape, dtype="float32", seed=2), kwargs=kwargs, second=False)
    check(F + name, strided(sample((3, 4), seed=1)), sample((3, 4), seed=2), kwargs=kwargs)
    check(F + name, sample((3, 4), dtype="float32", seed=1), sample((3, 4), dtype="int64"), kwargs=kwargs, second=False)
    check(F + name, sample((300, 257), seed=1), sample((300, 257), seed=2), kwargs=kwargs, second=False)
    check(F + name, numpy.array([1.0, numpy.nan, INF]), numpy.array([1.0, 2.0, 3.0]), kwargs=kwargs, second=False)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_differences_are_broadcast(name):
    for reduction in ("none", "mean", "sum"):
        check(F + name, sample((3, 4), seed=1), sample((4,), seed=2), kwargs={"reduction": reduction})
    check_error(F + name, sample((3,)), sample((4,)), match=name)
    check_error(F + name, sample((3,), dtype="int64"), sample((3,), dtype="int64"))
    with pytest.raises(ValueError, match=f"{name}: expected reduction"):
        getattr(module, name)(module.ones(2), module.ones(2), 3)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_differences_with_weights(name, reduction):
    import torch as reference

    def loss(to):
        arrays = sample((3, 4), seed=1), sample((3, 4), seed=2), sample((3, 4), "positive", seed=3)
        leaves = [to.from_numpy(array).requires_grad_() for array in arrays]
        value = getattr(to.nn.functional, name)(*leaves[:2], reduction=reduction, weight=leaves[2])
        slopes = to.autograd.grad((value * value).sum(), leaves, create_graph=True)
        curves = to.autograd.grad(sum((slope * slope).sum() for slope in slopes), leaves)
        return [tensor.detach().numpy() for tensor in (value, *slopes, *curves)]

    for ours, theirs in zip(loss(module), loss(reference), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)
    x = sample((3, 4))
    check_error(F + name, x, x, error=ValueError, match="must have the same size", kwargs={"weight": sample((4,))})


LOGITS = [(3, 4), (), (0,), (5,)]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy_with_logits(reduction):
    name, kwargs = F + "binary_cross_entropy_with_logits", {"reduction": reduction}
    for shape in LOGITS:
        target = numpy.asarray(numpy.abs(sample(shape, "unit", seed=2)))
        check(name, sample(shape, seed=1), target, kwargs=kwargs)
        check(name, sample(shape, dtype="float32", seed=1), target.astype("float32"), kwargs=kwargs, second=False)
    check(name, strided(sample((3, 4))), numpy.abs(sample((3, 4), "unit", seed=2)), kwargs=kwargs)
    check(name, sample((3, 4)) * 1000, numpy.abs(sample((3, 4), "unit", seed=2)), kwargs=kwargs, second=False)
    extreme = numpy.array([INF, -INF, INF, 800.0, -800.0])
    check(name, extreme, numpy.array([1.0, 0.0, 0.0, 1.0, 0.0]), kwargs=kwargs, grad=False)


def check_weighted(kwargs, weight, pos_weight):
    """Weights are no leaves: PyTorch has no derivative by them."""

    def loss(to):
        x = to.from_numpy(sample((3, 4), seed=1)).requires_grad_()
        target = to.from_numpy(numpy.abs(sample((3, 4), "unit", seed=2))).requires_grad_()
        weights = [None if array is None else to.from_numpy(array) for array in (weight, pos_weight)]
        value = to.nn.functional.binary_cross_entropy_with_logits(
            x, target, weights[0], pos_weight=weights[1], **kwargs
        )
        slopes = to.autograd.grad((value * value).sum(), (x, target), create_graph=True)
        curves = to.autograd.grad(sum((slope * slope).sum() for slope in slopes), (x, target))
        return [tensor.detach().numpy() for tensor in (value, *slopes, *curves)]

    import torch as reference

    for ours, theirs in zip(loss(module), loss(reference), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy_with_weights(reduction):
    each, column, classes = (sample(shape, "positive", seed=3) for shape in ((3, 4), (3, 1), (4,)))
    for weight, pos_weight in ((each, None), (column, None), (None, classes), (classes, each), (each, numpy.ones(4))):
        check_weighted({"reduction": reduction}, weight, pos_weight)


@pytest.mark.beyond
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(3, 4), (4,)])
def test_weights_of_binary_cross_entropies_have_derivatives(shape, reduction):
    """Of PyTorch's losses these refuse."""
    x, target = (module.from_numpy(abs(sample(shape, "unit", seed=seed))).requires_grad_() for seed in (1, 2))
    weight, positive = (module.from_numpy(sample((3, 4), "positive", seed=seed)).requires_grad_() for seed in (3, 4))
    losses = module.nn.functional

    def with_logits(x, target, weight, positive):
        return losses.binary_cross_entropy_with_logits(x, target, weight, pos_weight=positive, reduction=reduction)

    def of_probabilities(x, target, weight):
        return module.binary_cross_entropy(x, target, weight, {"none": 0, "mean": 1, "sum": 2}[reduction])

    for function, leaves in ((with_logits, (x, target, weight, positive)), (of_probabilities, (x, target, weight))):
        assert module.autograd.gradcheck(function, leaves, check_forward_ad=True)
        assert module.autograd.gradgradcheck(function, leaves)


@pytest.mark.beyond
@pytest.mark.parametrize("transform", ["reverse", "forward", "vmap of forward"])
def test_what_has_no_derivative_refuses_in_both_modes(transform):
    losses, ones = module.nn.functional, module.ones(2)
    refused = {
        "nll_loss": lambda w: losses.nll_loss(module.ones(1, 2), module.tensor([0]), weight=w),
        "cross_entropy": lambda w: losses.cross_entropy(module.ones(1, 2), module.tensor([0]), weight=w),
        "soft_margin_loss": lambda w: losses.soft_margin_loss(ones, w),
        "running_mean": lambda w: losses.batch_norm(module.ones(1, 2), w, ones),
        "running_var": lambda w: losses.batch_norm(module.ones(1, 2), ones, w),
    }

    def along(function, v):
        return module.func.jvp(function, (ones,), (v,))[1]

    differentiated = {
        "reverse": lambda function: function(module.ones(2, requires_grad=True)),
        "forward": lambda function: along(function, ones),
        "vmap of forward": lambda function: module.func.vmap(lambda v: along(function, v))(module.ones(3, 2)),
    }
    for function in refused.values():
        with pytest.raises(RuntimeError, match="is not differentiable with respect to argument"):
            differentiated[transform](function)
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        module.func.jvp(lambda x: x // 2, (ones,), (ones,))


# -------------------------------------------------------------------------------------------------------------- classes
def targets(shape, classes, *ignored, ignore_index=-100):
    chosen = numpy.random.default_rng(1).integers(0, classes, shape)
    for place in ignored:
        chosen[place] = ignore_index
    return chosen


CASES = [
    ((5,), (), ()),
    ((3, 5), (3,), ()),
    ((3, 5), (3,), (1,)),
    ((1, 5), (1,), ()),
    ((2, 5, 3), (2, 3), ()),
    ((2, 5, 3), (2, 3), ((0, 1), (1, 2))),
    ((2, 4, 3, 2), (2, 3, 2), ((1, 0, 1),)),
    ((2, 4, 3, 2, 2), (2, 3, 2, 2), ()),
    ((0, 5), (0,), ()),
]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("shape", "target_shape", "ignored"), CASES, ids=str)
def test_nll_loss(shape, target_shape, ignored, reduction):
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = targets(target_shape, classes, *ignored)
    # PyTorch gives results of some shapes through a view, and differentiates images once, where they are contiguous.
    node, image = len(shape) in (1, 2, 4) and shape[0] > 0, len(shape) == 4
    for name in ("nll_loss", "cross_entropy"):
        for array in (sample(shape), strided(sample(shape)))[: 1 if image else 2]:
            check(F + name, array, target, kwargs={"reduction": reduction}, node=node, second=not image)
    check(
        F + "nll_loss", sample(shape, dtype="float32"), target, kwargs={"reduction": reduction}, node=node, second=False
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("shape", "target_shape", "ignored"), CASES[:-1], ids=str)
def test_nll_loss_with_weights(shape, target_shape, ignored, reduction):
    import torch as reference

    classes = shape[1] if len(shape) > 1 else shape[0]
    target, weight = targets(target_shape, classes, *ignored), sample((classes,), "positive", seed=3)

    def loss(to):
        x = to.from_numpy(sample(shape)).requires_grad_()
        value = to.nn.functional.nll_loss(x * x, to.from_numpy(target), to.from_numpy(weight), reduction=reduction)
        (slope,) = to.autograd.grad((value * value).sum(), x, create_graph=True)
        (curve,) = to.autograd.grad((slope * slope).sum(), x)
        return [tensor.detach().numpy() for tensor in (value, slope, curve)]

    for ours, theirs in zip(loss(module), loss(reference), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_second_derivatives_of_nll_loss_of_images(reduction):
    target = module.from_numpy(targets((2, 3, 2), 4, (1, 0, 1)))
    x = module.from_numpy(sample((2, 4, 3, 2))).requires_grad_()
    assert module.autograd.gradgradcheck(
        lambda x: module.nn.functional.cross_entropy(x * x, target, reduction=reduction), x
    )


def test_nll_loss_ignores():
    target = targets((3,), 5, 0, 2, ignore_index=7)
    for reduction in ("none", "mean", "sum"):
        check(F + "nll_loss", sample((3, 5)), target, kwargs={"ignore_index": 7, "reduction": reduction})
    everything = numpy.full((3,), -100)
    check(F + "nll_loss", sample((3, 5)), everything, grad=False)
    check(F + "nll_loss", sample((3, 5)), everything, kwargs={"reduction": "sum"})
    check(F + "nll_loss", sample((3, 5)), targets((3,), 5).astype("uint8"), second=False)
    check(F + "nll_loss", sample((300, 257)), targets((300,), 257), second=False)


def test_nll_loss_refuses():
    name, x = F + "nll_loss", sample((3, 5))
    check_error(name, x, numpy.array([0, 5, 1]), error=IndexError, match="Target 5 is out of bounds.")
    check_error(name, x, numpy.array([0, -1, 1]), error=IndexError, match="Target -1 is out of bounds.")
    check_error(name, sample((2, 5, 3)), numpy.full((2, 3), 9), error=IndexError, match="Target 9 is out of bounds.")
    check_error(name, x, numpy.array([0, 1]), error=ValueError, match="batch_size (3)")
    check_error(name, x, numpy.array([0.0, 1.0, 2.0]), match="nll_loss")
    check_error(
        name, sample((2, 5, 3)), numpy.zeros((2, 4), numpy.int64), match="Expected target size [2, 3], got [2, 4]"
    )
    check_error(name, x, numpy.array([0, 1, 2]), sample((4,)), match="weight tensor should be defined")
    check_error(name, x, numpy.array([0, 1, 2]), sample((5,), dtype="float32"), match="weight")
    check_error(name, sample(()), numpy.array(0), error=ValueError, match="dimensions")
    check_error(name, sample((3, 5), dtype="int64"), numpy.array([0, 1, 2]), match="nll_loss")
    check_error(F + "cross_entropy", x, numpy.array([0, 1]), error=ValueError, match="cross_entropy")


def test_names_of_the_graph():
    x = module.zeros(2, 3, requires_grad=True)
    loss = module.nn.functional.cross_entropy(x, module.tensor([0, 2]))
    assert loss.grad_fn.name() == "NllLossBackward0"
    assert loss.grad_fn.next_functions[0][0].name() == "LogSoftmaxBackward0"
    assert {slot.name for slot in loss.grad_fn.saved} == {"target", "total_weight"}


def test_a_small_variance_has_the_gradient_of_itself():
    """Also in forward mode, and at second order: `eps` is a bound of its value alone."""
    loss = module.nn.functional.gaussian_nll_loss
    mean, target = module.tensor([0.0, 0.0]), module.tensor([1.0, 1.0])

    def f(var):
        return loss(mean, target, var, eps=0.5, reduction="sum")

    var = module.tensor([0.1, 2.0])
    used = numpy.array([0.5, 2.0])
    expected = 0.5 * (1 / used - 1 / used**2)
    numpy.testing.assert_allclose(module.func.grad(f)(var).numpy(), expected, rtol=1e-5)
    along = module.tensor([1.0, 3.0])
    slope = lambda var: module.func.jvp(f, (var,), (along,))[1]  # noqa: E731
    numpy.testing.assert_allclose(slope(var).item(), (expected * along.numpy()).sum(), rtol=1e-5)
    bend = (-0.5 / used**2 + 1 / used**3) * along.numpy()
    for found in (module.func.grad(slope)(var), module.func.jvp(module.func.grad(f), (var,), (along,))[1]):
        numpy.testing.assert_allclose(found.numpy(), bend, rtol=1e-5)
