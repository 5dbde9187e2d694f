"""First and second derivatives at corners, at the ends of domains, at zeros, infinities and NaN.

The rule: where a derivative or its limit exists it is given; where it does not, the result is infinite or NaN, never a
finite number; at corners and ties the convention is PyTorch's. Where PyTorch itself is wrong the expected number is the
mathematical one, and stands here.
"""

import itertools
import math

import numpy
import pytest

clew = pytest.importorskip("clew")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")

INF, NAN = math.inf, math.nan
POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, -3.0, 6.0, -6.0, 20.0, -20.0, INF, -INF]
PAIRS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, NAN, INF, -INF]

ACTIVATIONS = {
    "relu": lambda m, x: m.relu(x),
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "hardtanh": lambda m, x: m.nn.functional.hardtanh(x),
    "hardtanh of 0 and 3": lambda m, x: m.nn.functional.hardtanh(x, 0.0, 3.0),
    "hardswish": lambda m, x: m.nn.functional.hardswish(x),
    "leaky_relu": lambda m, x: m.nn.functional.leaky_relu(x, 0.5),
    "elu": lambda m, x: m.nn.functional.elu(x, 0.3),
    "celu": lambda m, x: m.nn.functional.celu(x, 0.5),
    "selu": lambda m, x: m.nn.functional.selu(x),
    "softplus": lambda m, x: m.nn.functional.softplus(x, 2.0, 3.0),
    "threshold": lambda m, x: m.nn.functional.threshold(x, 1.0, 5.0),
    "softsign": lambda m, x: m.nn.functional.softsign(x),
    "clamp": lambda m, x: m.clamp(x, -1.0, 2.0),
    "clamp the wrong way round": lambda m, x: m.clamp(x, 2.0, -1.0),
    "abs": lambda m, x: m.abs(x),
    "sign": lambda m, x: m.sign(x),
    "round": lambda m, x: m.round(x),
    "floor": lambda m, x: m.floor(x),
    "trunc": lambda m, x: m.trunc(x),
    "sqrt": lambda m, x: m.sqrt(x),
    "rsqrt": lambda m, x: m.rsqrt(x),
    "log": lambda m, x: m.log(x),
    "log1p": lambda m, x: m.log1p(x),
    "reciprocal": lambda m, x: m.reciprocal(x),
    "asin": lambda m, x: m.asin(x),
    "acos": lambda m, x: m.acos(x),
    "fmod": lambda m, x: m.fmod(x, 2),
    "remainder": lambda m, x: m.remainder(x, -2),
    "x ** 0": lambda m, x: x**0,
    "x ** 1": lambda m, x: x**1,
    "x ** 2": lambda m, x: x**2,
    "x ** 3": lambda m, x: x**3,
    "x ** 0.5": lambda m, x: x**0.5,
    "x ** 1.5": lambda m, x: x**1.5,
    "x ** -1": lambda m, x: x**-1,
    "relu6 in place": lambda m, x: m.nn.functional.relu6(x * 1, inplace=True),
    "hardswish in place": lambda m, x: m.nn.functional.hardswish(x * 1, inplace=True),
    "amax of equals": lambda m, x: m.amax(m.stack([x, x], -1), -1),
    "var with too large a correction": lambda m, x: m.var(m.stack([x, x * 2], -1), -1, correction=3),
    "std with too large a correction": lambda m, x: m.std(m.stack([x, x * 2], -1), -1, correction=3),
    "var with no degree of freedom": lambda m, x: m.var(m.stack([x, x * 2], -1), -1, correction=2),
    "std of equals": lambda m, x: m.std(m.stack([x, x], -1), -1),
    "median of equals": lambda m, x: m.median(m.stack([x, x, x], -1), -1)[0],
}
LOSSES = {
    "maximum": lambda m, x, y: m.maximum(x, y),
    "minimum": lambda m, x, y: m.minimum(x, y),
    "amax": lambda m, x, y: m.amax(m.stack([x, y], -1), -1),
    "amin": lambda m, x, y: m.amin(m.stack([x, y], -1), -1),
    "max along an axis": lambda m, x, y: m.max(m.stack([x, y], -1), -1)[0],
    "max of all": lambda m, x, y: m.stack([m.max(m.stack(pair)) for pair in zip(x, y, strict=True)]),
    "clamp by tensors": lambda m, x, y: m.clamp(x, y, y + 1),
    "prelu": lambda m, x, y: m.nn.functional.prelu(x.unsqueeze(0), y).squeeze(0),
    "huber_loss": lambda m, x, y: m.nn.functional.huber_loss(x, y, reduction="none", delta=0.5),
    "smooth_l1_loss": lambda m, x, y: m.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=0.5),
    "l1_loss": lambda m, x, y: m.nn.functional.l1_loss(x, y, reduction="none"),
    "mse_loss": lambda m, x, y: m.nn.functional.mse_loss(x, y, reduction="none"),
    "norm of order 1": lambda m, x, y: m.norm(m.stack([x, y], -1), 1, -1),
    "norm of order infinity": lambda m, x, y: m.norm(m.stack([x, y], -1), INF, -1),
    "norm of order -infinity": lambda m, x, y: m.norm(m.stack([x, y], -1), -INF, -1),
}


