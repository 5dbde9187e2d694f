"""Normalisation of channels: over the batch, over groups, over single samples."""

import numpy
import pytest
import torch as reference
from oracle import check, check_error, compare, module, sample, strided

F = "nn.functional."
SHAPES = [(5, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 2), (1, 2, 7), (3, 1, 1), (2, 70), (2, 3, 1, 1)]


def statistics(channels, dtype="float64"):
    return [sample((channels,), dtype=dtype, seed=3), sample((channels,), "positive", dtype, seed=4)]


def normalised(to, arrays, training, momentum=0.3, eps=1e-5):
    """Output, running statistics, gradients, and, with a weight, gradients of these: without, PyTorch has none."""
    x, weight, bias, mean, variance = [None if array is None else to.from_numpy(array.copy()) for array in arrays]
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias) if tensor is not None]
    y = to.nn.functional.batch_norm(x, mean, variance, weight, bias, training, momentum, eps)
    slopes = to.autograd.grad((y * y.detach().cos()).sum(), leaves, create_graph=True)
    again = (
        ()
        if weight is None
        else to.autograd.grad(sum((slope * slope).sum() for slope in slopes), leaves, allow_unused=True)
    )
    return [y, mean, variance, *slopes, *again], y.grad_fn.name()


def agree(arrays, training, rtol, atol, **options):
    (ours, our_node), (theirs, their_node) = (normalised(to, arrays, training, **options) for to in (module, reference))
    assert our_node == their_node
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        compare(f"result {number}", our, their, rtol, atol)


# --------------------------------------------------------------------------------------------------------------- batch
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm(shape, training):
    x, weight, bias = sample(shape), sample((shape[1],), seed=1), sample((shape[1],), seed=2)
    for given in ((weight, bias), (weight, None), (None, bias), (None, None)):
        agree([x, *given, *statistics(shape[1])], training, 1e-8, 1e-9)
        if training:
            agree([strided(x), *given, None, None], training, 1e-8, 1e-9, eps=0.1)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(64, 33), (7, 5, 31, 33), (3, 40, 2), (2, 2, 3000)], ids=str)
def test_batch_norm_in_single_precision(shape, training):
    x = sample(shape, dtype="float32") + numpy.float32(20)
    parameters = [sample((shape[1],), dtype="float32", seed=i) for i in (1, 2)]

    def results(to, dtype):
        arrays = [array.astype(dtype) for array in (x, *parameters, *statistics(shape[1]))]
        return [tensor.detach().numpy() for tensor in normalised(to, arrays, training)[0][:6]]

    for ours, expected in zip(results(module, "float32"), results(reference, "float64"), strict=True):
        assert ours.dtype == numpy.float32
        numpy.testing.assert_allclose(ours, expected, rtol=2e-4, atol=2e-5 * numpy.abs(expected).max())


def test_gradients_of_single_inputs():
    arrays = [sample((4, 3, 5)), sample((3,), seed=1), sample((3,), seed=2)]
    for training in (True, False):
        for needed in range(3):
            slopes = []
            for to in (module, reference):
                x, weight, bias = tensors = [to.from_numpy(array.copy()) for array in arrays]
                tensors[needed].requires_grad_()
                mean, variance = map(to.from_numpy, statistics(3))
                y = to.nn.functional.batch_norm(x, mean, variance, weight, bias, training)
                slopes.append(to.autograd.grad(y.pow(3).sum(), tensors[needed])[0])
            compare(f"input {needed}", *slopes, 1e-9, 1e-10)


def test_running_statistics_are_not_saved_in_training():
    """They may be written between forward and backward, and a second forward does so."""
    x = module.from_numpy(sample((4, 3))).requires_grad_()
    mean, variance = (module.from_numpy(array) for array in statistics(3))
    first = module.nn.functional.batch_norm(x, mean, variance, training=True)
    assert mean._version == 1
    module.nn.functional.batch_norm(x, mean, variance, training=True)
    assert mean._version == 2
    first.square().sum().backward()
    assert getattr(first.grad_fn, "_saved_running_mean", None) is None
    evaluated = module.nn.functional.batch_norm(x, mean, variance)
    mean.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        evaluated.square().sum().backward()


def test_running_statistics_in_other_memory():
    found = []
    for to in (module, reference):
        both = to.zeros(3, 2, dtype=to.float64)
        to.nn.functional.batch_norm(to.from_numpy(sample((4, 3))), both[:, 0], both[:, 1], training=True)
        found.append(both)
    compare("running statistics", *found, 1e-12, 1e-12)


