"""Pooling: the largest and the mean of windows, with both derivatives."""

import numpy
import pytest
import torch as reference
from oracle import check, check_error, module, sample, strided

F = "nn.functional."
SPACE = (9, 8, 7)
NODES = {1: False, 2: True, 3: True}  # PyTorch pools sequences as flat images: their node squeezes


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    ("size", "stride", "padding", "dilation"),
    [(2, None, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 3, 0, 2), (3, 2, 1, 2), (4, 1, 2, 1), (1, 1, 0, 1), (5, 4, 2, 1)],
    ids=str,
)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool(axes, size, stride, padding, dilation, ceil_mode):
    x = sample((2, 3, *SPACE[:axes]))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    for array in (x, x[0], x.astype("float32"), strided(x)):
        check(F + f"max_pool{axes}d", array, size, kwargs=options, node=NODES[axes])
    check(F + f"max_pool{axes}d", x, size, kwargs={**options, "return_indices": True}, node=NODES[axes])


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    ("size", "stride", "padding"), [(2, None, 0), (3, 1, 1), (3, 2, 1), (2, 3, 0), (4, 1, 2), (5, 4, 2)], ids=str
)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("count_padding", [False, True])
def test_avg_pool(axes, size, stride, padding, ceil_mode, count_padding):
    x = sample((2, 3, *SPACE[:axes]))
    options = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode, "count_include_pad": count_padding}
    for array in (x, x[0], x.astype("float32"), strided(x)):
        check(F + f"avg_pool{axes}d", array, size, kwargs=options, node=NODES[axes])
    if axes > 1:
        check(F + f"avg_pool{axes}d", x, size, kwargs={**options, "divisor_override": 3})


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("output", [2, 3, 5, 9, 11])
def test_adaptive_pools(axes, output):
    x = sample((2, 3, *SPACE[:axes]))
    for array in (x, x[0], x.astype("float32"), strided(x)):
        check(F + f"adaptive_avg_pool{axes}d", array, output, node=NODES[axes])
        check(F + f"adaptive_max_pool{axes}d", array, output, node=NODES[axes])
    check(F + f"adaptive_max_pool{axes}d", x, output, kwargs={"return_indices": True}, node=NODES[axes])


def test_each_axis_has_its_own_numbers():
    x = sample((2, 3, 9, 8))
    check(F + "max_pool2d", x, (3, 2), (1, 3), (1, 0), (2, 1))
    check(F + "avg_pool2d", x, (3, 2), (1, 3), (1, 0))
    check(F + "adaptive_avg_pool2d", x, (3, None))
    check(F + "adaptive_avg_pool2d", x, 1)
    check(F + "adaptive_max_pool2d", x, (None, 2))
    check(F + "max_pool2d", x, [2, 2], kwargs={"stride": []})


@pytest.mark.parametrize("space", [(24, 24), (1, 1), (5, 70), (64, 3)], ids=str)
def test_planes_of_other_sizes(space):
    x = sample((3, 17, *space), dtype="float32")
    size = [min(2, extent) for extent in space]
    check(F + "max_pool2d", x, size, kwargs={"return_indices": True}, second=False)
    check(F + "avg_pool2d", x, size, second=False)


def test_an_empty_batch():
    x = sample((0, 3, 4, 4))
    for name in ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d"):
        check(F + name, x, 2, second=False, node=False)


# ------------------------------------------------------------------------------------------------- ties, NaN, infinity
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_of_equals_and_the_last_nan(dtype):
    """Indices tell: of equal elements the first is taken, of NaNs the last, and a NaN is larger than anything."""
    generator = numpy.random.default_rng(0)
    x = generator.integers(0, 3, (2, 3, 40, 41)).astype(dtype)
    for bad in ([], [numpy.nan], [numpy.nan, -numpy.inf, numpy.inf]):
        for value in bad:
            x[generator.random(x.shape) < 0.2] = value
        for options in ({}, {"stride": 1, "padding": 1}, {"stride": 3, "dilation": 2}):
            for name, size in (("max_pool2d", 3), ("adaptive_max_pool2d", 7)):
                settings = {**(options if name == "max_pool2d" else {}), "return_indices": True}
                ours = getattr(module.nn.functional, name)(module.from_numpy(x), size, **settings)
                theirs = getattr(reference.nn.functional, name)(reference.from_numpy(x), size, **settings)
                for our, their in zip(ours, theirs, strict=True):
                    numpy.testing.assert_array_equal(our.numpy(), their.numpy())
        check(F + "avg_pool2d", x, 3, grad=False)


def test_a_window_of_negative_infinities_has_its_first_element():
    x = numpy.full((1, 1, 4, 4), -numpy.inf)
    check(F + "max_pool2d", x, 2, kwargs={"padding": 1, "return_indices": True}, grad=False)


