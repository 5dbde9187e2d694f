"""Comparisons, truth values, bits, extremes of two, and division that rounds."""

import numpy
import pytest
import sampling
import torch as pytorch
from oracle import (
    ALL_DTYPES,
    ALL_PAIRS,
    INTEGER_PAIRS,
    NUMBER_PAIRS,
    check,
    check_error,
    check_out,
    module,
    sample,
    strided,
    sweep_pair,
)

BOTH_OPERANDS = [
    overload.operation
    for overload in sampling.overloads()
    if overload.has(sampling.NON_DIFFERENTIABLE) and [one["type"] for one in overload.arguments] == ["Operand"] * 2
]
BITS = [name.removeprefix("bitwise_") for name in BOTH_OPERANDS if name.startswith("bitwise_")]
COMPARISONS = [name for name in BOTH_OPERANDS if not name.startswith("bitwise_")]
LOGICAL = [
    overload.operation
    for overload in sampling.overloads()
    if overload.operation.startswith("logical_") and len(overload.arguments) == 2
]
WITH_TIES = numpy.array([[1.0, 2.0, 3.0], [0.0, -1.0, 5.0]]), numpy.array([[1.0, 5.0, 3.0], [-0.0, -2.0, 4.0]])


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    sweep_pair(name, dtypes=ALL_PAIRS, grad=False)
    check(name, *WITH_TIES, grad=False)
    check(name, numpy.array([numpy.nan, 1.0, numpy.inf]), numpy.array([numpy.nan, numpy.nan, numpy.inf]), grad=False)
    for number in (2, 2.5, True, -1):
        for dtype in ALL_DTYPES:
            if (dtype, number) != ("uint8", -1):
                check(name, sample((3, 4), dtype=dtype), number, grad=False)
    check(f"__{name}__", sample((3, 4)), sample((4,), seed=1), method=True, grad=False)
    check(f"{name}_", sample((3, 4)), sample((4,), seed=1), method=True, grad=False)
    check_out(name, sample((3, 4)), sample((4,), seed=1))


def test_comparisons_have_no_history():
    x = module.tensor([1.0], requires_grad=True)
    assert not (x > 0).requires_grad


def test_equality_with_what_is_no_number():
    x = module.tensor([1.0])
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError):
        _ = x < "text"


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_kinds_of_numbers(name):
    values = numpy.array([0.0, 1.0, numpy.nan, numpy.inf, -numpy.inf, 1e308])
    check(name, values, grad=False)
    with numpy.errstate(over="ignore"):
        check(name, values.astype("float32"), grad=False)
    check(name, strided(sample((3, 4))), grad=False, method=True)
    for dtype in ALL_DTYPES:
        check(name, sample((3, 4), dtype=dtype), grad=False)


@pytest.mark.parametrize("name", LOGICAL)
def test_truth_values_of_two(name):
    for left, right in ALL_PAIRS:
        a, b = sample((3, 4), dtype=left), sample((4,), dtype=right, seed=1)
        a.flat[::3] = 0
        b.flat[::2] = 0
        check(name, a, b, grad=False)
    check(name + "_", sample((3, 4), dtype="bool"), sample((4,), dtype="bool"), method=True)
    check_out(name, sample((3, 4), dtype="bool"), sample((4,), dtype="bool"))


def test_logical_not():
    for dtype in ALL_DTYPES:
        check("logical_not", numpy.array([0, 1, 2, 0]).astype(dtype), grad=False)
    check("logical_not_", sample((3, 4), dtype="int64"), method=True)


@pytest.mark.parametrize("name", [name for name in BITS if not name.endswith("shift")])
def test_bits(name):
    for left, right in INTEGER_PAIRS:
        check(f"bitwise_{name}", sample((3, 4), dtype=left), sample((4,), dtype=right, seed=1))
    for dtype in ("bool", "int64"):
        check(f"__{name}__", sample((3, 4), dtype=dtype), sample((4,), dtype=dtype, seed=1), method=True)
        check(f"__{name}__", sample((3, 4), dtype=dtype), True, method=True)
        check(f"__r{name}__", sample((3, 4), dtype=dtype), True, method=True)
        check(f"__i{name}__", sample((3, 4), dtype=dtype), sample((4,), dtype=dtype, seed=1), method=True)
    check(f"bitwise_{name}", sample((3, 4), dtype="int32"), 6)
    check_error(f"bitwise_{name}", sample((3,)), sample((3,)), error=RuntimeError)


