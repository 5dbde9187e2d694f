"""Reading and writing where a mask holds."""

import numpy
import pytest
from oracle import check, check_error, check_out, module, sample, strided


def mask(shape, seed=0):
    return sample(shape, dtype="bool", seed=seed)


PAIRS = [
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((3, 4), (3, 1)),
    ((4,), (3, 4)),
    ((3, 1), (1, 4)),
    ((), ()),
    ((3,), ()),
    ((0, 4), (4,)),
]


@pytest.mark.parametrize(("shape", "shape_of_mask"), PAIRS)
def test_masked(shape, shape_of_mask):
    where = mask(shape_of_mask)
    check("masked_fill", sample(shape), where, 2.5)
    check("masked_fill", sample(shape), where, numpy.array(1.5))
    check("masked_fill", strided(sample(shape)), strided(where), -1, method=True)
    check("masked_select", sample(shape), where)
    check("masked_select", strided(sample(shape)), strided(where), method=True)
    check("masked_scatter", sample(shape), where, sample((20,), seed=1))
    check("masked_scatter", strided(sample(shape)), strided(where), strided(sample((4, 5), seed=1)), method=True)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32"])
def test_dtypes(dtype):
    x, where = sample((3, 4), dtype=dtype), mask((3, 4))
    check("masked_fill", x, where, 1)
    check("masked_select", x, where)
    check("masked_scatter", x, where, sample((12,), dtype=dtype, seed=1))
    check("masked_fill", sample((3, 4), dtype="int64"), where, 1.9)


@pytest.mark.parametrize("where", [numpy.zeros((3, 4), bool), numpy.ones((3, 4), bool)])
def test_none_and_all(where):
    check("masked_fill", sample((3, 4)), where, 2.5)
    check("masked_select", sample((3, 4)), where)
    check("masked_scatter", sample((3, 4)), where, sample((12,), seed=1))


def test_in_place():
    for shape in ((3, 4), (4,), (3, 1), ()):
        check("masked_fill_", sample((3, 4)), mask(shape), 2.5, method=True)
        check("masked_fill_", sample((3, 4)), mask(shape), numpy.array(2.5), method=True)
        check("masked_scatter_", strided(sample((3, 4))), mask(shape), sample((12,), seed=1), method=True)


def test_large():
    x, where = sample((300, 257)), mask((300, 257))
    check("masked_fill", x, where, 0.0, second=False)
    check("masked_select", x, where, second=False)
    check("masked_scatter", strided(x), strided(where), x, second=False)


def test_out():
    check_out("masked_select", sample((3, 4)), mask((3, 4)))


BAD = [
    ("masked_fill", ((3,), sample((3,), dtype="int64"), 1.0), "boolean masks"),
    ("masked_fill", ((3,), mask((2,)), 1.0), "must match the size"),
    ("masked_fill", ((3,), mask((3,)), sample((1,))), "0-dimensional value tensor, but got tensor with 1 dimension(s)"),
    ("masked_fill_", ((3,), mask((2, 3)), 1.0), "output with shape [3] doesn't match the broadcast shape [2, 3]"),
    ("masked_select", ((3,), sample((3,), dtype="uint8")), "masked_select"),
    ("masked_scatter", ((3,), numpy.ones(3, bool), sample((2,))), "source < number of ones in mask"),
    (
        "masked_scatter",
        ((3,), mask((3,)), sample((3,), dtype="float32")),
        "expected self and source to have same dtypes",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "words"), BAD)
def test_bad_arguments(name, arguments, words):
    shape, *rest = arguments
    check_error(name, sample(shape), *rest, match=words, method=True)


# ------------------------------------------------------------------------------------------------------------- nonzero
@pytest.mark.parametrize("shape", [(3, 4), (5,), (), (0, 3), (2, 3, 2)])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float64"])
def test_nonzero(shape, dtype):
    x = numpy.where(mask(shape), sample(shape, dtype=dtype), numpy.zeros((), dtype))
    check("nonzero", x)
    check("nonzero", strided(x), method=True)
    check("nonzero", x, kwargs={"as_tuple": True})
    check("nonzero", x, kwargs={"as_tuple": False}, method=True)
    check("argwhere", x)
    check("where", x)


def test_nan_is_not_zero():
    check("nonzero", numpy.array([0.0, numpy.nan, -0.0]))


def test_nonzero_as_a_key():
    x = module.from_numpy(sample((3, 4)))
    chosen = x[module.where(x > 0)]
    assert numpy.array_equal(chosen.numpy(), sample((3, 4))[sample((3, 4)) > 0])