def derivatives(module, function, columns, dtype):
    """The result, its gradients, and the gradients of each gradient."""
    xs = [module.tensor(column, dtype=getattr(module, dtype), requires_grad=True) for column in columns]
    y = function(module, *xs)
    results = [y]
    gradients = module.autograd.grad(y.sum(), xs, create_graph=True) if y.requires_grad else []
    for gradient in gradients:
        results.append(gradient)
        if gradient.requires_grad:
            again = module.autograd.grad(gradient.sum(), xs, retain_graph=True, allow_unused=True)
            results += [module.zeros(x.shape) if each is None else each for x, each in zip(xs, again, strict=True)]
        else:
            results += [None] * len(xs)
    # (+ 0: PyTorch's zeros may have no memory)
    return [None if each is None else numpy.array((each.detach() + 0.0).tolist(), dtype) for each in results]


def agree(function, columns, dtype):
    tolerance = {"rtol": 3e-6, "atol": 1e-6} if dtype == "float32" else {"rtol": 3e-7, "atol": 1e-12}
    found = zip(*(derivatives(module, function, columns, dtype) for module in (clew, torch)), strict=True)
    for which, (ours, theirs) in enumerate(found):
        if ours is None or theirs is None:  # one of them knows that it is constant
            assert not numpy.nan_to_num(ours if theirs is None else theirs, nan=0).any() if ours is not theirs else True
            continue
        numpy.testing.assert_allclose(ours, theirs, err_msg=f"{which} at {columns}", **tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_at_corners_and_ends(name, dtype):
    agree(ACTIVATIONS[name], [POINTS], dtype)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_by_two_at_corners_ties_and_infinities(name):
    # Of a difference of NaN these two have no second derivative; PyTorch says 0.
    smooth = name in ("huber_loss", "smooth_l1_loss")
    pairs = [(x, y) for x, y in itertools.product(PAIRS, PAIRS) if not (smooth and math.isnan(x - y))]
    agree(LOSSES[name], list(zip(*pairs, strict=True)), "float64")


@pytest.mark.parametrize("name", ["relu6", "hardtanh", "hardswish"])
def test_derivatives_at_nan(name):
    """PyTorch's vectors give 0 and its rests of vectors the incoming gradient: both finite."""
    for count in (1, 16):
        assert numpy.isnan(derivatives(clew, ACTIVATIONS[name], [[NAN] * count], "float64")[1]).all()


def test_hardsigmoid():
    ours = derivatives(clew, lambda m, x: m.nn.functional.hardsigmoid(x), [[-4.0, -3.0, 0.0, 3.0, 4.0]], "float64")
    numpy.testing.assert_array_equal(ours[0], [0, 0, 0.5, 1, 1])
    numpy.testing.assert_array_equal(ours[1], [0, 0, 1 / 6, 0, 0])


def at(function, *point):
    """y, its first derivatives, and its second ones row by row, at one point in float64."""
    return [each.item() for each in derivatives(clew, function, [[value] for value in point], "float64")]


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        # y, f_x, f_xx, f_xy, f_y, f_yx, f_yy of x ** y
        ((0.0, 2.0), (0, 0, 2, 0, 0, 0, 0)),
        ((0.0, 3.0), (0, 0, 0, 0, 0, 0, 0)),
        ((0.0, 1.0), (0, 1, 0, -INF, 0, -INF, 0)),
        ((0.0, 1.5), (0, 0, INF, 0, 0, 0, 0)),
        ((0.0, 0.5), (0, INF, -INF, -INF, 0, -INF, 0)),
        ((0.0, 0.0), (1, 0, 0, NAN, 0, NAN, INF)),
        ((0.5, 0.0), (1, 0, 0, 2, math.log(0.5), 2, math.log(0.5) ** 2)),
    ],
)
def test_powers_at_zero(point, expected):
    numpy.testing.assert_allclose(at(lambda m, x, y: x**y, *point), expected, rtol=1e-12)


