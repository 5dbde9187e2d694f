"""Softmax and its logarithm."""

import numpy
import pytest
import torch as reference
from oracle import LARGE, check, check_error, check_out, sample, strided

INF = numpy.inf


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_along_each_axis(name):
    for dim in (0, 1, 2, -1):
        check(name, sample((2, 3, 4)), dim)
        check(name, strided(sample((2, 3, 4))), dim, method=True)
        check(name, numpy.broadcast_to(sample((3, 1)), (2, 3, 4)), dim, second=False)
        check(name, sample((2, 3, 4), dtype="float32"), dim, second=False)
    for shape in ((), (1,), (0,), (2, 0), (0, 2)):
        check(name, sample(shape), 0)
        check(name, sample(shape), -1)
    check(name, sample(LARGE), 1, second=False)
    check(name, sample(LARGE), 0, second=False)
    check(name, strided(sample(LARGE, dtype="float32")), 1, second=False)
    check(name, sample((2, 1000), dtype="float32") * 10, 1, second=False)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_large_and_infinite(name):
    check(name, sample((2, 5)) * 1000, 1)
    check(name, sample((2, 5), dtype="float32") * 1e30, 1, second=False)
    check(name, numpy.array([[-INF, 1.0, 2.0], [-INF, -INF, 0.0]]), 1, grad=False)
    check(name, numpy.array([[-INF, -INF], [INF, 1.0], [numpy.nan, 0.0]]), 1, grad=False)
    check(name, numpy.array([-INF, 1.0, 2.0]), 0, second=False)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_in_another_dtype(name):
    for dtype in ("float32", "int64", "bool"):
        check(name, sample((3, 4), dtype=dtype), 1, kwargs={"dtype": reference.float64}, second=False)
    check(name, sample((3, 4)), 1, kwargs={"dtype": None})
    check(name, sample((3, 4)), 1, reference.float32, second=False, rtol=1e-5)
    check_out(name, sample((2, 3)), 1)
    check_error(name, sample((3,), dtype="int64"), 0, match=name)
    check_error(name, sample((3,)), 1, error=IndexError, match=name)
    check_error(name, sample((3,)), error=TypeError, match="dim")
