"""Compositions and NumPy's loops where the generated tests do not look: dtypes, special values, empty ones, errors."""

import itertools
import math

import numpy
import pytest

import clew

INF, NAN = float("inf"), float("nan")

SPECIAL = [INF, -INF, NAN, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30, 1e-30]
UNARY = [
    "acosh", "asinh", "atanh", "arccosh", "arcsinh", "arctanh", "deg2rad", "rad2deg", "frac", "sinc", "logit",
    "signbit", "isposinf", "isneginf", "isreal", "positive", "nan_to_num", "frexp",
]  # fmt: skip
BINARY = [
    "hypot", "logaddexp", "logaddexp2", "copysign", "fmax", "fmin", "heaviside", "gcd", "lcm", "ldexp", "float_power",
]  # fmt: skip
OPERANDS = {
    "int": lambda m: m.tensor([3, -4, 6]),
    "uint8": lambda m: m.tensor([3, 4, 6], dtype=m.uint8),
    "bool": lambda m: m.tensor([True, False, True]),
    "float": lambda m: m.tensor([3.0, -4.5, 0.0]),
    "double": lambda m: m.tensor([3.0, -4.5, 0.5], dtype=m.float64),
    "zero-dim": lambda m: m.tensor(2.5, dtype=m.float64),
    "column": lambda m: m.tensor([[3.0], [0.5]]),
    "empty": lambda m: m.zeros(0, 1),
    "number": lambda m: 2,
}


def outcome(program, module):
    """What a program gives: arrays with their dtypes, or the type of its error."""
    try:
        results = program(module)
    except Exception as error:
        return type(error)
    several = results if isinstance(results, list | tuple) else [results]
    return [(str(one.dtype), one.detach().numpy()) for one in several]