def test_self_powers_have_no_second_derivative_at_zero():
    assert not numpy.isfinite(at(lambda m, x: x**x, 0.0)[2])


def test_powers_of_zero():
    assert at(lambda m, x: 0.0**x, 2.0) == [0, 0, 0]
    assert not numpy.isfinite(at(lambda m, x: 0.0**x, 0.0)[2])


def test_a_constant_power_passes_no_gradient_on_whatever_comes():
    assert at(lambda m, x: x ** m.zeros(1, dtype=m.float64) * x, NAN)[1] == 1


@pytest.mark.parametrize("order", [0.5, 1.5, 2, 3, -1])
def test_norms_have_no_second_derivative_at_the_origin(order):
    for each in at(lambda m, x, y: m.norm(m.stack([x, y], -1), order, -1), 0.0, 0.0)[2::3]:
        assert not numpy.isfinite(each)
    assert not numpy.isfinite(at(lambda m, x: m.norm(x.unsqueeze(-1), order, -1), 0.0)[2])


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # f, f_x, f_xx, f_xy, f_y, f_yx, f_yy at (0, 2)
        (2, (2, 0, 0.5, 0, 1, 0, 0)),
        (3, (2, 0, 0, 0, 1, 0, 0)),
        (1.5, (2, 0, INF, 0, 1, 0, 0)),
    ],
)
def test_norms_where_one_element_is_zero(order, expected):
    found = at(lambda m, x, y: m.norm(m.stack([x, y], -1), order, -1), 0.0, 2.0)
    numpy.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_harmonic_norm_is_flat_along_an_axis():
    """|x| |y| / (|x| + |y|) is 0 for y = 0, whatever x is."""
    _, f_x, f_xx, *_ = at(lambda m, x, y: m.norm(m.stack([x, y], -1), -1, -1), 0.5, 0.0)
    assert (f_x, f_xx) == (0, 0)


def test_norms_of_one_number_do_not_overflow():
    assert at(lambda m, x: m.norm(x.unsqueeze(-1), 2, -1), -1e300)[:2] == [1e300, -1]


def test_normalize_is_linear_around_the_origin():
    assert at(lambda m, x: m.nn.functional.normalize(x.unsqueeze(-1), dim=-1, eps=0.5).squeeze(-1), 0.0) == [0, 2, 0]


def test_norms_have_third_derivatives():
    x = clew.tensor([[0.3, -1.2, 0.7]], dtype=clew.float64, requires_grad=True)
    for order in (2, 3, 1.5):

        def slopes(x, order=order):
            return clew.autograd.grad(x.norm(order, 1).sum(), x, create_graph=True)[0]

        assert clew.autograd.gradgradcheck(slopes, (x,))


def test_the_angle_of_the_origin_has_no_second_derivative():
    y, by_y, yy, yx, by_x, xy, xx = at(lambda m, y, x: m.atan2(y, x), 0.0, 0.0)
    assert (y, by_y, by_x) == (0, 0, 0)
    assert not numpy.isfinite([yy, yx, xy, xx]).any()


def test_divergences_by_targets_of_zero_and_below():
    def loss(m, x, t):
        return m.nn.functional.kl_div(x, t, reduction="none")

    assert at(loss, 0.5, 0.0)[:2] == [0, 0]
    assert not numpy.isfinite(at(loss, 0.5, 0.0)[4]), "the slope of t log(t) at 0 is infinite"
    value, _, _, _, by_target, *_ = at(loss, 0.5, -1.0)
    assert math.isnan(value)
    assert math.isnan(by_target)


def test_xlogy():
    assert at(lambda m, x, y: m.xlogy(x, y), 0.0, 0.0)[0] == 0
    assert math.isnan(at(lambda m, x, y: m.xlogy(x, y), 0.0, NAN)[0])
    assert at(lambda m, x, y: m.xlogy(x, y), 0.0, 2.0)[1] == math.log(2), "it is linear in x"
    ours, theirs = (m.xlogy(m.tensor([0, 1, 2]), m.tensor([0, 2, 3])) for m in (clew, torch))
    numpy.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-6)