def test_an_empty_batch_moves_nothing():
    mean, variance = (module.from_numpy(array.copy()) for array in statistics(3))
    y = module.nn.functional.batch_norm(module.zeros(0, 3, dtype=module.float64), mean, variance, training=True)
    assert y.shape == (0, 3)
    assert mean.numpy().tolist() == statistics(3)[0].tolist()


@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf])
def test_one_bad_value_spoils_its_channel_alone(bad):
    x = sample((4, 3, 5), dtype="float32")
    x[1, 1, 2] = bad
    y = module.nn.functional.batch_norm(module.from_numpy(x), None, None, training=True).numpy()
    assert numpy.isnan(y[:, 1]).all()
    assert numpy.isfinite(y[:, [0, 2]]).all()


@pytest.mark.parametrize("training", [True, False])
def test_finite_differences(training):
    inputs = [
        module.from_numpy(sample(shape, seed=i)).requires_grad_() for i, shape in enumerate(((3, 2, 3), (2,), (2,)))
    ]

    def normal(x, weight, bias):
        mean, variance = (module.from_numpy(array) for array in statistics(2))
        return module.nn.functional.batch_norm(x, mean, variance, weight, bias, training)

    assert module.autograd.gradcheck(normal, inputs)
    assert module.autograd.gradgradcheck(normal, inputs)


@pytest.mark.beyond
@pytest.mark.parametrize("shape", [(9, 20, 33, 31), (500, 300)], ids=str)
def test_same_bits_at_any_number_of_threads(shape):
    arrays = [sample(shape, dtype="float32"), *(sample((shape[1],), dtype="float32", seed=i) for i in (1, 2))]
    found, threads = [], module.get_num_threads()
    try:
        for count in (1, 2):
            module.set_num_threads(count)
            found.append(normalised(module, [*arrays, *statistics(shape[1], "float32")], True)[0])
    finally:
        module.set_num_threads(threads)
    for one, two in zip(*found, strict=True):
        assert (one is None) == (two is None)
        assert one is None or one.detach().numpy().tobytes() == two.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------------- groups and instances
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups):
    weight, bias = sample((6,), seed=1), sample((6,), seed=2)
    for shape in ((2, 6), (3, 6, 5), (2, 6, 3, 2)):
        if groups < 6 or len(shape) > 2:
            check(F + "group_norm", sample(shape), groups, weight, bias, atol=1e-9)
            check(F + "group_norm", sample(shape), groups, second=False)


def test_instance_norm():
    weight, bias = sample((3,), seed=1), sample((3,), seed=2)
    for shape in ((2, 3, 5), (2, 3, 4, 2), (1, 3, 2, 2, 2)):
        check(F + "instance_norm", sample(shape), None, None, weight, bias, node=False, atol=1e-9)
        check(F + "instance_norm", sample(shape), None, None, node=False, atol=1e-9)
        found = []
        for to in (module, reference):
            running = [to.from_numpy(array.copy()) for array in statistics(3)]
            y = to.nn.functional.instance_norm(to.from_numpy(sample(shape)), *running, momentum=0.3)
            evaluated = to.nn.functional.instance_norm(to.from_numpy(sample(shape)), *running, use_input_stats=False)
            found.append([y, evaluated, *running])
        for number, (our, their) in enumerate(zip(*found, strict=True)):
            compare(f"result {number}", our, their, 1e-9, 1e-10)


# ------------------------------------------------------------------------------------------------------------ refusals
def test_norms_refuse():
    x = sample((2, 3))
    train, three, four = {"training": True}, sample((3,), "positive"), sample((4,), "positive")
    check_error(F + "batch_norm", x[:1], None, None, kwargs=train, error=ValueError, match="more than 1 value per")
    check_error(F + "batch_norm", x, None, None, match="running_mean must be defined in evaluation mode")
    check_error(F + "batch_norm", x, three, None, match="running_var must be defined in evaluation mode")
    check_error(F + "batch_norm", x, four, four, match="running_mean should contain 3 elements not 4")
    check_error(F + "batch_norm", x, three, three, four, match="weight should contain 3 elements not 4")
    check_error(F + "group_norm", x, 2, match="divisible by num_groups")
    check_error(F + "instance_norm", sample((2, 3, 1)), error=ValueError, match="more than 1 spatial element")
    with pytest.raises(NotImplementedError, match="batch_norm: not implemented for dtype int64"):
        module.nn.functional.batch_norm(module.ones(2, 3, dtype=module.int64), None, None, training=True)
