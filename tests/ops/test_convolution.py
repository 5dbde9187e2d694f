"""Convolutions over one to three axes and their transposes: values, both gradients, and the gradients of these."""

import itertools

import numpy
import pytest
import torch as reference
from oracle import check, check_error, compare, module, sample, strided

import clew

F = "nn.functional."
SPACE = (9, 8, 7)
KERNEL = {1: (3,), 2: (3, 2), 3: (3, 2, 1)}


def arrays(axes, channels, results, groups=1, batch=(2,), transposed=False, dtype="float64", space=None, kernel=None):
    """An input, a weight and a bias."""
    first, second = (channels, results) if transposed else (results, channels)
    weight = (first, second // groups, *(kernel or KERNEL[axes]))
    shapes = ((*batch, channels, *(space or SPACE[:axes])), weight, (results,))
    return [sample(shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]


# ------------------------------------------------------------------------------------------------------------ geometry
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [*itertools.product((1, 2, 3), (0, 2), (1, 2))], ids=str)
def test_strides_paddings_and_dilations(axes, stride, padding, dilation):
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    for channels, results, groups in ((3, 5, 1), (4, 6, 2), (4, 4, 4)):
        check(F + f"conv{axes}d", *arrays(axes, channels, results, groups), kwargs={**options, "groups": groups})
    single = arrays(axes, 3, 18, dtype="float32")
    check(F + f"conv{axes}d", *single, kwargs=options, second=False, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [*itertools.product((1, 2, 3), (0, 1), (1, 2))], ids=str)
def test_transposes(axes, stride, padding, dilation):
    for extra in range(max(stride, dilation)):
        options = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": extra}
        for channels, results, groups in ((3, 5, 1), (4, 6, 2)):
            values = arrays(axes, channels, results, groups, transposed=True, space=(4, 3, 4)[:axes])
            check(F + f"conv_transpose{axes}d", *values, kwargs={**options, "groups": groups})


def test_each_axis_has_its_own_numbers():
    values = arrays(2, 3, 4, kernel=(2, 4))
    check("conv2d", *values, kwargs={"stride": (2, 1), "padding": (0, 3), "dilation": [3, 1]})
    check("conv2d", *values, (3, 2), [1, 2], (1, 2), 1)
    check("conv2d", *values, [2], [1])
    across = arrays(2, 3, 4, kernel=(2, 4), transposed=True, space=(3, 4))
    check("conv_transpose2d", *across, (2, 3), (1, 0), (1, 2), 1, (2, 1))


@pytest.mark.filterwarnings("ignore:Using padding=.same.:UserWarning")
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_named_padding(axes):
    for size, dilation in itertools.product((1, 2, 3, 4), (1, 2, 3)):
        values = arrays(axes, 2, 3, kernel=(size, 3, 2)[:axes])
        check(F + f"conv{axes}d", *values, kwargs={"padding": "same", "dilation": dilation}, node=False)
    check(F + f"conv{axes}d", *values, kwargs={"padding": "valid", "stride": 2})


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_one_sample_without_a_batch(axes):
    check(F + f"conv{axes}d", *arrays(axes, 3, 5, batch=()))
    check(F + f"conv{axes}d", *arrays(axes, 3, 5, batch=()), kwargs={"padding": "same"}, node=False)
    check(F + f"conv_transpose{axes}d", *arrays(axes, 3, 5, batch=(), transposed=True), kwargs={"stride": 2})


def test_without_bias_and_for_each_input_alone():
    x, weight, bias = arrays(2, 3, 5)
    check("conv2d", x, weight)
    for needed in range(3):
        slopes = []
        for to in (module, reference):
            inputs = [to.from_numpy(array.copy()) for array in (x, weight, bias)]
            inputs[needed].requires_grad_()
            slopes.append(to.autograd.grad(to.conv2d(*inputs).square().sum(), inputs[needed])[0])
        compare(f"input {needed}", *slopes, 1e-9, 1e-11)


def test_what_is_saved():
    """Only what the gradients that are asked for need: never the bias, and one of input and weight for the other."""
    x, weight, bias = (module.from_numpy(array) for array in arrays(2, 3, 5))
    of_weight = module.conv2d(x, weight.requires_grad_(), bias.requires_grad_()).grad_fn
    assert of_weight._saved_input is not None
    assert of_weight._saved_weight is None
    of_bias = module.conv2d(x, weight.detach(), bias).grad_fn
    assert of_bias._saved_input is None
    assert of_bias._saved_weight is None


# -------------------------------------------------------------------------------------------------------------- memory
def test_other_memory():
    check("conv2d", *map(strided, arrays(2, 3, 5)), kwargs={"padding": 1})
    x, weight, bias = arrays(2, 3, 5)
    check("conv2d", numpy.broadcast_to(x[:1], x.shape), weight, bias, second=False)
    check("conv_transpose2d", *map(strided, arrays(2, 3, 5, transposed=True)), kwargs={"stride": 2})


def test_an_empty_batch():
    x, bias = sample((0, 3, 5, 5)), sample((4,))
    check("conv2d", x, sample((4, 3, 3, 3)), bias, kwargs={"padding": 1}, second=False)
    check("conv_transpose2d", x, sample((3, 4, 2, 2)), bias, kwargs={"stride": 2}, second=False)


# -------------------------------------------------------------------------------------------- sizes that kernels cut by
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("channels", "results", "space"),
    [
        (1, 32, (28, 28)),
        (16, 16, (2, 2)),
        (16, 17, (7, 7)),
        (17, 16, (15, 16)),
        (32, 64, (26, 26)),
        (33, 35, (13, 31)),
        (64, 64, (16, 16)),
        (20, 70, (33, 1)),
        (48, 15, (1, 40)),
        (3, 7, (100, 70)),
    ],
    ids=str,
)
def test_three_by_three(channels, results, space, dtype):
    """The kernel that has a way of its own, over odd channels and sizes."""
    values = arrays(2, channels, results, dtype=dtype, space=space, kernel=(3, 3))
    bounds = {"rtol": 1e-4, "atol": 3e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-10}
    for padding in (1, 0, 2):
        if min(space) + 2 * padding >= 3:
            check("conv2d", *values, kwargs={"padding": padding}, second=False, **bounds)
    check("conv2d", *values, kwargs={"padding": 1, "stride": 2}, second=False, **bounds)


