"""Sums, products, extrema, truth: of all elements, over one axis, over several."""

import numpy
import pytest
import torch as reference
from oracle import ALL_DTYPES, LARGE, check, check_error, check_out, module, sample, strided, sweep

NAN = numpy.nan
AXES = [
    {"dim": 0},
    {"dim": 1},
    {"dim": -1, "keepdim": True},
    {"dim": (0, 2)},
    {"dim": (2, 0), "keepdim": True},
    {"dim": ()},
]


def samples(domain="real"):
    yield sample((2, 3, 4), domain)
    yield strided(sample((2, 3, 4), domain))
    yield numpy.broadcast_to(sample((3, 1), domain), (2, 3, 4))


# ------------------------------------------------------------------------------------------------------- sums and means
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("kwargs", AXES, ids=str)
def test_over_axes(name, kwargs):
    for array in samples():
        check(name, array, kwargs=kwargs)
        check(name, array, kwargs=kwargs, method=True)
    check(name, strided(sample((2, 3, 4), dtype="float32")), kwargs=kwargs)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_of_all(name):
    sweep(name, integers=name == "sum")
    check(name, sample((2, 3)), None, kwargs={"keepdim": True})
    check(name, sample((2, 3), dtype="float32"), kwargs={"dtype": reference.float64})
    check(name, sample((2, 3), dtype="int32"), kwargs={"dtype": reference.float32})
    check(name, sample((2, 3), dtype="int32"), 0, kwargs={"dtype": reference.float64})
    check(name, sample((2, 3)), kwargs={"axis": 1, "keepdims": True})
    check(name, sample((0, 3)), 0)
    check(name, sample((0, 3)), 1)
    check(name, numpy.array([1.0, numpy.inf, NAN]), second=False)
    check_out(name, sample((2, 3)), 1)


def test_sum_of_integers_is_int64():
    for dtype in ("bool", "uint8", "int32"):
        check("sum", sample((2, 3), dtype=dtype), 0)
    check("sum", numpy.full((3,), 2**31 - 1, dtype=numpy.int32))
    check("sum", sample((4,), dtype="int64"), kwargs={"dtype": reference.int32})


def test_mean_of_integers_is_refused():
    check_error("mean", sample((3,), dtype="int64"), match="mean")
    check_error("mean", sample((3,), dtype="bool"), 0, match="mean")


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "var", "any"])
def test_wrong_axes(name):
    check_error(name, sample((2, 3)), 2, error=IndexError, match=name)
    check_error(name, sample((2, 3)), -3, error=IndexError, match=name)
    if name != "prod":
        check_error(name, sample((2, 3)), (0, 0), match=name)


# ------------------------------------------------------------------------------------------------------------- products
def test_prod():
    sweep("prod", "nonzero", large=False)
    for array in samples("nonzero"):
        for kwargs in ({"dim": 0}, {"dim": -1, "keepdim": True}, {"dim": 1}):
            check("prod", array, kwargs=kwargs)
    check("prod", sample((2, 3), dtype="float32"), kwargs={"dtype": reference.float64})
    check("prod", sample((2, 3), dtype="int64"), 0, kwargs={"dtype": reference.float64})
    check("prod", sample((2, 0)), 1)
    check("prod", sample(()), 0)
    check("prod", sample(LARGE) * 0.01 + 1, 1, second=False)
    check_out("prod", sample((2, 3)), 1)


def with_zeros(*places):
    array = sample((3, 4), "nonzero")
    for place in places:
        array[place] = 0
    return array


@pytest.mark.parametrize("places", [[(0, 1)], [(1, 3), (2, 0)], [(0, 1), (0, 2)], [(1, 0), (1, 1), (1, 2)]], ids=str)
def test_prod_with_zeros_along_an_axis(places):
    for dim in (0, 1):
        check("prod", with_zeros(*places), dim)


def test_prod_of_all_with_a_zero():
    check("prod", with_zeros((1, 2)))
    check("prod", with_zeros((1, 2), (2, 2)), second=False)


def test_prod_of_two_zeros_has_a_second_derivative():
    """The derivative of x y z w by x and y is z w, also where x and y are 0 (PyTorch says 0)."""
    x = module.tensor([0.0, 3.0, 0.0, 5.0], dtype=module.float64, requires_grad=True)
    (slope,) = module.autograd.grad(x.prod(), x, create_graph=True)
    assert slope.tolist() == [0, 0, 0, 0]
    (again,) = module.autograd.grad(slope[0], x)
    assert again.tolist() == [0, 0, 15, 0]
    assert module.autograd.gradcheck(module.prod, x)
    assert module.autograd.gradgradcheck(module.prod, x)


# -------------------------------------------------------------------------------------------------------------- extrema
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_all(name):
    sweep_without_empty(name)
    check(name, numpy.array([2.0, 1.0, 2.0, 1.0]))
    check(name, numpy.array([1.0, NAN, 2.0]), second=False)
    check_error(name, sample((0,)), match=name)