@pytest.mark.parametrize("function", ["amax", "amin"])
def test_an_extremum_over_axes_that_is_nan_has_no_gradient(function):
    x = clew.tensor([[1.0, NAN], [1.0, 2.0]], requires_grad=True)
    getattr(clew, function)(x, -1).sum().backward()
    assert x.grad[0].isnan().all()
    assert x.grad[1].sum() == 1


@pytest.mark.parametrize("function", ["var", "std"])
@pytest.mark.parametrize("correction", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("dim", [None, 0, (0,)])
def test_statistics_of_too_few_numbers(function, correction, dim):
    for numbers in ([1.0, 2.0, 4.0], [1.0, 1.0, 2.0, 0.0], [2.0]):
        found = []
        for module in (clew, torch):
            x = module.tensor(numbers, dtype=module.float64, requires_grad=True)
            y = getattr(module, function)(x, dim=dim, correction=correction)
            y.backward()
            found.append((y.item(), x.grad.tolist()))
        numpy.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
        numpy.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


# Integers -------------------------------------------------------------------------------------------------------------

INTEGERS = {
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "hardtanh": lambda m, x: m.nn.functional.hardtanh(x),
    "hardtanh of 1 and 3": lambda m, x: m.nn.functional.hardtanh(x, 1, 3),
    "relu6 in place": lambda m, x: m.nn.functional.relu6(x, inplace=True),
    "hardswish": lambda m, x: m.nn.functional.hardswish(x),
    "hardsigmoid": lambda m, x: m.nn.functional.hardsigmoid(x),
    "elu": lambda m, x: m.nn.functional.elu(x),
    "celu": lambda m, x: m.nn.functional.celu(x),
    "selu": lambda m, x: m.nn.functional.selu(x),
    "glu": lambda m, x: m.nn.functional.glu(x),
    "prelu": lambda m, x: m.nn.functional.prelu(x, m.tensor([0.25])),
    "huber_loss": lambda m, x: m.nn.functional.huber_loss(x, x),
    "smooth_l1_loss": lambda m, x: m.nn.functional.smooth_l1_loss(x, x),
    "kl_div": lambda m, x: m.nn.functional.kl_div(x, x, reduction="sum"),
    "x - True": lambda m, x: x - True,
    "x - bools": lambda m, x: x - (x > 1),
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_keep_their_dtype_or_are_refused(name, dtype):
    found = []
    for module in (clew, torch):
        try:
            y = INTEGERS[name](module, module.tensor([0, 1, 5, 9]).to(getattr(module, dtype)))
            found.append((str(y.dtype).rpartition(".")[2], y.tolist()))
        except (RuntimeError, NotImplementedError) as error:
            found.append("refused" if dtype == "bool" else type(error).__name__)
    assert found[0] == found[1]


# Tiny and huge numbers, and many halves ------------------------------------------------------------------------------

RANGES = {
    "var": lambda m, x, y: x.var(),
    "std": lambda m, x, y: x.std(),
    "std along an axis": lambda m, x, y: m.stack([x, y], 1).std(0),
    "std of rows": lambda m, x, y: m.stack([x, y]).std(1, correction=0),
    "std_mean": lambda m, x, y: m.std_mean(x)[0],
    "std of complex numbers": lambda m, x, y: m.complex(x, y).std(),
    "norm": lambda m, x, y: x.norm(),
    "norm of columns": lambda m, x, y: m.stack([x, y], 1).norm(dim=0),
    "norm of rows": lambda m, x, y: m.stack([x, y]).norm(dim=1),
    "norm of complex numbers": lambda m, x, y: m.complex(x, y).norm(),
    "norm of order 3": lambda m, x, y: x.norm(3),
    "norm of order 1.5": lambda m, x, y: m.stack([x, y]).norm(1.5, 1, keepdim=True),
    "norm of order 0.5": lambda m, x, y: x.norm(0.5),
    "norm of order -2": lambda m, x, y: x.norm(-2),
    "vector_norm": lambda m, x, y: m.linalg.vector_norm(x),
    "matrix_norm": lambda m, x, y: m.linalg.matrix_norm(m.stack([x, y])),
    "dist": lambda m, x, y: m.dist(x, y),
    "pdist": lambda m, x, y: m.pdist(m.stack([x, y])),
    "cdist": lambda m, x, y: m.cdist(x.reshape(1, -1), y.reshape(1, -1)),
    "normalize": lambda m, x, y: m.nn.functional.normalize(x, dim=0, eps=0.0),
    "cosine_similarity": lambda m, x, y: m.nn.functional.cosine_similarity(x, y, dim=0, eps=0.0),
    "renorm": lambda m, x, y: m.renorm(m.stack([x, y]), 2, 0, 1.0),
    "hypot": lambda m, x, y: m.hypot(x, y),
    "abs of complex numbers": lambda m, x, y: m.complex(x, y).abs(),
    "atan2": lambda m, x, y: m.atan2(x, y),
    "logaddexp": lambda m, x, y: m.logaddexp(x, y),
}
# PyTorch clamps these at other numbers, or computes them from squares: ours in float64 is the reference.
X, Y, *DIRECTIONS = (
    numpy.random.default_rng(seed).uniform(0.5, 1.5, 48) * numpy.tile([1, 1, -1, 1], 12) for seed in range(4)
)


@pytest.mark.beyond
@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1.0, 1e22, 1e30])
@pytest.mark.parametrize("name", RANGES)
def test_floats_whose_squares_are_out_of_range(name, scale):
    """Values and derivatives in float32, by each mode, are those in float64."""

    def found(dtype):
        xs = [clew.tensor(one, dtype=clew.float64).mul(scale).to(dtype).requires_grad_() for one in (X, Y)]
        y = RANGES[name](clew, *xs)
        weights = clew.from_numpy(numpy.random.default_rng(1).uniform(0.5, 1.5, tuple(y.shape))).to(y.dtype)
        gradients = clew.autograd.grad(y, xs, weights, allow_unused=True)
        points = tuple(x.detach() for x in xs)
        along = tuple(clew.tensor(one, dtype=clew.float64).mul(scale).to(dtype) for one in DIRECTIONS)
        tangent = clew.func.jvp(lambda *given: RANGES[name](clew, *given), points, along)[1]
        return [y.detach(), *gradients, tangent]

    limits = numpy.finfo(numpy.float32)
    for ours, expected in zip(found(clew.float32), found(clew.float64), strict=True):
        if ours is None or expected is None:
            assert ours is expected
            continue
        expected = expected.numpy()
        size = abs(expected).max()
        if size > limits.max:  # no float32: infinite, where it is largest at least
            continue
        # Of a sum that cancels out, what is left is a rounding error.
        tolerance = max(1e-5 * size, limits.tiny)
        numpy.testing.assert_allclose(ours.double().numpy(), expected, rtol=1e-4, atol=tolerance)


