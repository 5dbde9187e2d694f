"""Order along an axis, medians, places in what is sorted."""

import numpy
import pytest
from oracle import check, check_error, check_out, module, sample, strided

SHAPES = [((5,), 0), ((4, 6), 1), ((4, 6), 0), ((2, 3, 4), -2), ((), 0), ((0,), 0), ((3, 0), 0), ((1,), -1)]


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(shape, dim, descending):
    check("sort", sample(shape), dim, descending)
    check("sort", strided(sample(shape)), dim, descending, method=True)
    check("sort", sample(shape), kwargs={"dim": dim, "descending": descending, "stable": True})
    check("argsort", sample(shape), dim, descending)
    check("argsort", sample(shape), kwargs={"dim": dim, "stable": True}, method=True)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32"])
def test_equal_elements_keep_their_order(dtype):
    x = sample((6, 40), dtype=dtype) if dtype != "float32" else sample((6, 40)).round().astype(dtype)
    for descending in (False, True):
        check("sort", x, kwargs={"stable": True, "descending": descending}, grad=False)
        check("argsort", x, kwargs={"stable": True, "descending": descending}, grad=False)


NAN = numpy.array([[3.0, numpy.nan, 1.0, numpy.inf], [numpy.nan, -numpy.inf, 0.0, numpy.nan]])


def test_nan_comes_last():
    for name in ("sort", "argsort"):
        check(name, NAN, kwargs={"stable": True}, grad=False)
        check(name, NAN, kwargs={"stable": True, "descending": True}, grad=False)
    check("topk", NAN[:1], 2, grad=False)
    check("kthvalue", NAN[:1], 4, grad=False)


def test_msort():
    for shape in ((5,), (4, 3), ()):
        check("msort", sample(shape))


@pytest.mark.parametrize(
    ("shape", "k", "dim"), [((5,), 3, 0), ((4, 6), 2, 1), ((4, 6), 4, 0), ((4, 6), 0, 1), ((), 1, 0), ((0, 3), 2, 1)]
)
def test_topk(shape, k, dim):
    for largest in (True, False):
        check("topk", sample(shape), k, dim, largest)
        check("topk", strided(sample(shape)), k, dim, largest, method=True)
        check("topk", sample(shape).astype("float32"), k, kwargs={"dim": dim, "largest": largest}, second=False)


def test_topk_unsorted_has_the_same_elements():
    values, indices = module.from_numpy(sample((100,))).topk(10, sorted=False)
    assert sorted(values.tolist()) == sorted(numpy.sort(sample((100,)))[-10:].tolist())
    assert numpy.array_equal(sample((100,))[indices.numpy()], values.numpy())


@pytest.mark.parametrize(
    ("shape", "k", "dim"), [((5,), 3, 0), ((4, 6), 6, 1), ((4, 6), 1, 0), ((), 1, 0), ((0, 3), 2, 1)]
)
def test_kthvalue(shape, k, dim):
    for keepdim in (False, True):
        check("kthvalue", sample(shape), k, dim, keepdim)
        check("kthvalue", strided(sample(shape)), k, dim, keepdim, method=True)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median(name):
    for shape in ((5,), (4, 3), (), (0,), (2, 3, 4)):
        check(name, sample(shape))
        check(name, strided(sample(shape)), method=True)
    check(name, sample((7,), dtype="int64"))
    check(name, numpy.array([2.0, 1.0, 2.0, 3.0, 2.0]))
    check(name, NAN)
    for shape, dim in (((5,), 0), ((4, 6), 1), ((4, 5), 0), ((), 0), ((0, 3), 1)):
        for keepdim in (False, True):
            check(name, sample(shape), dim, keepdim)
            check(name, strided(sample(shape)), dim, keepdim, method=True)
    check(name, NAN[:1], 1, grad=False)


