"""Indexing, sorting and searching of more elements than one vector, block or piece holds."""

import numpy
import pytest

DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool"]


def numbers(random, shape, dtype):
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype.startswith("float"):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 200, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (40, 33), (260, 250)])
def test_gather_and_scatter(torch, random, bits_at_any_thread_count, shape, dtype):
    x = numbers(random, shape, dtype)
    source = numbers(random, shape, dtype)
    for axis in (0, 1):
        index = random.integers(0, shape[axis], shape)
        a, i, s = torch.from_numpy(x), torch.from_numpy(index), torch.from_numpy(source)
        across = torch.from_numpy(numpy.ascontiguousarray(index.T)).T
        # The last write stays where an index repeats, and sums are made in the order of the index.
        places = list(numpy.indices(shape))
        places[axis] = index
        written, added = x.copy(), x.copy()
        written[tuple(places)] = source
        numpy.add.at(added, tuple(places), source)
        for given in (i, across):
            assert numpy.array_equal(
                bits_at_any_thread_count(lambda: a.gather(axis, given)),  # noqa: B023
                numpy.take_along_axis(x, index, axis),
            )
            assert numpy.array_equal(bits_at_any_thread_count(lambda: a.scatter(axis, given, s)), written)  # noqa: B023
            assert numpy.array_equal(bits_at_any_thread_count(lambda: a.scatter_add(axis, given, s)), added)  # noqa: B023


def test_the_first_index_out_of_bounds_is_named(torch):
    x = torch.zeros(3, 50)
    for rows, at in ((1000, 41_000), (3, 5), (2000, 99_999)):
        index = torch.zeros(rows, 50, dtype=torch.int64)
        index.view(-1)[at:] = 50
        index.view(-1)[at] = 57
        with pytest.raises(RuntimeError, match=r"index 57 is out of bounds for dimension 1 with size 50"):
            x.expand(3, 50).repeat(rows, 1).gather(1, index)
        with pytest.raises(RuntimeError, match=r"index 57 is out of bounds"):
            torch.zeros(rows, 50).scatter_add(1, index, torch.ones(rows, 50))
        index.view(-1)[at] = -1
        with pytest.raises(RuntimeError, match=r"index -1 is out of bounds"):
            x.repeat(rows, 1).gather(1, index)


def keys_of(x, descending):
    """Ranks such that a stable sort of them is the order wanted: NaN is the greatest, zeros are equal."""
    ranks = numpy.unique(x, return_inverse=True)[1].reshape(x.shape)  # NaN last, -0 with 0
    return -ranks if descending else ranks


def awkward(random, shape, dtype):
    x = numbers(random, shape, dtype)
    flat = x.reshape(-1)
    if dtype.startswith("float"):
        for value in (numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, 1.0, 5e-324):
            flat[random.integers(0, flat.size, 1 + flat.size // 20)] = value
    elif dtype in ("int32", "int64"):
        limits = numpy.iinfo(dtype)
        flat[random.integers(0, flat.size, 1 + flat.size // 10)] = limits.min
        flat[random.integers(0, flat.size, 1 + flat.size // 10)] = limits.max
        flat[random.integers(0, flat.size, 1 + flat.size // 4)] *= -1
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [1, 2, 16, 63, 64, 65, 300, 5000, 70_000])
def test_sorting_keeps_the_order_of_equals(torch, random, bits_at_any_thread_count, length, dtype):
    x = awkward(random, (3, length), dtype)
    for given in (torch.from_numpy(x), torch.from_numpy(numpy.ascontiguousarray(x.T)).T):
        for descending in (False, True):
            order = bits_at_any_thread_count(
                lambda: given.sort(dim=1, descending=descending, stable=True).indices  # noqa: B023
            )
            want = keys_of(x, descending).argsort(1, kind="stable")
            assert numpy.array_equal(order, want)
            values = given.sort(dim=1, descending=descending, stable=True).values.numpy()
            assert values.tobytes() == numpy.take_along_axis(x, want, 1).tobytes(), "zeros and NaN keep their bits"


@pytest.mark.beyond  # PyTorch does not say which of equals it gives
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("length", [16, 80, 100, 1000, 5003])
def test_the_best_of_many(torch, random, length, dtype):
    x = awkward(random, (4, length), dtype)
    for k in (1, 3, 5, 40, 64):
        if k > length:
            continue
        for largest in (True, False):
            want = keys_of(x, largest).argsort(1, kind="stable")[:, :k]
            for given in (torch.from_numpy(x), torch.from_numpy(numpy.ascontiguousarray(x.T)).T):
                values, places = given.topk(k, 1, largest)
                assert numpy.array_equal(places.numpy(), want)
                assert values.numpy().tobytes() == numpy.take_along_axis(x, want, 1).tobytes()


def test_the_best_where_all_are_nan_or_equal(torch):
    for value in (numpy.nan, 1.0):
        x = torch.full((200,), value)
        for largest in (True, False):
            assert x.topk(3, 0, largest).indices.tolist() == [0, 1, 2]
    x = torch.full((200,), numpy.nan)
    x[150:152] = torch.tensor([3.0, -1.0])
    assert x.topk(2, 0, False).indices.tolist() == [151, 150]
    assert x.topk(2, 0, True).indices.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (100,), (70_001,), (300, 257), (40, 50, 60), (1, 90_000), (90_000, 1)])
def test_places_of_what_is_not_zero(torch, random, bits_at_any_thread_count, shape, dtype):
    for share in (0.0, 0.03, 0.5, 1.0):
        x = (random.random(shape) < share).astype(dtype)
        want = numpy.stack(numpy.nonzero(x), 1)
        assert numpy.array_equal(bits_at_any_thread_count(lambda: torch.from_numpy(x).nonzero()), want)  # noqa: B023
        assert torch.from_numpy(x).count_nonzero().item() == numpy.count_nonzero(x)
        if x.ndim == 2:
            across = torch.from_numpy(numpy.ascontiguousarray(x.T)).T
            assert numpy.array_equal(across.nonzero().numpy(), want)
    assert torch.tensor(2.0).nonzero().shape == (1, 0)
    assert torch.tensor(0.0).nonzero().shape == (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 5, 1000, 100_000])
def test_elements_of_a_vector(torch, random, bits_at_any_thread_count, count, dtype):
    x = numbers(random, 2 * count, dtype)
    every, second = torch.from_numpy(x), torch.from_numpy(x)[::2]
    places = random.integers(-count, count, (count, 1) if count == 5 else count)
    index = torch.from_numpy(places)
    assert numpy.array_equal(bits_at_any_thread_count(lambda: every[index]), x[places])
    assert numpy.array_equal(bits_at_any_thread_count(lambda: second[index]), x[::2][places])
    assert numpy.array_equal(bits_at_any_thread_count(lambda: second.take(index)), x[::2][places])
    for bad in (count, -count - 1):
        wrong = places.copy()
        wrong[-1] = bad
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for dimension 0 with size {count}"):
            second[torch.from_numpy(wrong)]