def sweep_without_empty(name):
    for shape in ((), (1,), (7,), (3, 5), (2, 3, 4)):
        check(name, sample(shape))
        check(name, sample(shape, dtype="float32"), second=False)
    check(name, strided(sample((3, 5))))
    check(name, sample(LARGE), second=False)
    check(name, strided(sample(LARGE, dtype="float32")), second=False)
    for dtype in ("int64", "int32", "uint8", "bool"):
        check(name, sample((3, 5), dtype=dtype))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("kwargs", [{"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": -1}], ids=str)
def test_extrema_along_an_axis(name, kwargs):
    for array in samples():
        check(name, array, kwargs=kwargs)
    check(name, strided(sample(LARGE, dtype="float32")), kwargs=kwargs, second=False)
    for dtype in ALL_DTYPES:
        check(name, sample((3, 5), dtype=dtype), kwargs=kwargs, second=False)
    check(name, numpy.array([[1.0, NAN, 2.0, NAN], [4.0, 4.0, 4.0, 1.0]]), kwargs=kwargs, second=False)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_are_named(name):
    result = getattr(module.tensor([[1.0, 5.0], [7.0, 2.0]]), name)(dim=1)
    assert result.values is result[0]
    assert result.indices is result[1]
    check(name, sample(()), 0)
    check(name, sample((0, 3)), 1)
    check_error(name, sample((3, 0)), 1, error=IndexError, match=name)
    values, indices = module.zeros(2), module.zeros(2, dtype=module.int64)
    getattr(module, name)(module.tensor([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
    assert values.tolist() == ([5, 7] if name == "max" else [1, 2])


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_two(name):
    check(name, sample((3, 4), seed=1), sample((4,), seed=2))
    check(name, sample((3,)), sample((3,)))
    check_out(name, sample((3,), seed=1), sample((3,), seed=2))


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extrema_over_axes_share_their_gradient(name):
    check(name, numpy.array([[2.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), 1)
    check(name, numpy.array([[2.0, 1.0, 2.0], [1.0, 1.0, 1.0]]))
    check(name, numpy.array([1.0, NAN, 2.0]), grad=False)
    check_error(name, sample((0,)), match=name)
    check_error(name, sample((2, 0)), 1, error=IndexError, match=name)
    check_out(name, sample((2, 3)), 1)
    for dtype in ALL_DTYPES:
        check(name, sample((3, 5), dtype=dtype), (0, 1), second=False)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_where_extrema_are(name):
    for dtype in ALL_DTYPES[1:]:
        check(name, sample((3, 5), dtype=dtype))
        for dim in (0, 1, -1):
            check(name, sample((3, 5), dtype=dtype), dim)
            check(name, strided(sample((3, 5), dtype=dtype)), dim, kwargs={"keepdim": True})
    check(name, strided(sample((3, 4, 5))))
    check(name, sample((2, 3)), kwargs={"keepdim": True})
    check(name, sample(()))
    check(name, sample(()), 0)
    check(name, sample((0, 3)), 1)
    check(name, numpy.array([2.0, 1.0, 2.0, 1.0]))
    check(name, numpy.array([1.0, NAN, 3.0, NAN]))
    check(name, sample(LARGE))
    check_out(name, sample((2, 3)), 1)
    check_error(name, sample((0,)), error=IndexError, match=name)
    check_error(name, sample((2, 0)), 1, error=IndexError, match=name)
    check_error(name, sample((2,), dtype="bool"), match=name)


# ---------------------------------------------------------------------------------------------------------------- truth
@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(name):
    for dtype in ALL_DTYPES:
        for array in (sample((3, 4), dtype=dtype), numpy.zeros((3, 4), dtype), numpy.eye(3, 4, dtype=dtype)):
            check(name, array)
            check(name, array, 0)
            check(name, strided(array), -1, kwargs={"keepdim": True})
            check(name, array, kwargs={"dim": (0, 1)})
            check(name, array, kwargs={"dim": ()})
    check(name, sample((0,), dtype="bool"))
    check(name, sample((0, 3), dtype="bool"), 0)
    check(name, numpy.array([0.0, NAN]))
    check_out(name, sample((2, 3), dtype="bool"), 1)


def test_count_nonzero():
    for dtype in ALL_DTYPES:
        check("count_nonzero", numpy.eye(3, 4, dtype=dtype))
        check("count_nonzero", numpy.eye(3, 4, dtype=dtype), 1)
        check("count_nonzero", strided(numpy.eye(3, 4, dtype=dtype)), kwargs={"dim": (0, 1)})


@pytest.mark.parametrize("name", ["mean", "max", "min"])
def test_out_of_a_reduction_to_one_number(name):
    check_out(name, sample((2, 3)))