def test_bitwise_not():
    for dtype in ("bool", "uint8", "int32", "int64"):
        check("bitwise_not", sample((3, 4), dtype=dtype))
        check("__invert__", sample((3, 4), dtype=dtype), method=True)


@pytest.mark.parametrize("name", [name for name in BITS if name.endswith("shift")])
def test_shifts(name):
    for dtype in ("uint8", "int32", "int64"):
        check(f"bitwise_{name}", sample((3, 4), dtype=dtype), numpy.abs(sample((4,), dtype=dtype, seed=1)))
        check(f"__{name[0]}shift__", sample((3, 4), dtype=dtype), 2, method=True)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes(name):
    sweep_pair(name, dtypes=ALL_PAIRS)
    check(name, *WITH_TIES)
    check(name, numpy.array([numpy.nan, 1.0, 2.0]), numpy.array([1.0, numpy.nan, 2.0]), second=False)
    check_out(name, sample((3, 4)), sample((4,), seed=1))


# ------------------------------------------------------------------------------------------------------------- division
@pytest.mark.parametrize("other", [2.0, "tensor", "learns"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_in_place_leave_no_slope(name, other):
    """Written over floating values they are step functions, as in PyTorch."""

    def run(library):
        x, w = library.tensor([1.0, 2.0, 3.0], requires_grad=True), library.tensor([2.0, 2.0, 2.0])
        y = x * 1
        getattr(y, name + "_")({"tensor": w, "learns": w.requires_grad_()}.get(other, other))
        (y * library.tensor([3.0, 4.0, 5.0])).sum().backward()
        data = library.ones(3)
        getattr(data, name + "_")(x)
        return (
            y.tolist(),
            x.grad.tolist(),
            None if w.grad is None else w.grad.tolist(),
            data.requires_grad,
            data.grad_fn is None,
        )

    ours = run(module)
    assert ours == run(pytorch)
    assert ours[1] == [0, 0, 0]


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
def test_logical_operations_in_place_leave_no_slope(name):
    """A step function's derivative is zero; PyTorch keeps the old history and answers with its gradient."""
    x = module.tensor([0.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    getattr(y, name)(*([] if name == "logical_not_" else [module.tensor([0.0, 1.0, 0.0])]))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


FLOOR_DIVISIONS = {
    "operator": lambda x: x // 2,
    "reflected": lambda x: 7 // x,
    "method": lambda x: x.floor_divide(2),
    "tensors": lambda x: x.floor_divide(x),
    "in place": lambda x: (x * 1).floor_divide_(2),
    "of a view in place": lambda x: (x * 1)[1:].floor_divide_(2),
}


@pytest.mark.parametrize("how", FLOOR_DIVISIONS)
def test_floor_division_has_a_history_and_no_derivative(how):
    for library in (module, pytorch):
        x = library.tensor([3.0, 5.0], requires_grad=True)
        y = FLOOR_DIVISIONS[how](x)
        assert y.requires_grad
        with pytest.raises(RuntimeError, match=r"derivative for aten::floor_divide_? is not implemented"):
            y.sum().backward()
        assert x.grad is None
        y = x * 1
        y //= 2
        with pytest.raises(RuntimeError, match=r"derivative for aten::floor_divide_? is not implemented"):
            y.sum().backward()


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_rounding_division(name):
    differentiable = name != "floor_divide"
    sweep_pair(name, ("real", "nonzero"), dtypes=NUMBER_PAIRS, grad=differentiable)
    for number in (3, 2.5, -2, -0.7):
        for dtype in ("int32", "int64", "float32", "float64"):
            check(name, sample((3, 4), dtype=dtype), number, grad=differentiable)
    check(name + "_", sample((3, 4)), sample((4,), "nonzero"), method=True, grad=differentiable)
    check_out(name, sample((3, 4)), sample((4,), "nonzero"))
    special = (
        numpy.array([1.0, -1.0, 0.0, numpy.inf, 7.5, -7.5]),
        numpy.array([0.0, 0.0, 0.0, 2.0, numpy.inf, -numpy.inf]),
    )
    check(name, *special, grad=False)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_zero(name):
    zero = numpy.array([1, 0, 2])
    check_error(name, sample((3,), dtype="int64"), zero, error=RuntimeError, match="ZeroDivisionError")
    check_error(name, sample((3,), dtype="int64"), 0, error=RuntimeError, match="ZeroDivisionError")
    check(name, sample((0,), dtype="int64"), 0)
    check(name, sample((3,)), 0.0, grad=False)
    for divisor in ([True, True], [True, False]):  # of bools there is no loop, whatever the values
        check_error(name, numpy.array([True, False]), numpy.array(divisor), error=NotImplementedError)


@pytest.mark.parametrize("mode", ["floor", "trunc", None])
def test_div_with_a_rounding_mode(mode):
    check("div", sample((3, 4)), sample((4,), "nonzero"), kwargs={"rounding_mode": mode}, node=mode is not None)
    check("div", sample((3, 4), dtype="int64"), sample((4,), dtype="int32"), kwargs={"rounding_mode": mode})
    if mode:
        check_error("div", sample((3,), dtype="int64"), 0, kwargs={"rounding_mode": mode}, match="ZeroDivisionError")


def test_division_operators():
    for dtype in ("int64", "float64"):
        check("__floordiv__", sample((3, 4), dtype=dtype), 2, method=True, grad=False)
        check("__rfloordiv__", sample((3, 4), "nonzero", dtype=dtype), 7, method=True, grad=False)
        check("__mod__", sample((3, 4), dtype=dtype), 2, method=True)
        check("__rmod__", sample((3, 4), "nonzero", dtype=dtype), 7, method=True, grad=False)
        check("__ifloordiv__", sample((3, 4), dtype=dtype), 2, method=True, grad=False)
        check("__imod__", sample((3, 4), dtype=dtype), 2, method=True)


# -------------------------------------------------------------------------------------------------------- whole tensors
def test_closeness():
    a = numpy.array([1.0, 1.0, numpy.inf, numpy.nan, -numpy.inf, 0.0])
    b = numpy.array([1.0 + 1e-7, 1.1, numpy.inf, numpy.nan, numpy.inf, 1e-9])
    check("isclose", a, b, grad=False)
    check("isclose", a, b, kwargs={"equal_nan": True}, grad=False)
    check("isclose", a, b, kwargs={"rtol": 0.2, "atol": 0.0}, grad=False)
    check("isclose", sample((3, 4), dtype="int64"), sample((4,), dtype="int64", seed=1), grad=False)
    check("isclose", sample((3,), dtype="bool"), sample((3,), dtype="bool", seed=1), grad=False)
    check("allclose", a, a, grad=False)
    check("allclose", a, a, kwargs={"equal_nan": True}, method=True, grad=False)
    check_error("isclose", a, b.astype("float32"))


def test_equal():
    x = sample((3, 4))
    check("equal", x, x.copy(), grad=False)
    check("equal", x, x[:2], grad=False)
    check("equal", x, x + 1, method=True, grad=False)
    check("equal", numpy.array([1, 2]), numpy.array([1.0, 2.0]), grad=False)


# --------------------------------------------------------------------------------------------------------- second names
@pytest.mark.parametrize(
    "name", ["absolute", "arcsin", "clip", "multiply", "greater", "true_divide", "subtract", "ger"]
)
def test_second_names(name):
    x, y = sample((5,), "unit"), sample((5,), "unit", seed=1)
    if name in ("absolute", "arcsin"):
        check(name, x)
        check(name + "_", x, method=True)
    elif name == "clip":
        check(name, x, -0.2, 0.2)
        check(name + "_", x, -0.2, 0.2, method=True)
    else:
        check(name, x, y)
        check(name, x, y, method=True)
