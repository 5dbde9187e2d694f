"""Matrix products of every size class and layout, with one thread and with two."""

import numpy
import pytest

import clew

SIZES = [
    (3, 5, 0),  # an empty sum
    (1, 1, 1000),
    (1, 300, 260),
    (2, 7, 129),
    (8, 9, 1500),
    (33, 31, 1025),  # thin, since its lines are long
    (9, 10, 64),
    (13, 48, 17),
    (24, 97, 333),
    (25, 100, 401),
    (101, 103, 99),
    (12, 32, 321),  # one step more than a block of the sum
    (193, 33, 130),  # one row more than a task, one column more than a panel
    (130, 1030, 70),
    (3080, 17, 40),  # more rows than are packed at once
    (20, 2060, 60),  # more columns
    (37, 250, 530),  # few rows: the smaller operand is packed
]


def by_columns(matrix):
    return matrix.t().contiguous().t()


def apart(matrix):
    """The same values with other elements between them."""
    rows, columns = matrix.shape
    wide = clew.full((2 * rows + 1, 3 * columns + 1), float("nan"), dtype=matrix.dtype)
    view = wide[1 : 2 * rows + 1 : 2, : 3 * columns : 3]
    view.copy_(matrix)
    return view


LAYOUTS = {"rows": lambda matrix: matrix, "columns": by_columns, "apart": apart}


@pytest.fixture
def two_threads():
    before = clew.get_num_threads()
    clew.set_num_threads(2)
    yield
    clew.set_num_threads(before)


@pytest.mark.beyond
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_product_is_right_and_has_the_same_bits_at_any_thread_count(size, dtype, two_threads):
    m, n, k = size
    rng = numpy.random.default_rng(m + n + k)
    left, right = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    expected = left.astype("float64") @ right.astype("float64")
    # Each sum has k terms of size 1: the error of adding them one by one is at most about k roundings of the sum.
    tolerance = 4 * (k + 1) * numpy.finfo(dtype).eps
    for a in LAYOUTS.values():
        for b in LAYOUTS.values():
            x, y = a(clew.tensor(left)), b(clew.tensor(right))
            clew.set_num_threads(2)
            with_two = (x @ y).numpy()
            clew.set_num_threads(1)
            with_one = (x @ y).numpy()
            numpy.testing.assert_allclose(with_two, expected, rtol=0, atol=tolerance)
            assert with_one.tobytes() == with_two.tobytes()


@pytest.mark.beyond
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_sum_with_a_product_is_right_in_any_layout_of_the_result(size):
    m, n, k = size
    rng = numpy.random.default_rng(m * n + k)
    left, right, start = rng.standard_normal((m, k)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
    expected = 0.5 * left @ right - 2.0 * start
    for layout in LAYOUTS.values():
        out = layout(clew.tensor(start))
        out.addmm_(clew.tensor(left), clew.tensor(right), beta=-2.0, alpha=0.5)
        numpy.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.beyond
def test_not_a_number_and_infinity_stay_in_their_rows_and_columns():
    left, right = numpy.ones((50, 400), "float32"), numpy.ones((400, 70), "float32")
    left[7, 390], right[3, 11] = numpy.nan, numpy.inf
    product = (clew.tensor(left) @ clew.tensor(right)).numpy()
    expected = numpy.full((50, 70), 400, "float32")
    expected[:, 11] = numpy.inf
    expected[7] = numpy.nan
    numpy.testing.assert_array_equal(product, expected)


@pytest.mark.beyond
@pytest.mark.parametrize("shape", [(7, 5, 6, 40), (3, 120, 130, 110), (2, 300, 200, 256), (40, 33, 1, 200)], ids=str)
def test_batches(shape, two_threads):
    count, m, n, k = shape
    rng = numpy.random.default_rng(0)
    left, right = rng.standard_normal((count, m, k)), rng.standard_normal((count, n, k))
    x, y = clew.tensor(left), clew.tensor(right).transpose(1, 2)
    with_two = clew.bmm(x, y).numpy()
    clew.set_num_threads(1)
    assert clew.bmm(x, y).numpy().tobytes() == with_two.tobytes()
    numpy.testing.assert_allclose(with_two, left @ right.transpose(0, 2, 1), rtol=1e-11, atol=1e-11)


@pytest.mark.beyond
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(16, 70, 300), (37, 250, 530), (64, 256, 784), (100, 513, 300)], ids=str)
def test_few_rows_have_the_bits_that_they_have_among_many(size, dtype):
    m, n, k = size
    rng = numpy.random.default_rng(m + n + k)
    x, w, bias, start = (clew.tensor(rng.standard_normal(s).astype(dtype)) for s in [(m, k), (n, k), (n,), (m, n)])
    many, more = (clew.cat([few, clew.zeros(2000, few.shape[1], dtype=few.dtype)]) for few in (x, start))

    def results(x, start):
        yield clew.nn.functional.linear(x, w)
        yield clew.nn.functional.linear(x, w, bias)
        yield clew.addmm(start, x, w.t(), beta=0.25, alpha=0.5)
        yield start.clone().addmm_(x, w.t())

    for few, among_many in zip(results(x, start), results(many, more), strict=True):
        assert few.numpy().tobytes() == among_many[:m].numpy().tobytes()