def test_three_by_three_is_as_exact_as_the_plain_sum():
    """Against float64: at most a few times the error that any sum of so many products has."""
    x, weight, bias = arrays(2, 64, 64, space=(16, 16), kernel=(3, 3), batch=(3,))
    expected = reference.conv2d(*map(reference.from_numpy, (x, weight, bias)), padding=1).numpy()
    single = [module.from_numpy(array.astype("float32")) for array in (x, weight, bias)]
    found = module.conv2d(*single, padding=1).numpy()
    assert numpy.abs(found - expected).max() < 3e-6 * numpy.abs(expected).max()


def test_second_derivatives_of_three_by_three():
    values = arrays(2, 17, 18, space=(7, 6), kernel=(3, 3), batch=(2,))
    check("conv2d", *values, kwargs={"padding": 1}, atol=1e-8)


@pytest.mark.parametrize("kernel", [(1, 1), (7, 7), (1, 5), (2, 2)], ids=str)
def test_other_kernels_over_many_channels(kernel):
    values = arrays(2, 35, 40, dtype="float32", space=(19, 21), kernel=kernel)
    check("conv2d", *values, kwargs={"padding": kernel[0] // 2}, second=False, rtol=1e-4, atol=3e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 3), (3, 2)], ids=str)
@pytest.mark.parametrize("space", [(16, 16), (7, 50), (300, 210)], ids=str)
def test_each_channel_by_itself(space, stride, dilation, dtype):
    values = arrays(2, 5, 5, 5, dtype=dtype, space=space, kernel=(3, 3))
    options = {"padding": 2, "stride": stride, "dilation": dilation, "groups": 5}
    bounds = {"rtol": 1e-4, "atol": 5e-3} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    check("conv2d", *values, kwargs=options, second=False, **bounds)
    if space == (7, 50):
        single = [sample(shape, dtype=dtype) for shape in ((2, 1, *space), (1, 1, 3, 3))]
        check("conv2d", *single, kwargs={"stride": stride}, second=dtype == "float64", **bounds)


@pytest.mark.parametrize("stride", [1, 2])
def test_each_channel_by_itself_keeps_what_is_not_finite_to_itself(stride):
    """Rows are padded in memory: what lies beyond their end must not come in."""
    x, weight = sample((1, 3, 6, 5), dtype="float32"), sample((3, 1, 2, 2), dtype="float32")
    x[0, 1] = numpy.inf
    x[0, :, 3, :2] = numpy.nan
    results = []
    for to in (module, reference):
        tensors = [to.from_numpy(array.copy()).requires_grad_() for array in (x, weight)]
        y = to.conv2d(*tensors, stride=stride, groups=3)
        results.append([y, *to.autograd.grad(y.sum(), tensors)])
    for ours, theirs in zip(*results, strict=True):
        compare("not finite", ours, theirs, 1e-5, 1e-5)


def test_groups_of_many_channels():
    values = arrays(2, 48, 36, 3, dtype="float32", space=(12, 11), kernel=(3, 3))
    check("conv2d", *values, kwargs={"padding": 1, "groups": 3}, second=False, rtol=1e-4, atol=3e-4)


# --------------------------------------------------------------------------------------- values that are no numbers
@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf, -numpy.inf, 3e38])
@pytest.mark.parametrize("channels", [3, 16])
def test_what_is_not_finite_stays_where_it_is(bad, channels):
    """A pixel touches the results under whose kernel it lies, and no others."""
    x, weight, _ = arrays(2, channels, 16, dtype="float32", space=(8, 9), kernel=(3, 3))
    x[1, 2, 3, 4] = bad
    upstream = numpy.ones((2, 16, 8, 9), dtype="float32")
    upstream[0, 1, 5, 5] = bad
    results = []
    for to in (module, reference):
        tensors = [to.from_numpy(array.copy()).requires_grad_() for array in (x, weight)]
        y = to.conv2d(*tensors, padding=1)
        results.append([y, *to.autograd.grad(y, tensors, to.from_numpy(upstream))])
    for ours, theirs in zip(*results, strict=True):
        ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
        finite = numpy.isfinite(theirs)
        numpy.testing.assert_array_equal(numpy.isfinite(ours), finite)
        numpy.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-4, atol=1e-4)


