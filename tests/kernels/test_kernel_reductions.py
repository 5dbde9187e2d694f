"""Reductions of rows that are shorter, as long and longer than vectors, blocks and pieces."""

import numpy
import pytest
from places import placed

LENGTHS = [1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 255, 257, 1023, 1024, 1025, 2049, 5000]
DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool"]


def numbers(random, shape, dtype):
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype.startswith("float"):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0 if dtype == "uint8" else -9, 9, shape).astype(dtype)


def close(got, want, dtype, length):
    """Within the error bound of adding in pairs, in units of the sum of magnitudes that the caller divides by."""
    if not dtype.startswith("float"):
        assert numpy.array_equal(got, want)
        return
    bound = (2 + numpy.log2(length)) * numpy.finfo(dtype).eps
    assert numpy.all(abs(got.astype("longdouble") - want) <= bound * numpy.maximum(1, abs(want)) * 2), (got, want)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_columns_and_everything(torch, random, length, dtype):
    x = numbers(random, (5, length), dtype)
    wide = x.astype("longdouble") if dtype.startswith("float") else x.astype("int64")
    scale = numpy.maximum(1, abs(wide).sum(1))
    for given in (torch.from_numpy(x), torch.from_numpy(x.T.copy()).T, torch.from_numpy(x.repeat(3, 1))[:, ::3]):
        close(given.sum(1).numpy() / scale, wide.sum(1) / scale, dtype, length)
        close(given.T.sum(0).numpy() / scale, wide.sum(1) / scale, dtype, length)
        assert numpy.array_equal(given.amax(1).numpy(), x.max(1))
        assert numpy.array_equal(given.amin(1).numpy(), x.min(1))
        assert numpy.array_equal(given.any(1).numpy(), x.astype(bool).any(1))
        assert numpy.array_equal(given.all(1).numpy(), x.astype(bool).all(1))
        assert numpy.array_equal(given.amax(0).numpy(), x.max(0))
        if dtype != "bool":
            assert numpy.array_equal(given.argmax(1).numpy(), x.argmax(1))
            assert numpy.array_equal(given.argmin(0).numpy(), x.argmin(0))
        if dtype.startswith("float"):
            # The bound of pairwise addition (Higham 1993), to which the division adds a rounding.
            close(given.mean(1).numpy(), wide.mean(1), dtype, length)
            norms = numpy.sqrt((wide * wide).sum(1))
            close(given.norm(2, dim=1).numpy(), norms, dtype, length)
            close(given.norm(1, dim=1).numpy() / scale, abs(wide).sum(1) / scale, dtype, length)
            products = (given / 2 + 1).prod(1).numpy()
            assert numpy.allclose(products, (x.astype("float64") / 2 + 1).prod(1), rtol=2e-5, atol=1e-30)
    close(torch.from_numpy(x).sum().numpy() / scale.sum(), wide.sum() / scale.sum(), dtype, 5 * length)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 3, 16, 17, 40, 64, 100, 130, 1030])
def test_nan_wins_wherever_it_is(torch, random, length, dtype):
    x = random.standard_normal((length, length) if length < 200 else (40, length)).astype(dtype)
    at = random.permutation(x.shape[1])[: x.shape[0]]
    nan = numpy.array(numpy.nan, dtype)
    for sign in (1, -1):
        y = x.copy()
        y[numpy.arange(len(y)), at] = numpy.copysign(nan, sign)
        y[:, (at[0] + 1) % length] = numpy.inf
        y[numpy.arange(len(y)), at] = numpy.copysign(nan, sign)
        given = torch.from_numpy(y)
        assert given.amax(1).isnan().all()
        assert given.amin(1).isnan().all()
        assert given.max(1).values.isnan().all()
        assert numpy.array_equal(given.argmax(1).numpy(), y.argmax(1))
        assert numpy.array_equal(given.argmin(1).numpy(), y.argmin(1))
        assert given.max().isnan()


@pytest.mark.parametrize("length", [5, 16, 33, 200])
def test_infinities_and_zeros_have_an_order(torch, length):
    x = numpy.full((2, length), -numpy.inf, "float32")
    given = torch.from_numpy(x)
    assert given.amax() == -numpy.inf
    assert given.argmax(1).tolist() == [0, 0]
    x[0, length // 2] = numpy.inf
    x[1, length - 1] = numpy.finfo("float32").smallest_subnormal
    assert given.amax(1).tolist() == x.max(1).tolist()
    assert given.amin(1).tolist() == [-numpy.inf, -numpy.inf]
    assert given.argmax(1).tolist() == [length // 2, length - 1]
    assert given.sum(1).isnan()[0] or length == 1
    negative = torch.full((3, length), -0.0)
    assert negative.amax(1).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.beyond
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(70_001,), (1_000_003,), (300, 333), (3, 90_001), (90_001, 3), (40, 30, 50)])
def test_bits_depend_on_the_shape_alone(torch, random, bits_at_any_thread_count, shape, dtype):
    x = random.standard_normal(shape).astype(dtype)
    for dim in [None, *range(len(shape))]:
        for name in ("sum", "mean", "amax", "prod", "var", "logsumexp"):
            arguments = () if dim is None and name != "logsumexp" else (0 if dim is None else dim,)
            seen = {
                bits_at_any_thread_count(lambda: getattr(given, name)(*arguments)).tobytes()  # noqa: B023
                for given in (placed(torch, x, offset) for offset in (0, 1, 5))
            }
            assert len(seen) == 1, f"{name} over {dim} depends on where the array lies"


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_long_reductions_agree_with_numpy(torch, random, bits_at_any_thread_count, dtype):
    for shape in [(6_500_001,), (2, 2_200_000), (1000, 1001)]:
        x = numbers(random, shape, dtype)
        given = torch.from_numpy(x)
        for dim in (0, len(shape) - 1):
            assert numpy.array_equal(bits_at_any_thread_count(lambda: given.amax(dim)), x.max(dim))  # noqa: B023
            assert numpy.array_equal(bits_at_any_thread_count(lambda: given.argmin(dim)), x.argmin(dim))  # noqa: B023
            sums = bits_at_any_thread_count(lambda: given.sum(dim))  # noqa: B023
            assert numpy.allclose(sums, x.sum(dim, dtype="float64"), rtol=1e-5, atol=2e-3)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (40, 260), (2, 3, 4), (0, 3)])
def test_the_gradient_of_a_running_sum(torch, shape):
    for dim in range(len(shape)):
        g = numpy.random.default_rng(1).standard_normal(shape)
        x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        x.cumsum(dim).backward(torch.from_numpy(g))
        assert numpy.allclose(x.grad.numpy(), numpy.flip(numpy.flip(g, dim).cumsum(dim), dim), rtol=1e-12)
        if 0 < x.numel() < 50:
            y = torch.from_numpy(g).requires_grad_()
            assert torch.autograd.gradcheck(lambda y: (y.cumsum(dim) ** 2).sum(), (y,))  # noqa: B023
            assert torch.autograd.gradgradcheck(lambda y: (y.cumsum(dim) ** 3).sum(), (y,))  # noqa: B023
    scalar = torch.tensor(2.0, requires_grad=True)
    scalar.cumsum(0).backward()
    assert scalar.grad.item() == 1.0