def test_large():
    x = sample((300, 257))
    for name, *arguments in (("sort", 1), ("sort", 0), ("topk", 20, 0), ("kthvalue", 100, 1), ("median", 0)):
        check(name, x, *arguments, second=False)


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    row = numpy.array([1.0, 2.0, 2.0, 5.0])
    values = numpy.array([[0.0, 2.0], [5.0, 9.0]])
    options = {"right": right}
    check("searchsorted", row, values, kwargs=options, grad=False)
    check("searchsorted", row, values, kwargs={**options, "out_int32": True}, grad=False)
    check("searchsorted", row, 2.0, kwargs=options, grad=False)
    check("searchsorted", row, numpy.zeros(0), kwargs=options, grad=False)
    check("searchsorted", numpy.sort(sample((2, 5))), sample((2, 3), seed=1), kwargs=options, grad=False)
    check("searchsorted", numpy.sort(sample((2, 3, 5))), sample((2, 3, 2), seed=1), kwargs=options, grad=False)
    check("searchsorted", row.astype("int64"), values.astype("int64"), kwargs=options)
    check("bucketize", values, row, kwargs=options, grad=False)
    check("bucketize", 2.0, row, kwargs=options, grad=False)


def test_searchsorted_by_side():
    row = numpy.array([1.0, 2.0, 2.0, 5.0])
    for side in ("left", "right"):
        check("searchsorted", row, row, kwargs={"side": side}, grad=False)
    check_error("searchsorted", row, row, kwargs={"side": "left", "right": True}, match="opposites")


def test_results_have_names():
    x = module.from_numpy(sample((3, 4)))
    for result in (x.sort(), x.topk(2), x.kthvalue(1), x.median(0)):
        values, indices = result
        assert result.values is values
        assert result.indices is indices
        assert indices.dtype == module.int64


def test_what_is_saved():
    x = module.from_numpy(sample((3, 4))).requires_grad_()
    result = x.sort()
    assert result.values.grad_fn is not None
    assert result.indices.grad_fn is None
    assert not result.indices.requires_grad
    (slot,) = result.values.grad_fn.saved
    assert slot.name == "indices"
    assert result.values.grad_fn._saved_indices is result.indices


def test_out():
    check_out("msort", sample((3, 4)))
    values, indices = module.zeros(3, 2).double(), module.zeros(3, 2).long()
    result = module.topk(module.from_numpy(sample((3, 4))), 2, out=(values, indices))
    assert result[0] is values
    assert numpy.array_equal(values.numpy(), -numpy.sort(-sample((3, 4)))[:, :2])


BAD = [
    ("sort", (2, 3), (2,), IndexError, "Dimension out of range"),
    ("topk", (3,), (4,), RuntimeError, "selected index k out of range"),
    ("topk", (3,), (-1,), RuntimeError, "selected index k out of range"),
    ("kthvalue", (3,), (0,), RuntimeError, "selected number k out of range for dimension 0"),
    ("kthvalue", (3,), (4,), RuntimeError, "selected number k out of range for dimension 0"),
    ("kthvalue", (0,), (1,), IndexError, "Expected reduction dim 0 to have non-zero size"),
    ("median", (0, 3), (0,), IndexError, "Expected reduction dim 0 to have non-zero size"),
]


@pytest.mark.parametrize(("name", "shape", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, shape, arguments, error, words):
    check_error(name, sample(shape), *arguments, error=error, match=words, method=True)


# -------------------------------------------------------------------------------------------------------------- unique
@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_unique(name):
    for x in (sample((4, 5), dtype="int64"), sample((6,)).round(), sample((0,)), sample((3, 4), dtype="bool")):
        for inverse in (False, True):
            for counts in (False, True):
                options = {"return_inverse": inverse, "return_counts": counts}
                check(name, x, kwargs=options, grad=False)
    rows = numpy.array([[1, 2], [1, 2], [0, 3], [1, 2]])
    check(name, rows, kwargs={"dim": 0, "return_inverse": True, "return_counts": True})
    check(name, rows.T.copy(), kwargs={"dim": 1, "return_inverse": True, "return_counts": True}, method=True)