# ------------------------------------------------------------------------------------------------------ differentiation
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_finite_differences(axes, transposed):
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    values = arrays(axes, 2, 4, 2, transposed=transposed, space=(4, 3, 3)[:axes], kernel=(2, 3, 1)[:axes], batch=(1,))
    inputs = [module.from_numpy(array).requires_grad_() for array in values]

    def convolved(x, weight, bias):
        return getattr(module, name)(x, weight, bias, stride=2, padding=1, groups=2)

    assert module.autograd.gradcheck(convolved, inputs)
    assert module.autograd.gradgradcheck(convolved, inputs)


def test_third_derivatives():
    x, weight, _ = (module.from_numpy(array).requires_grad_() for array in arrays(1, 2, 2, space=(4,), batch=(1,)))

    def slope(x, weight):
        return module.autograd.grad(module.conv1d(x, weight).pow(3).sum(), weight, create_graph=True)[0]

    assert module.autograd.gradgradcheck(slope, (x, weight))


@pytest.mark.beyond
@pytest.mark.parametrize(
    ("channels", "results", "space", "stride"),
    [(1, 8, (28, 28), 1), (1, 1, (28, 28), 2), (32, 48, (14, 14), 1), (8, 40, (30, 31), 2), (32, 32, (1, 500), 1)],
    ids=str,
)
def test_same_bits_at_any_number_of_threads(channels, results, space, stride):
    kernel = (min(3, space[0]), 3)
    values = arrays(2, channels, results, dtype="float32", space=space, batch=(9,), kernel=kernel)
    found, threads = [], module.get_num_threads()
    try:
        for count in (1, 2):
            module.set_num_threads(count)
            tensors = [module.from_numpy(array.copy()).requires_grad_() for array in values]
            y = module.conv2d(*tensors, stride=stride)
            found.append([y, *module.autograd.grad(y.square().sum(), tensors)])
    finally:
        module.set_num_threads(threads)
    for one, two in zip(*found, strict=True):
        assert one.detach().numpy().tobytes() == two.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------------------------- refusals