def assert_agree(program, torch, oracle):
    ours, theirs = outcome(program, torch), outcome(program, oracle)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert isinstance(theirs, type), f"PyTorch gives {theirs}, got {ours}"
        assert isinstance(ours, type), f"PyTorch raises {theirs}, got {ours}"
        assert issubclass(ours, theirs) or issubclass(theirs, ours)
        return
    for (kind, array), (their_kind, expected) in zip(ours, theirs, strict=True):
        assert kind == their_kind
        assert array.shape == expected.shape
        exact = array.dtype.kind != "f"
        tolerance = 0 if exact else 2e-6 if array.dtype == numpy.float32 else 1e-12
        numpy.testing.assert_allclose(array, expected, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand_of_each_dtype(name, operand, torch, oracle):
    assert_agree(lambda m: getattr(m, name)(OPERANDS[operand](m)), torch, oracle)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized:UserWarning")
@pytest.mark.parametrize(
    ("operand", "other"), [both for both in itertools.product(OPERANDS, OPERANDS) if both != ("number", "number")]
)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_of_each_dtype(name, operand, other, torch, oracle):
    assert_agree(lambda m: getattr(m, name)(OPERANDS[operand](m), OPERANDS[other](m)), torch, oracle)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_special_values(name, kind, torch, oracle):
    def program(m):
        x = m.tensor(SPECIAL, dtype=getattr(m, kind))
        return getattr(m, name)(x) if name in UNARY else getattr(m, name)(x.unsqueeze(1), x)

    assert_agree(program, torch, oracle)


@pytest.mark.parametrize("name", ["acosh_", "asinh_", "atanh_", "deg2rad_", "frac_", "sinc_", "logit_", "nan_to_num_"])
@pytest.mark.parametrize("operand", ["int", "float", "double"])
def test_in_place_forms_keep_the_dtype(name, operand, torch, oracle):
    assert_agree(lambda m: getattr(OPERANDS[operand](m), name)(), torch, oracle)
    assert_agree(lambda m: getattr(m, name)(OPERANDS[operand](m)), torch, oracle)


@pytest.mark.parametrize("name", ["hypot_", "copysign_", "gcd_", "heaviside_", "ldexp_", "float_power_"])
@pytest.mark.parametrize("other", ["int", "float", "column"])
@pytest.mark.parametrize("operand", ["int", "float", "double"])
def test_in_place_forms_of_two(name, operand, other, torch, oracle):
    assert_agree(lambda m: getattr(OPERANDS[operand](m), name)(OPERANDS[other](m)), torch, oracle)


def ints(m):
    return m.tensor([[3, 1, 2, 3], [2, 2, 1, 0]])


def gradient(m, function, values, dtype):
    x = m.tensor(values, dtype=dtype, requires_grad=True)
    function(x).sum().backward()
    return x.grad


def nans(m):
    return m.tensor([[1.0, NAN, 3.0, 2.0], [4.0, 0.5, -1.0, 4.0], [NAN, NAN, NAN, NAN]])


PROGRAMS = {
    "aminmax of integers": lambda m: m.aminmax(ints(m), dim=1),
    "aminmax of NaN": lambda m: m.aminmax(nans(m), dim=-1, keepdim=True),
    "aminmax of a number": lambda m: m.aminmax(m.tensor(3.0), dim=0),
    "aminmax of nothing": lambda m: m.aminmax(m.zeros(0)),
    "cummax of integers": lambda m: m.cummax(ints(m), 1),
    "cummax of NaN": lambda m: nans(m).cummax(-1),
    "cummin of NaN": lambda m: nans(m).cummin(1),
    "cummin of a number": lambda m: m.cummin(m.tensor(2.0), 0),
    "cummin of nothing": lambda m: m.cummin(m.zeros(2, 0), 1),
    "cummin beyond the axes": lambda m: m.cummin(m.zeros(2), 1),
    "mode of integers": lambda m: m.mode(ints(m)),
    "mode down": lambda m: m.mode(ints(m), 0, True),
    "mode of a number": lambda m: m.mode(m.tensor(2.0)),
    "mode of nothing": lambda m: m.mode(m.zeros(0)),
    "quantile of integers": lambda m: m.quantile(ints(m), 0.5),
    "quantile of NaN": lambda m: m.quantile(nans(m), 0.3, dim=1),
    "quantile of all": lambda m: m.quantile(nans(m)[1], m.tensor([0.0, 0.4, 1.0]), keepdim=True),
    "quantile keeps": lambda m: m.quantile(nans(m), m.tensor([0.1, 0.9]), dim=0, keepdim=True),
    "quantile of a number": lambda m: m.quantile(m.tensor(3.0), 0.5),
    "quantile of nothing": lambda m: m.quantile(m.zeros(0), 0.5),
    "quantile beyond": lambda m: m.quantile(m.ones(2), 1.5),
    "quantile q of another dtype": lambda m: m.quantile(m.ones(2), m.tensor([0.5], dtype=m.float64)),
    "quantile q of a list": lambda m: m.quantile(m.ones(2), [0.5]),
    "quantile unknown interpolation": lambda m: m.quantile(m.ones(2), 0.5, interpolation="cubic"),
    "nanquantile": lambda m: m.nanquantile(nans(m), m.tensor([0.2, 0.5]), dim=1),
    "nanquantile of all": lambda m: nans(m).nanquantile(0.5),
    "nansum": lambda m: m.nansum(nans(m), 1),
    "nansum of integers": lambda m: m.nansum(ints(m), 0, keepdim=True),
    "nansum as double": lambda m: m.nansum(nans(m), dtype=m.float64),
    "nanmean": lambda m: m.nanmean(nans(m), (0,)),
    "nanmean of nothing": lambda m: m.nanmean(m.zeros(0)),
    "nanmean of integers": lambda m: m.nanmean(ints(m)),
    "logcumsumexp special": lambda m: m.logcumsumexp(m.tensor([-INF, 1.0, 1000.0, 1000.0, INF]), 0),
    "logcumsumexp gradient of large numbers": lambda m: [
        gradient(m, lambda x: m.logcumsumexp(x, 1), [[0.0, 3.0, large], [large, 0.0, -large]], dtype)
        for large, dtype in ((1e30, m.float32), (1e300, m.float64))
    ],
    "logcumsumexp of integers": lambda m: m.logcumsumexp(ints(m), 0),
    "logcumsumexp of a number": lambda m: m.logcumsumexp(m.tensor(1.5), 0),
    "histc": lambda m: m.histc(nans(m)[1], 4),
    "histc of one value": lambda m: m.histc(m.ones(3), 4),
    "histc of nothing": lambda m: m.histc(m.zeros(0), 3),
    "histc of infinity": lambda m: m.histc(m.tensor([INF, 1.0]), 3),
    "histc of integers": lambda m: m.histc(ints(m), 3),
    "histc no bins": lambda m: m.histc(m.ones(2), 0),
    "histc limits": lambda m: m.histc(m.arange(9.0), bins=3, min=1, max=4),
    "histogram": lambda m: m.histogram(m.arange(9.0), 4, weight=m.linspace(0, 1, 9), density=True),
    "histogram of edges": lambda m: m.histogram(m.arange(9.0), m.tensor([0.0, 1.5, 7.0])),
    "histogram in a range": lambda m: m.histogram(m.arange(9.0), 3, range=(1.0, 5.0)),
    "index_fill by fractions": lambda m: m.ones(2, 3).index_fill(0, m.tensor([0.5]), 1.0),
    "index_fill by fractions in place": lambda m: m.ones(2, 3).index_fill_(0, m.tensor([0.5]), 1.0),
    "pairwise_distance": lambda m: m.pairwise_distance(ints(m).float(), m.ones(2, 4)),
    "cosine_similarity": lambda m: m.cosine_similarity(ints(m).float(), m.ones(2, 4)),
    "pixel_shuffle": lambda m: m.pixel_shuffle(m.arange(8.0).reshape(4, 1, 2), 2),
    "multi_margin_loss with few weights": lambda m: m.nn.functional.multi_margin_loss(
        m.ones(4), m.tensor(0), weight=m.ones(3)
    ),
    "isin a number": lambda m: m.isin(ints(m), 2),
    "isin of a number": lambda m: m.isin(2, ints(m)),
    "isin inverted": lambda m: m.isin(ints(m), m.tensor([1.0, 2.0]), invert=True),
    "isin of a number beyond int64": lambda m: m.isin(m.tensor([1, 2**63 - 1]), 2**63),
    "nansum of complex numbers": lambda m: m.nansum(m.tensor([1j, complex(m.nan, 1.0)])),
    "nanmean of complex numbers": lambda m: m.nanmean(m.tensor([1j])),
    "isin of complex numbers": lambda m: m.isin(m.tensor([1j]), m.tensor([1j])),
    "repeat_interleave of nothing to another size": lambda m: m.ones(0).repeat_interleave(2, output_size=3),
    "repeat_interleave of no rows to another size": lambda m: m.ones(0, 3).repeat_interleave(2, 0, output_size=3),
    "tril_indices of floats": lambda m: m.tril_indices(2.0, 2),
    "triu_indices of floats": lambda m: m.triu_indices(2, 2, 0.5),
    "isin of infinity and NaN": lambda m: m.isin(m.tensor([NAN, 1.0, math.inf, -math.inf]), m.tensor([math.inf, NAN])),
    "isin of infinity beside NaN": lambda m: m.isin(m.tensor([NAN, 1.0, math.inf]), m.tensor([1.0, NAN]), invert=True),
    "slice_scatter": lambda m: m.slice_scatter(m.zeros(3, 4), m.ones(3, 2), dim=-1, start=-3, end=100, step=2),
    "slice_scatter of another shape": lambda m: m.slice_scatter(m.zeros(3), m.ones(1), start=1),
    "slice_scatter other dtype": lambda m: m.slice_scatter(m.zeros(3), m.tensor([1, 2]), start=1),
    "select_scatter": lambda m: m.select_scatter(m.zeros(2, 3), m.ones(2), -1, -1),
    "select_scatter of another shape": lambda m: m.select_scatter(m.zeros(2, 3), m.ones(3), 1, 0),
    "diagonal_scatter": lambda m: m.diagonal_scatter(m.zeros(3, 2, 3), m.ones(2, 2), 1, 0, 2),
    "put": lambda m: m.zeros(2, 3).put_(m.tensor([[1, -1]]), m.tensor([[5.0, 6.0]])),
    "put accumulates": lambda m: m.zeros(2, 3).put(m.tensor([1, 1]), m.tensor([5.0, 6.0]), accumulate=True),
    "put beyond": lambda m: m.zeros(2).put(m.tensor([7]), m.tensor([5.0])),
    "put too few": lambda m: m.zeros(2).put(m.tensor([0, 1]), m.tensor([5.0])),
    "scatter_reduce of integers": lambda m: m.scatter_reduce(
        ints(m), 1, m.tensor([[0, 0, 1], [3, 3, 3]]), m.tensor([[5, 7, 9], [1, 2, 2]]), "mean"
    ),
    "scatter_reduce unknown": lambda m: m.zeros(2).scatter_reduce(0, m.tensor([0]), m.ones(1), "median"),
    "scatter_reduce dtypes": lambda m: m.zeros(2).scatter_reduce(0, m.tensor([0]), m.tensor([1]), "sum"),
    "scatter_reduce beyond": lambda m: m.zeros(2).scatter_reduce(0, m.tensor([2]), m.ones(1), "amax"),
    "scatter_reduce products": lambda m: m.full((3,), 2).scatter_reduce(
        0, m.tensor([0, 0, 2]), m.tensor([3, 4, 5]), "prod", include_self=False
    ),
    "index_reduce": lambda m: m.full((2, 3), 2.0).index_reduce_(
        0, m.tensor([1, 1]), m.tensor([[1.0, 2.0, 3.0], [5.0, 0.0, 1.0]]), "amin", include_self=False
    ),
    "index_reduce sum": lambda m: m.ones(2).index_reduce(0, m.tensor([1]), m.ones(1), "sum"),
    "addr of integers": lambda m: m.addr(m.ones(2, 2, dtype=m.int64), m.tensor([1, 2]), m.tensor([3, 4]), alpha=2),
    "addr alpha of integers": lambda m: m.addr(
        m.ones(2, 2, dtype=m.int64), m.tensor([1, 2]), m.tensor([3, 4]), alpha=0.5
    ),
    "addr of dtypes": lambda m: m.addr(m.tensor(3), m.tensor([1.0, 2.0], dtype=m.float64), m.tensor([1, 2]), beta=0.18),
    "addr of smaller floats": lambda m: m.addr(m.ones(2), m.tensor([1.0], dtype=m.float64), m.ones(2), beta=0.18),
    "addr without the input": lambda m: m.addr(m.full((2, 2), NAN), m.ones(2), m.ones(2), beta=0),
    "addr of matrices": lambda m: m.addr(m.ones(2, 2), m.ones(2, 1), m.ones(2)),
    "addr_": lambda m: m.ones(2, 2).addr_(m.ones(2), m.ones(2)),
    "cov of integers": lambda m: m.cov(ints(m)),
    "cov of three axes": lambda m: m.cov(m.ones(2, 2, 2)),
    "cov weights of floats": lambda m: m.cov(ints(m), fweights=m.ones(4)),
    "corrcoef of a vector": lambda m: m.corrcoef(m.tensor([1.0, 2.0, 4.0])),
    "renorm of a vector": lambda m: m.renorm(m.ones(3), 2, 0, 1),
    "combinations of none": lambda m: m.combinations(m.tensor([1, 2]), 3),
    "combinations of a matrix": lambda m: m.combinations(m.ones(2, 2)),
    "diagflat": lambda m: m.diagflat(m.tensor([[1, 2], [3, 4]]), -1),
    "unravel_index": lambda m: m.unravel_index(m.tensor([[5, 7]]), (3, 3)),
    "unravel_index of floats": lambda m: m.unravel_index(m.tensor([5.0]), (3, 3)),
    "unravel_index beyond": lambda m: m.unravel_index(m.tensor([9]), (3, 3)),
    "sum_to_size": lambda m: m.arange(12.0).reshape(2, 3, 2).sum_to_size(3, 1),
    "sum_to_size beyond": lambda m: m.ones(2).sum_to_size(3),
    "fill_diagonal_": lambda m: m.zeros(7, 3).fill_diagonal_(2, wrap=True),
    "fill_diagonal_ of a cube": lambda m: m.zeros(3, 3, 3).fill_diagonal_(2),
    "fill_diagonal_ of a vector": lambda m: m.zeros(3).fill_diagonal_(2),
    "windows": lambda m: [m.hann_window(n, p) for n in range(4) for p in (True, False)],
    "window of doubles": lambda m: m.kaiser_window(5, periodic=True, beta=4.0, dtype=m.float64),
    "window of integers": lambda m: m.hann_window(3, dtype=m.int64),
    "window of less than nothing": lambda m: m.bartlett_window(-1),
    "hamming": lambda m: m.hamming_window(5, False, 0.6, 0.3),
    "in place with history": lambda m: m.tensor([0.5], requires_grad=True).atanh_(),
    "logit eps": lambda m: m.logit(m.tensor([0.0, 0.1, 1.0, 2.0]), eps=0.2),
    "hypot out": lambda m: m.hypot(m.tensor([3.0]), m.tensor([4.0]), out=m.empty(0)),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_dtypes_and_errors_are_pytorchs(program, torch, oracle):
    assert_agree(PROGRAMS[program], torch, oracle)


@pytest.mark.filterwarnings("ignore")
def test_range_includes_its_end(torch, oracle):
    for arguments in ((0, 3), (1, 2, 0.5), (3, 0, -1)):
        assert_agree(lambda m, given=arguments: m.range(*given), torch, oracle)
    assert_agree(lambda m: m.range(0, 3, -1), torch, oracle)


def test_shapes_that_do_not_fit_together(torch, oracle):
    assert torch.broadcast_shapes((2, 1), (3,), 3) == oracle.broadcast_shapes((2, 1), (3,), 3)
    with pytest.raises(RuntimeError, match="broadcast"):
        torch.broadcast_shapes((2,), (3,))


def test_gradients_where_several_or_none_count(torch, oracle):
    def gradients(m, reduce, include_self):
        x = m.tensor([2.0 if include_self else 1.0, 0.0 if include_self else 1.0, 3.0], requires_grad=True)
        src = m.tensor([2.0, 2.0, 0.0, 0.0, 5.0], requires_grad=True)
        y = x.scatter_reduce(0, m.tensor([0, 0, 1, 1, 2]), src, reduce, include_self=include_self)
        return m.autograd.grad((y * m.tensor([1.0, 10.0, 100.0])).sum(), (x, src))

    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            assert_agree(lambda m, args=(reduce, include_self): gradients(m, *args), torch, oracle)


def test_a_window_is_named_in_its_errors(torch):
    with pytest.raises(RuntimeError, match="hann_window requires non-negative"):
        torch.hann_window(-1)


def test_zeros_are_positive(torch):
    for zero in (torch.special.entr(torch.tensor(0.0)), torch.special.ndtri(torch.tensor(0.5))):
        assert zero == 0
        assert not torch.signbit(zero)


def test_a_histogram_up_to_the_largest_numbers():
    """The range is beyond float32's largest number, in which PyTorch counts nothing, or everything in one bin."""
    values = numpy.array([-3.4e38, -2e38, 0.0, 1e38, 3.4e38], numpy.float32)
    expected, _ = numpy.histogram(values.astype(numpy.float64), 4)
    assert clew.histc(clew.from_numpy(values), 4).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: clew.nn.functional.unfold(x, 2),
        lambda x: clew.nn.functional.fold(x.reshape(1, 4, 4), (3, 3), 2),
        lambda x: clew.isin(x, 3),
        lambda x: clew.isin(3, x),
        lambda x: clew.isin(x, x[0]),
        lambda x: clew.pdist(x[0, 0]),
    ],
)
def test_a_default_device_is_not_that_of_given_tensors(function):
    x = clew.arange(16.0).reshape(1, 1, 4, 4)
    expected = function(x)
    with clew.device("meta"):
        assert function(x).equal(expected)


def test_isin_on_the_device_meta():
    m = clew.ones(2, 3, device="meta")
    for result in (clew.isin(m, 3), clew.isin(m, m), clew.isin(m, clew.ones(2)), clew.isin(3, m)):
        assert result.is_meta
        assert result.dtype is clew.bool
    assert clew.isin(m, clew.ones(2)).shape == (2, 3)


def test_memory_formats_under_any_name():
    for format in (clew.contiguous_format, clew.preserve_format):
        assert clew.ones(2).clone(memory_format=format).tolist() == [1, 1]
    assert clew.linalg.matrix_power(clew.ones(2, 2), 0).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TypeError, match="memory_format"):
        clew.ones(2).clone(memory_format="contiguous_format")
