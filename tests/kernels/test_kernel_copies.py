"""Copies and elementwise operations over arrays that lie across each other, in reverse, or with gaps."""

import itertools

import numpy
import pytest
from places import placed

SIDES = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130]
DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool"]


def counted(shape, dtype):
    x = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    return (x % 3 == 0) if dtype == "bool" else (x % 251).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_copies(torch, dtype):
    for rows, columns in itertools.product(SIDES, SIDES):
        x = counted((rows, columns), dtype)
        assert numpy.array_equal(torch.from_numpy(x).T.contiguous().numpy(), x.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.parametrize("shape", [(700, 333), (5, 40_000), (40_000, 5), (3, 200, 170), (200, 3, 170), (0, 40, 50)])
def test_large_permuted_copies(torch, bits_at_any_thread_count, shape, dtype):
    x = counted(shape, dtype)
    for order in itertools.permutations(range(len(shape))):
        given = torch.from_numpy(x).permute(order)
        assert numpy.array_equal(bits_at_any_thread_count(given.contiguous), x.transpose(order))
        assert numpy.array_equal(bits_at_any_thread_count(lambda: given[:, 1:].contiguous()), x.transpose(order)[:, 1:])  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (5,), (16,), (33,), (40, 70), (3, 129), (300, 301), (70_001,)])
def test_backwards_and_with_steps(torch, bits_at_any_thread_count, shape, dtype):
    x = counted(shape, dtype)
    given = torch.from_numpy(x)
    for axis in range(len(shape)):
        assert numpy.array_equal(bits_at_any_thread_count(lambda: given.flip(axis)), numpy.flip(x, axis))  # noqa: B023
        for start, step in ((0, 2), (1, 2), (0, 3), (2, 5)):
            cut = (slice(None),) * axis + (slice(start, None, step),)
            assert numpy.array_equal(bits_at_any_thread_count(lambda: given[cut].contiguous()), x[cut])  # noqa: B023


@pytest.mark.parametrize("width", [1, 3, 4, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 513, 700])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_rows_with_gaps(torch, width, dtype):
    x = counted((9, width + 2), dtype)
    inner = torch.from_numpy(x)[:, 1 : width + 1]
    assert numpy.array_equal(inner.contiguous().numpy(), x[:, 1 : width + 1])
    around = torch.zeros_like(torch.from_numpy(x))
    around[:, 1 : width + 1] = inner
    want = numpy.zeros_like(x)
    want[:, 1 : width + 1] = x[:, 1 : width + 1]
    assert numpy.array_equal(around.numpy(), want), "a copy wrote beside its rows"
    joined = torch.cat([inner, torch.from_numpy(x)], 1)
    assert numpy.array_equal(joined.numpy(), numpy.concatenate([x[:, 1 : width + 1], x], 1))
    inner.copy_(inner)  # onto itself
    assert numpy.array_equal(torch.from_numpy(x).numpy(), counted((9, width + 2), dtype))


@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 8), (9, 33), (33, 64), (65, 31), (100, 130), (300, 257)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_operations_across_each_other(torch, random, bits_at_any_thread_count, shape, dtype):
    x = (random.standard_normal(shape) * 9).astype(dtype)
    y = (random.standard_normal(shape[::-1]) * 9).astype(dtype)
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a + b.T), x + y.T)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: b.T * a), x * y.T)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a.T - b), x.T - y)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a < b.T), x < y.T)
    assert numpy.array_equal(
        bits_at_any_thread_count(lambda: torch.where(b.T > 0, a, b.T)), numpy.where(y.T > 0, x, y.T)
    )
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a[:, :1] + b.T), x[:, :1] + y.T)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a[0] + b.T), x[0] + y.T)
    inside = a.clone()
    inside += b.T
    assert numpy.array_equal(inside.numpy(), x + y.T)
    if dtype == "float32":
        assert numpy.array_equal((a + b.T.double()).numpy(), x + y.T.astype("float64"))
        flat = bits_at_any_thread_count(lambda: torch.tanh(b.T.contiguous()))
        out = torch.empty(shape)
        torch.tanh(b.T, out=out)
        assert out.numpy().tobytes() == flat.tobytes(), "the bits of an element depend on how it is reached"


def test_more_axes_across_each_other(torch, random):
    x = random.standard_normal((20, 30, 40)).astype("float32")
    for order in itertools.permutations(range(3)):
        across = torch.from_numpy(x).permute(order)
        other = torch.from_numpy(numpy.ascontiguousarray(x.transpose(order)))
        assert numpy.array_equal((other + across).numpy(), x.transpose(order) * 2)
        assert numpy.array_equal((across + other).numpy(), x.transpose(order) * 2)


@pytest.mark.parametrize("count", [1, 15, 40, 32_768, 32_769, 50_000, 100_003])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_pieces_of_long_arrays(torch, random, bits_at_any_thread_count, count, offset):
    x = random.standard_normal(count).astype("float32")
    y = random.standard_normal(count).astype("float32")
    a, b = placed(torch, x, offset), placed(torch, y, 0)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a + b), x + y)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: a.clone()), x)
    whole = bits_at_any_thread_count(lambda: a.exp())
    assert whole.tobytes() == placed(torch, x, 0).exp().numpy().tobytes()
    assert whole[count // 2 :].tobytes() == a[count // 2 :].exp().numpy().tobytes()


@pytest.mark.beyond  # PyTorch works out some elements in float32
@pytest.mark.parametrize("count", [0, 1, 100, 4096, 4097, 70_000, 200_001])
def test_progressions(torch, bits_at_any_thread_count, count):
    assert numpy.array_equal(bits_at_any_thread_count(lambda: torch.arange(count)), numpy.arange(count))
    for start, step in ((0.0, 1.0), (-3.5, 0.25), (1e6, -0.1)):
        want = start + numpy.arange(count) * step
        end = start + max(count - 0.5, 0) * step
        for dtype in ("float32", "float64"):
            got = bits_at_any_thread_count(lambda: torch.arange(start, end, step, dtype=getattr(torch, dtype)))  # noqa: B023
            assert numpy.array_equal(got, want.astype(dtype))
    assert torch.arange(10, 10 - 3 * count, -3).tolist() == list(range(10, 10 - 3 * count, -3))


def test_filled_tensors(torch):
    for size in (0, 1, 5, (2, 3), [4], ()):
        given = size if isinstance(size, int) else tuple(size)
        for made, value in ((torch.zeros(size), 0.0), (torch.ones(size), 1.0), (torch.full((7,), 2.5), 2.5)):
            assert made.dtype == torch.float32
            assert (made.numpy() == value).all()
        assert numpy.array_equal(torch.zeros(size).numpy(), numpy.zeros(given, "float32"))
    assert torch.full((2,), 3).dtype == torch.int64
    assert torch.full((2,), True).dtype == torch.bool
    assert torch.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        torch.zeros(-1)