# -------------------------------------------------------------------------------------------------------- derivatives
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d"])
def test_finite_differences(name):
    function = getattr(module.nn.functional, name)
    distinct = numpy.random.default_rng(0).permutation(60).reshape(1, 2, 5, 6) / 10  # no ties near a sample
    x = module.from_numpy(distinct).requires_grad_()
    assert module.autograd.gradcheck(lambda x: function(x, 3), x)
    assert module.autograd.gradgradcheck(lambda x: function(x, 3).square(), x)


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_same_bits_at_any_number_of_threads(name):
    array, found, threads = sample((9, 20, 33, 31), dtype="float32"), [], module.get_num_threads()
    try:
        for count in (1, 2):
            module.set_num_threads(count)
            x = module.from_numpy(array.copy()).requires_grad_()
            y = getattr(module.nn.functional, name)(x, 3, 2)
            found.append([y, *module.autograd.grad(y.square().sum(), x)])
    finally:
        module.set_num_threads(threads)
    for one, two in zip(*found, strict=True):
        assert one.detach().numpy().tobytes() == two.detach().numpy().tobytes()


# ------------------------------------------------------------------------------------------------------------ refusals
def test_pools_refuse():
    x = sample((2, 3, 8, 8))
    for name in ("max_pool2d", "avg_pool2d"):
        check_error(F + name, x, 2, kwargs={"padding": 2}, match="at most half of kernel size")
        check_error(
            F + name,
            x[0, 0],
            2,
            error=(RuntimeError, IndexError),
            match=f"{name}: Expected 3D or 4D (batch mode) tensor",
        )
        check_error(F + name, x, (2, 2, 2), match="kernel_size")
        check_error(F + name, x, 9, match="Output size is too small")
        check_error(F + name, x, 2, kwargs={"stride": 0}, match="stride should be greater than zero")
        check_error(F + name, sample((1, 0, 4, 4)), 2, match="Expected 3D or 4D")
    check_error(F + "avg_pool2d", x, 2, kwargs={"divisor_override": 0}, match="divisor must be not zero")
    check_error(F + "adaptive_avg_pool2d", x[:, :, :0], 2, match="adaptive_avg_pool2d: Expected 3D or 4D")
    check_error(F + "adaptive_avg_pool2d", x, -2, match="output_size must be greater than or equal to 0")
    with pytest.raises(RuntimeError, match="output_size: expected a number or 2 of them"):
        module.nn.functional.adaptive_avg_pool2d(module.ones(1, 1, 4, 4), (1, 2, 3))
    with pytest.raises(ValueError, match="Input dimension should be at least 4"):
        module.nn.functional.adaptive_avg_pool2d(module.ones(1, 4, 4), (1, 2, 3))
    with pytest.raises(NotImplementedError, match="max_pool1d: not implemented for dtype int64"):
        module.nn.functional.max_pool1d(module.ones(1, 4, dtype=module.int64), 2)


# A window much larger than its input is no more work than the input.
@pytest.mark.parametrize("huge", [2**20, 2**40, 2**60])
def test_windows_larger_than_the_input(huge):
    x = module.arange(6.0).reshape(1, 2, 3).requires_grad_()
    y, places = module.nn.functional.max_pool1d(x, huge, stride=1, padding=huge // 2, return_indices=True)
    assert y.tolist() == [[[2.0] * 4, [5.0] * 4]]
    assert places.tolist() == [[[2] * 4] * 2]
    y.sum().backward()
    assert x.grad.tolist() == [[[0.0, 0.0, 4.0]] * 2]
    x.grad = None
    y = module.nn.functional.avg_pool1d(x, huge, padding=huge // 2, count_include_pad=False)
    assert y.tolist() == [[[1.0], [4.0]]]
    y.sum().backward()
    numpy.testing.assert_allclose(x.grad.tolist(), [[[1 / 3] * 3] * 2])


@pytest.mark.parametrize("kernel", [3, 5, 9, 10, 31])
def test_means_of_windows_larger_than_the_input(kernel):
    x = sample((2, 3, 3, 2))
    for include in (True, False):
        options = {"stride": 1, "padding": kernel // 2, "count_include_pad": include}
        check("nn.functional.avg_pool2d", x, kwargs={"kernel_size": kernel, **options})
    check("nn.functional.max_pool2d", x, kwargs={"kernel_size": kernel, "stride": 1, "padding": kernel // 2})


def test_windows_that_meet_no_element():
    x = module.arange(4.0).reshape(1, 1, 4).requires_grad_()
    y = module.nn.functional.max_pool1d(x, 2, stride=1, padding=1, dilation=5)
    assert y.tolist() == [[[-numpy.inf]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[0.0] * 4]]


@pytest.mark.parametrize("name", ["adaptive_max_pool1d", "adaptive_avg_pool1d"])
@pytest.mark.parametrize("size", [0, 3])
def test_adaptive_windows_of_nothing(name, size):
    for shape in [(2, 3, 4), (0, 3, 4)]:
        check(f"nn.functional.{name}", sample(shape), kwargs={"output_size": size}, node=False, grad=size > 0)
    x = module.ones(2, 3, 4, requires_grad=True)
    getattr(module.nn.functional, name)(x, 0).sum().backward()  # PyTorch refuses this
    assert x.grad.tolist() == module.zeros(2, 3, 4).tolist()
