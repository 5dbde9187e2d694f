"""Selection, limits, interpolation, and products and quotients that are added."""

import numpy
import pytest
from oracle import ALL_PAIRS, check, check_error, check_out, module, sample, strided

MASK = sample((3, 4), dtype="bool", seed=5)


def test_where():
    check("where", MASK, sample((3, 4)), sample((3, 4), seed=1))
    check("where", MASK, sample((4,)), sample((3, 1), seed=1))
    check("where", MASK[0], sample((3, 4)), sample((), seed=1))
    check("where", strided(MASK), strided(sample((3, 4))), sample((3, 4), seed=1))
    check("where", MASK, sample((2, 3, 4)), 0.0)
    check("where", MASK, 1.5, sample((3, 4)))
    check("where", MASK, 1, 0)
    check("where", MASK, 1.0, 0)
    check("where", MASK, True, False)
    check("where", sample((0, 4), dtype="bool"), sample((4,)), sample((0, 4)))
    check("where", sample((), dtype="bool"), sample(()), sample(()))
    check("where", sample((300, 257), dtype="bool"), sample((300, 257)), sample((257,)), second=False)
    for left, right in ALL_PAIRS:
        check("where", MASK, sample((3, 4), dtype=left), sample((4,), dtype=right), second=False)
        check("where", MASK, sample((3, 4), dtype=left), sample((), dtype=right), second=False)
    check_out("where", MASK, sample((3, 4)), sample((4,)))


def test_where_as_a_method():
    x, y = module.from_numpy(sample((3, 4))), module.from_numpy(sample((4,), seed=1))
    mask = module.from_numpy(MASK.copy())
    assert (x.where(mask, y) == module.where(mask, x, y)).all()
    flags = module.from_numpy(sample((3, 4), dtype="bool"))
    assert (flags.where(mask, ~flags) == module.where(mask, flags, ~flags)).all()


def test_where_wants_a_mask():
    check_error(
        "where",
        sample((3,), dtype="int64"),
        sample((3,)),
        sample((3,)),
        match="expected condition to be a boolean tensor",
    )


LIMITS = [(-0.5, 0.7), (None, 0.3), (0.1, None), (-1, 1), (0.5, -0.5), (0, 10)]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_clamp_by_numbers(limits):
    low, high = limits
    for shape in ((), (7,), (3, 5), (0, 2)):
        check("clamp", sample(shape), low, high)
        check("clamp", sample(shape, dtype="float32"), low, high, second=False)
    for dtype in ("int64", "int32"):
        check("clamp", sample((3, 5), dtype=dtype), low, high)
    check("clamp", strided(sample((3, 5))), kwargs={"min": low, "max": high}, method=True)
    check("clamp_", sample((3, 5)), low, high, method=True)
    check("clamp", numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.1, -0.5, 0.7]), low, high)
    check("clamp", sample((300, 257)), low, high, second=False)
    check_out("clamp", sample((3, 5)), low, high)


def test_clamp_keeps_the_gradient_at_the_limits():
    check("clamp", numpy.array([-1.0, -0.5, 0.0, 0.5, 1.0]), -0.5, 0.5)


def test_clamp_by_tensors():
    x, low, high = sample((3, 4)), sample((4,), seed=1) - 0.5, sample((3, 1), seed=2) + 0.5
    check("clamp", x, low, high)
    check("clamp", x, None, high)
    check("clamp", x, kwargs={"min": low})
    check("clamp", x, high, low)
    check("clamp", sample((), seed=4), sample((), seed=1), sample((), seed=2))
    check("clamp", sample((3, 4), dtype="int64"), sample((4,), dtype="int64", seed=1), None)
    check(
        "clamp",
        numpy.array([numpy.nan, 1.0, 2.0]),
        numpy.array([0.0, numpy.nan, 0.0]),
        numpy.array([1.0, 3.0, numpy.nan]),
        second=False,
    )
    check("clamp_", x, low, high, method=True)


def test_clamp_wants_a_limit():
    check_error("clamp", sample((3,)), match="At least one of 'min' or 'max' must not be None")


@pytest.mark.parametrize("name", ["clamp_min", "clamp_max"])
def test_one_limit(name):
    check(name, sample((3, 4)), 0.2)
    check(name, sample((3, 4)), 1)
    check(name, sample((3, 4), dtype="int64"), 1)
    check(name, sample((3, 4), dtype="int64"), 1.5)
    check(name, sample((3, 4)), sample((4,), seed=1))
    check(name, numpy.array([1.0, 2.0, numpy.nan]), numpy.array([1.0, numpy.nan, 0.0]), second=False)
    check(name + "_", sample((3, 4)), 0.2, method=True)
    check(name, numpy.array([0.2, 0.3]), 0.2)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0, 1.7])
def test_lerp_by_a_number(weight):
    check("lerp", sample((3, 4)), sample((4,), seed=1), weight)
    check("lerp", sample((3, 4), dtype="float32"), sample((3, 4), dtype="float32", seed=1), weight)
    check("lerp_", sample((3, 4)), sample((4,), seed=1), weight, method=True)


def test_lerp_by_a_tensor():
    check("lerp", sample((3, 4)), sample((4,), seed=1), sample((3, 1), seed=2))
    check("lerp", strided(sample((3, 4))), sample((3, 4), seed=1), sample((), seed=2))
    check("lerp_", sample((3, 4)), sample((4,), seed=1), sample((3, 1), seed=2), method=True)
    check_out("lerp", sample((3, 4)), sample((4,), seed=1), sample((3, 1), seed=2))
    check_error("lerp", sample((3,)), sample((3,), dtype="float32"), 0.5, match="expected dtype")


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("value", [1, 0.5, -2])
def test_added_products_and_quotients(name, value):
    a, b = sample((3, 1), seed=1), sample((4,), "nonzero", seed=2)
    check(name, sample((3, 4)), a, b, kwargs={"value": value})
    check(name, sample((2, 1, 4)), strided(sample((3, 4), seed=1)), b, kwargs={"value": value})
    check(name, sample(()), sample((), seed=1), sample((), "nonzero", seed=2), kwargs={"value": value})
    check(name, sample((0, 4)), sample((4,), seed=1), b, kwargs={"value": value})
    check(name + "_", sample((3, 4)), a, b, kwargs={"value": value}, method=True)
    check_out(name, sample((3, 4)), a, b, kwargs={"value": value})


def test_addcmul_of_integers():
    check("addcmul", *(sample((3, 4), dtype="int64", seed=seed) for seed in range(3)), kwargs={"value": 2})
    check_error("addcdiv", *(sample((3,), dtype="int64") for _ in range(3)), match="Integer division with addcdiv")


def test_nan_to_num():
    x = numpy.array([1.0, numpy.nan, numpy.inf, -numpy.inf])
    check("nan_to_num", x)
    check("nan_to_num", x, 2.0, 3.0, -4.0)
    check("nan_to_num", x.astype("float32"), kwargs={"posinf": 7.0})
    check("nan_to_num", sample((3,), dtype="int64"))