MANY = 70_000  # more than float16 can count
SHARED = {
    "amax": lambda x: x.amax(),
    "amin along an axis": lambda x: x.reshape(1, -1).amin(1),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "aminmax": lambda x: x.aminmax()[1],
    "median": lambda x: x.median(),
    "nanmedian": lambda x: x.nanmedian(),
    "norm of order infinity": lambda x: x.norm(INF),
    "vector_norm of order -infinity": lambda x: clew.linalg.vector_norm(x, -INF),
    "mean": lambda x: x.mean(),
    "softmax": lambda x: x.softmax(0) @ x,
    "log_softmax": lambda x: x.log_softmax(0)[0],
    "logsumexp": lambda x: x.logsumexp(0),
    "scatter_reduce": lambda x: clew.zeros(1, dtype=x.dtype).scatter_reduce(
        0, clew.zeros(MANY, dtype=clew.int64), x, "amax"
    ),
    "cross_entropy": lambda x: clew.nn.functional.cross_entropy(x.reshape(-1, 2), clew.zeros(MANY // 2).long()),
}


@pytest.mark.beyond
@pytest.mark.parametrize("name", SHARED)
def test_more_equal_halves_than_a_half_can_count(name):
    def found(dtype):
        x = clew.ones(MANY, dtype=dtype, requires_grad=True)
        (gradient,) = clew.autograd.grad(SHARED[name](x).sum(), x)
        value, tangent = clew.func.jvp(SHARED[name], (x.detach(),), (clew.ones(MANY, dtype=dtype),))
        assert value.dtype is tangent.dtype is gradient.dtype is dtype
        return [one.double().numpy() for one in (value, gradient, tangent)]

    for ours, expected in zip(found(clew.float16), found(clew.float64), strict=True):
        numpy.testing.assert_allclose(ours, expected, rtol=0.01, atol=1e-7 if expected.size > 1 else 2e-3)
