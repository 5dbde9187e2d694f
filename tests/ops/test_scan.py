"""Running sums and products."""

import numpy
import pytest
import torch as reference
from oracle import LARGE, check, check_error, check_out, module, sample, strided


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(name):
    for dim in (0, 1, 2, -1):
        for array in (sample((2, 3, 4), "nonzero"), strided(sample((2, 3, 4), "nonzero"))):
            check(name, array, dim)
            check(name, array.astype("float32"), dim, second=False)
        check(name, numpy.broadcast_to(sample((3, 1), "nonzero"), (2, 3, 4)), dim, second=False)
    for dtype in ("bool", "uint8", "int32", "int64"):
        check(name, sample((3, 4), dtype=dtype), 1)
    check(name, sample((3,), dtype="int32"), 0, kwargs={"dtype": reference.float64})
    check(name, sample((3,), dtype="float32"), 0, kwargs={"dtype": reference.float64})
    check(name, sample((3,)), kwargs={"axis": 0}, method=True)
    check(name, sample(()), 0)
    check(name, sample((0,)), 0)
    check(name, sample((2, 0)), 0)
    check(name, numpy.array([1.0, numpy.nan, 2.0]), 0, second=False)
    check_out(name, sample((2, 3)), 1)
    check_error(name, sample((2, 3)), 2, error=IndexError, match=name)
    check_error(name, sample((2, 3)), error=TypeError, match="dim")


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_scans_in_place(name):
    check(name, sample((3, 4), "nonzero"), 0, method=True)
    check(name, strided(sample((3, 4), "nonzero")), 1, method=True)
    check(name, sample((4,), dtype="int32"), 0, method=True)


def test_long_scans():
    check("cumsum", sample(LARGE), 1, second=False)
    check("cumsum", sample(LARGE), 0, second=False)
    check("cumprod", sample(LARGE) * 0.01 + 1, 1, second=False)


@pytest.mark.parametrize("places", [[0], [2], [4], [1, 3], [0, 1], [0, 2, 4], [3, 4]], ids=str)
def test_products_beside_zeros(places):
    row = sample((5,), "nonzero")
    row[places] = 0
    rows = sample((3, 5), "nonzero")
    rows[1, places] = 0
    check("cumprod", row, 0)
    check("cumprod", rows, 1)
    check("cumprod", strided(rows), 0)
    assert module.autograd.gradgradcheck(lambda x: x.cumprod(0), module.from_numpy(row).requires_grad_())
