"""Variance, deviation, norms, log-sum-exp."""

import numpy
import pytest
import torch as reference
from oracle import LARGE, check, check_error, check_out, sample, strided

import clew

NAN, INF = numpy.nan, numpy.inf
WAYS = [
    ((), {}),
    ((False,), {}),
    ((), {"unbiased": False}),
    ((0,), {}),
    ((1, False), {}),
    ((1, True, True), {}),
    ((), {"dim": -1, "keepdim": True}),
    (((0, 1),), {}),
    ((None,), {"keepdim": True}),
    ((), {"correction": 0}),
    ((0,), {"correction": 2}),
    (((0, 1),), {"correction": 0.5, "keepdim": True}),
]


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize(("args", "kwargs"), WAYS, ids=str)
def test_variance(name, args, kwargs):
    check(name, sample((3, 4)), *args, kwargs=kwargs)
    check(name, strided(sample((3, 4))), *args, kwargs=kwargs)
    check(name, sample((3, 4), dtype="float32") + 1000, *args, kwargs=kwargs, second=False, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["var", "std"])
def test_variance_at_the_edge(name, recwarn):
    check(name, sample(LARGE), 1, second=False)
    check(name, numpy.full((3,), 2.0), second=False)
    check(name, sample((1,)), grad=False)
    check(name, sample(()), grad=False)
    check(name, sample((0,)), grad=False)
    check(name, sample((2,)), kwargs={"correction": 2}, grad=False)
    check(name, numpy.array([1.0, NAN]), second=False)
    check_error(name, sample((3,), dtype="int64"), match=name)
    check_out(name, sample((2, 3)), 1)
    recwarn.clear()


@pytest.mark.parametrize("order", [0, 0.5, 1, 1.5, 2, 3, 2.7, INF, -INF, -1], ids=str)
@pytest.mark.parametrize("kwargs", [{}, {"dim": 0}, {"dim": -1, "keepdim": True}, {"dim": (0, 1)}], ids=str)
def test_norms(order, kwargs):
    node = order != 0
    check("norm", sample((3, 4), "nonzero"), order, kwargs=kwargs, node=node)
    check("norm", strided(sample((3, 4), "nonzero", "float32")), order, kwargs=kwargs, node=node, second=False)


@pytest.mark.parametrize("order", [1, 1.5, 2, 3, INF], ids=str)
def test_norms_have_gradient_zero_at_zero(order):
    check("norm", numpy.zeros((3,)), order, second=False)
    check("norm", numpy.array([[0.0, 0.0], [3.0, -3.0]]), order, 1, second=False)
    check("norm", numpy.array([0.0, -2.0, 2.0]), order, second=False)


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3, float("inf")])
def test_norms_are_no_views(order):
    x = clew.linspace(-1, 2, 6).reshape(2, 3)
    for dim in (None, 0, 1):
        assert not clew.linalg.vector_norm(x, order, dim)._is_view()


def test_norm_by_other_arguments():
    check("norm", sample((3, 4)))
    check("norm", sample((3, 4)), "fro")
    check("norm", sample((3, 4)), None)
    check("norm", sample((3, 4)), "fro", (0, 1))
    check("norm", sample((3, 4)), method=True, kwargs={"p": 1, "dim": 1})
    check("norm", sample((3, 4), dtype="float32"), kwargs={"dtype": reference.float64})
    check("norm", sample((0,)))
    check("norm", sample(()), 3)
    check("norm", sample(LARGE), 2, 1, second=False)
    check("norm", numpy.array([1.0, NAN]), second=False)
    check("norm", numpy.array([1.0, INF]), grad=False)
    check_error("norm", sample((3,), dtype="int64"), match="norm")
    check_error("norm", sample((3,)), "abc", match="abc")
    check_error("norm", sample((0,)), INF, match="norm")


@pytest.mark.parametrize("kwargs", [{"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": (0, 1)}], ids=str)
def test_logsumexp(kwargs):
    for array in (sample((3, 4)), strided(sample((3, 4))), sample((3, 4)) + 1000, sample((3, 4)) - 1000):
        check("logsumexp", array, kwargs=kwargs)
    check("logsumexp", sample(LARGE, dtype="float32"), kwargs=kwargs, second=False)
    check("logsumexp", sample((3, 4), dtype="int64"), kwargs=kwargs)
    check("logsumexp", numpy.array([[-INF, -INF], [INF, 1.0], [-INF, 2.0], [NAN, 1.0]]), kwargs=kwargs, grad=False)


def test_logsumexp_at_the_edge():
    check("logsumexp", sample((2, 0)), 1)
    check("logsumexp", sample(()), 0)
    check("logsumexp", numpy.array([-INF, 2.0, 3.0]), 0)
    check_out("logsumexp", sample((2, 3)), 1)
    check_error("logsumexp", sample((3,)), 1, error=IndexError, match="logsumexp")
    check_error("logsumexp", sample((3,)), error=TypeError, match="dim")
