"""A row with every row of a matrix, and softmax of short lines: what loops take several rows at a time."""

import numpy
import pytest
from places import placed

SHAPES = [(1, 5), (7, 9), (8, 1), (8, 8), (9, 3), (40, 2), (2000, 3), (33, 31), (100, 100), (300, 1000), (50, 2049)]
LENGTHS = [1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 100, 129, 316, 512, 1000, 1023, 1024, 1025, 2100]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_a_row_with_every_row(torch, random, bits_at_any_thread_count, shape, dtype):
    # What a negative float becomes as uint8 is not defined; integers wrap.
    ways = ["int64", dtype] if dtype == "uint8" else [dtype]
    x, y = random.standard_normal(shape) * 9, random.standard_normal(2 * shape[1]) * 9
    for way in ways:
        x, y = x.astype(way), y.astype(way)
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    for row, given in [(y[: shape[1]], b[: shape[1]]), (y[1::2], b[1::2]), (x[-1], a[-1])]:
        assert numpy.array_equal(bits_at_any_thread_count(lambda given=given: a + given), x + row)
        assert numpy.array_equal(bits_at_any_thread_count(lambda given=given: given * a), row * x)
        assert numpy.array_equal(bits_at_any_thread_count(lambda given=given: a < given), x < row)
        chosen = bits_at_any_thread_count(lambda given=given: torch.where(given > 1, a, given))
        assert numpy.array_equal(chosen, numpy.where(row > 1, x, row))
    inside = placed(torch, x.reshape(-1), 1).view(shape)
    inside *= b[: shape[1]]
    assert numpy.array_equal(inside.numpy(), x * y[: shape[1]])
    turned = a.T + b[: shape[1], None]
    assert numpy.array_equal(turned.numpy(), x.T + y[: shape[1], None])


@pytest.mark.parametrize("shape", [(3, 4, 5), (20, 30, 40), (5, 1000, 3), (2, 9, 1000)])
def test_rows_of_more_axes(torch, random, bits_at_any_thread_count, shape):
    x = random.standard_normal(shape).astype("float32")
    a = torch.from_numpy(x)
    for kept in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        y = random.standard_normal([n if i in kept else 1 for i, n in enumerate(shape)]).astype("float32")
        b = torch.from_numpy(y)
        assert numpy.array_equal(bits_at_any_thread_count(lambda b=b: a + b), x + y)
        assert numpy.array_equal((b - a.transpose(0, 1).contiguous().transpose(0, 1)).numpy(), y - x)
        assert numpy.array_equal((a[:, ::2] + b[:, : 1 if y.shape[1] == 1 else None : 2]).numpy(), (x + y)[:, ::2])


@pytest.mark.beyond
@pytest.mark.parametrize("shape", [(40, 3), (100, 17), (300, 100)])
def test_bits_do_not_depend_on_repeating(torch, random, shape):
    x = torch.from_numpy(abs(random.standard_normal(shape)).astype("float32"))
    y = torch.from_numpy(random.standard_normal(shape[1]).astype("float32"))
    whole = y.expand(shape).contiguous()
    assert (x**y).numpy().tobytes() == (x**whole).numpy().tobytes()
    assert torch.atan2(y, x).numpy().tobytes() == torch.atan2(whole, x).numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_softmax_of_short_lines(torch, random, bits_at_any_thread_count, length, dtype):
    for rows in (1, 2, 16, 17, 150):
        x = (random.standard_normal((rows, length)) * 5).astype(dtype)
        wide = x.astype("longdouble")
        shifted = wide - wide.max(1, keepdims=True)
        log = shifted - numpy.log(numpy.exp(shifted).sum(1, keepdims=True))
        given = placed(torch, x.reshape(-1), 1).view(rows, length)
        # Half a unit for the difference, which the exponential makes a relative error, and for each addition in a lane.
        eps = numpy.finfo(dtype).eps * (8 - shifted + length / 32)
        got = bits_at_any_thread_count(lambda given=given: torch.softmax(given, 1))
        got_log = bits_at_any_thread_count(lambda given=given: torch.log_softmax(given, 1))
        assert numpy.all(abs(got - numpy.exp(log)) <= eps * numpy.exp(log) + numpy.finfo(dtype).tiny)
        assert numpy.all(abs(got_log - log) <= eps)


@pytest.mark.parametrize("length", [3, 16, 33, 100, 700])
def test_lines_of_a_group_keep_to_themselves(torch, random, length):
    x = (random.standard_normal((40, length)) * 5).astype("float32")
    x[3, length // 2] = numpy.nan
    x[4] = -numpy.inf
    x[5, 0] = numpy.inf
    x[6, 1:] = -numpy.inf
    for function in (torch.softmax, torch.log_softmax):
        got = function(torch.from_numpy(x), 1).numpy()
        assert numpy.isnan(got[3:6]).all()
        assert got[6, 0] == (1 if function is torch.softmax else 0)
        assert numpy.isfinite(got[7:]).all()
        assert numpy.isfinite(got[:3]).all()
        usual = [i for i in range(40) if not 3 <= i <= 5]
        alone = numpy.concatenate([function(torch.from_numpy(x[i : i + 1].copy()), 1).numpy() for i in usual])
        assert got[usual].tobytes() == alone.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [15, 16, 31, 63, 64, 100, 4095, 16_385, 100_003])
def test_extremes_of_long_arrays(torch, random, bits_at_any_thread_count, count, dtype):
    x = random.standard_normal(count).astype(dtype)
    for offset in (0, 1, 3):
        given = placed(torch, x, offset)
        assert bits_at_any_thread_count(lambda given=given: given.max()) == x.max()
        assert bits_at_any_thread_count(lambda given=given: given.min()) == x.min()
    for at in {0, 1, count // 3, count // 2, count - 16 if count > 16 else 0, count - 2, count - 1}:
        y = x.copy()
        y[at] = 1e9
        assert torch.from_numpy(y).max() == y[at]
        y[at] = -1e9
        assert torch.from_numpy(y).min() == y[at]
        y[at] = numpy.nan
        assert torch.from_numpy(y).max().isnan()
        assert torch.from_numpy(y).min().isnan()