def test_convolutions_refuse():
    x, weight, _ = arrays(2, 4, 6)
    check_error("conv2d", sample((4, 5)), weight, match="Expected 3D (unbatched) or 4D (batched) input to conv2d")
    check_error("conv2d", x, sample((6, 4, 3)), match="conv2d")
    check_error("conv2d", sample((2, 5, 9, 8)), weight, match="to have 4 channels, but got 5 channels instead")
    check_error("conv2d", x, weight, sample((5,)), match="expected bias to be 1-dimensional with 6 elements")
    check_error("conv2d", x, weight, kwargs={"groups": 5}, match="conv2d: Given groups=5")
    check_error("conv2d", x, weight, kwargs={"groups": 0}, match="non-positive groups is not supported")
    check_error("conv2d", x, weight, kwargs={"stride": 0}, match="non-positive stride is not supported")
    check_error("conv2d", x, weight, kwargs={"padding": -1}, match="negative padding is not supported")
    check_error("conv2d", x, weight, kwargs={"dilation": 0}, match="dilation")
    check_error("conv2d", x, weight, kwargs={"stride": (1, 1, 1)}, match="expected stride to be a single integer value")
    check_error("conv2d", x, weight, kwargs={"padding": "some"}, match="Invalid padding string: 'some'")
    check_error("conv2d", x, weight, kwargs={"padding": "same", "stride": 2}, match="strided convolutions")
    check_error("conv2d", sample((2, 4, 2, 8)), weight, match="Kernel size can't be greater than actual input size")
    check_error("conv2d", x.astype("float32"), weight, match="should be the same")
    across = sample((4, 3, 2, 2))
    check_error("conv_transpose2d", sample((2, 5, 3, 3)), across, match="to have 4 channels, but got 5")
    check_error("conv_transpose2d", x, across, kwargs={"output_padding": 1}, match="output padding must be smaller")
    check_error(
        "conv_transpose2d", sample((2, 4, 1, 3)), across, kwargs={"padding": 1}, match="Output size is too small"
    )
    with pytest.raises(NotImplementedError, match="conv2d: not implemented for dtype int64"):
        module.conv2d(module.ones(1, 1, 3, 3, dtype=module.int64), module.ones(1, 1, 3, 3, dtype=module.int64))


# Where next to no tap meets a pixel, no memory is filled with what lies between.
@pytest.mark.unsanitized("buffers of gigabytes")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "shape", "weight", "options"),
    [
        ("conv1d", (2, 4, 5), (6, 2, 3), {"stride": 20000, "padding": 40000, "groups": 2}),
        ("conv1d", (2, 4, 5), (6, 4, 2), {"stride": 9000, "padding": 40000, "dilation": 30000}),
        ("conv1d", (2, 4, 5), (4, 1, 3), {"stride": 9000, "padding": 40001, "dilation": 30000, "groups": 4}),
        ("conv2d", (2, 3, 5, 4), (4, 3, 2, 3), {"stride": (3000, 1), "padding": (6000, 1)}),
        ("conv2d", (1, 2, 5, 4), (4, 2, 2, 3), {"stride": (1, 7000), "padding": (1, 7000), "dilation": (1, 7000)}),
        ("conv1d", (2, 4, 5), (6, 4, 1), {"dilation": 90000}),
        ("conv_transpose1d", (2, 4, 3), (4, 3, 2), {"stride": 20000, "padding": 20000}),
        ("conv_transpose1d", (2, 4, 3), (4, 3, 2), {"stride": 20000, "padding": 20000, "output_padding": 7}),
    ],
)
def test_taps_far_apart(name, shape, weight, options, dtype):
    channels = weight[1] if name == "conv_transpose1d" else weight[0]
    tensors = [
        sample(shape, dtype=dtype),
        sample(weight, dtype=dtype, seed=1),
        sample((channels,), dtype=dtype, seed=2),
    ]
    check(f"nn.functional.{name}", *tensors, kwargs=options, second=dtype == "float64")


@pytest.mark.parametrize(
    ("images", "weights", "options"),
    [
        ((4, 256, 2, 2), (512, 256, 3, 3), {"padding": 1}),
        ((1, 300, 5, 4), (128, 300, 3, 3), {"stride": 2, "padding": (2, 0)}),
        ((3, 600, 9), (200, 600, 5), {"dilation": 2, "padding": 3}),
        ((2, 64, 3, 4, 3), (200, 64, 3, 3, 3), {"padding": (1, 0, 1), "stride": (1, 2, 1)}),
    ],
)
def test_few_pixels_beside_large_weights(images, weights, options):
    """They go through one product with the weights as they lie."""
    generator = numpy.random.default_rng(3)
    x, w, b = (generator.standard_normal(shape) for shape in (images, weights, weights[:1]))
    name = f"conv{len(images) - 2}d"
    ours = getattr(clew.nn.functional, name)(*map(clew.from_numpy, (x, w, b)), **options)
    theirs = getattr(reference.nn.functional, name)(*map(reference.from_numpy, (x, w, b)), **options)
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)
