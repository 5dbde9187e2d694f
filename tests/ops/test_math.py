"""Functions of one number: powers, exponentials, angles, rounding; and their relatives of two."""

import numpy
import oracle
import pytest
import sampling
import torch as reference
from oracle import (
    FLOAT_PAIRS,
    NUMBER_PAIRS,
    check,
    check_error,
    check_out,
    module,
    sample,
    strided,
    sweep,
    sweep_pair,
)

import clew


def functions_of_one_number():
    """Names and domains, from the registry, of those that PyTorch has."""
    flags = sampling.FUNCTION | sampling.IN_PLACE | sampling.OUT
    return {
        one.operation: one.domain
        for one in sampling.overloads()
        if len(one.arguments) == 1
        and one.differentiable
        and one.flags & flags == flags
        and one.domain in oracle.DOMAINS
        and hasattr(reference, one.operation)
    }


DOMAINS = functions_of_one_number()
GAMMA = ["lgamma", "digamma"]  # which PyTorch gives for integers where they are positive alone
FLOATS_ONLY = ["frac"]
NO_SLOPE_IN_PLACE = ["asinh", "atanh"]  # in PyTorch; we have it


@pytest.mark.parametrize("name", DOMAINS)
def test_functions_of_one_number(name):
    gives_integers = name not in FLOATS_ONLY and getattr(module, name)(module.tensor([2])).dtype == module.int64
    sweep(name, DOMAINS[name], integers=not gives_integers and name not in (*GAMMA, *FLOATS_ONLY))
    for dtype in ("int64", "int32", "uint8") if gives_integers else ():
        check(name, sample((3, 5), dtype=dtype))
    derivatives = {"grad": name not in NO_SLOPE_IN_PLACE}
    check(name + "_", sample((3, 4), DOMAINS[name]), method=True, **derivatives)
    check(name + "_", strided(sample((3, 4), DOMAINS[name], "float32")), method=True, second=False, **derivatives)
    check(name, sample((3, 4), DOMAINS[name]), method=True)
    check_out(name, sample((3, 4), DOMAINS[name]))


@pytest.mark.parametrize("name", ["sign", "square"])
def test_functions_of_one_bool(name):
    check(name, sample((3, 5), dtype="bool"))


@pytest.mark.parametrize("name", ["abs", "sign", "floor", "ceil", "round", "trunc"])
def test_halves_and_signs_of_zero(name):
    special = numpy.array([0.0, -0.0, 0.5, 1.5, -0.5, -2.5, numpy.inf, -numpy.inf, numpy.nan])
    check(name, special)
    check(name, special.astype("float32"))


def test_abs_is_what_python_calls():
    check("__abs__", sample((3, 4), "nonzero"), method=True)


def test_rounding_refuses_bool():
    check_error("floor", sample((3,), dtype="bool"), error=NotImplementedError)


@pytest.mark.parametrize("name", GAMMA)
def test_gamma_functions_of_integers(name):
    check(name, sample((3, 4), "positive", "int64"))


@pytest.mark.parametrize("name", DOMAINS)
def test_special_values(name):
    values = numpy.array(
        [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 1e-300, 1e300, -1e300, 88.0, -104.0, 710.0]
    )
    grad = name != "digamma"  # at its poles PyTorch's series gives a finite slope
    check(name, values, grad=grad, second=False)
    with numpy.errstate(over="ignore"):
        check(name, values.astype("float32"), grad=grad, second=False, rtol=1e-4)


def test_atan2_of_infinite_numbers_has_pytorchs_derivative():
    def found(m):
        y = m.tensor([-numpy.inf, 1.3, numpy.inf, -2.0], requires_grad=True)
        x = m.tensor([1.3, -numpy.inf, numpy.inf, 0.0], requires_grad=True)
        return [one.tolist() for one in m.autograd.grad(m.atan2(y, x).sum(), (y, x))]

    numpy.testing.assert_array_equal(found(clew), found(reference))


def test_atan2():
    # PyTorch computes the gradient beside a uint8 tensor in uint8.
    pairs = [pair for pair in FLOAT_PAIRS if "bool" not in pair and "uint8" not in pair]
    sweep_pair("atan2", ("nonzero", "nonzero"), dtypes=pairs)
    check("atan2_", sample((3, 4), "nonzero"), sample((4,), "nonzero", seed=3), method=True)
    check("atan2", sample((3,), dtype="int64"), sample((3,), dtype="int32"))
    check("atan2", numpy.zeros(3), numpy.array([0.0, 1.0, -1.0]), second=False)


# -------------------------------------------------------------------------------------------------------------- powers
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 7, -3.7, 0.0, 2.0, True])
def test_a_number_as_exponent(exponent):
    for shape in ((), (4,), (2, 0), (3, 5)):
        check("pow", sample(shape, "positive"), exponent)
        check("pow", sample(shape, "positive", "float32"), exponent, second=False)
    check("__pow__", strided(sample((3, 5), "positive")), exponent, method=True)
    check("pow_", sample((3, 5), "positive"), exponent, method=True)
    check("pow", sample((300, 257), "positive"), exponent, second=False)
    check_out("pow", sample((3, 4), "positive"), exponent)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
def test_integers_to_a_whole_power(exponent):
    for dtype in ("uint8", "int32", "int64"):
        check("pow", sample((3, 4), dtype=dtype), exponent)
        check("pow", sample((3, 4), dtype=dtype), float(exponent))


def test_integers_to_a_negative_power_are_refused():
    check_error("pow", sample((3,), dtype="int64"), -1, match="Integers to negative integer powers are not allowed")
    check("pow", sample((3,), dtype="int64"), -1.0)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, 1.5, -1, 0.0])
def test_powers_of_zero_and_negative_numbers(exponent):
    check("pow", numpy.array([0.0, -0.0, -2.0, 3.0]), exponent, second=exponent in (0, 1, 2, 3))


def test_tensors_as_exponents():
    # PyTorch takes the logarithm of integers in float32.
    sweep_pair("pow", ("positive", "real"))
    sweep_pair("pow", ("positive", "real"), dtypes=[pair for pair in FLOAT_PAIRS if "bool" not in pair], rtol=1e-5)
    for left in ("uint8", "int32", "int64"):
        for right in ("uint8", "int32", "int64"):
            check("pow", numpy.abs(sample((3, 4), dtype=left)), numpy.abs(sample((3, 4), dtype=right, seed=1)))
    check("pow_", sample((3, 4), "positive"), sample((4,)), method=True)
    check("__pow__", sample((3, 4), "positive"), sample((4,)), method=True)
    check_out("pow", sample((3, 4), "positive"), sample((4,)))


def test_tensor_powers_at_zero():
    base, exponent = numpy.array([0.0, 0.0, 0.0, 2.0, -2.0]), numpy.array([0.0, 1.0, 2.5, 0.0, 2.0])
    check("pow", base, exponent, second=False)


def test_second_derivatives_of_tensor_powers_at_zero_are_finite():
    base = module.tensor([0.0, 0.0, 2.0], dtype=module.float64, requires_grad=True)
    exponent = module.tensor([0.0, 2.0, 0.0], dtype=module.float64, requires_grad=True)
    first = module.autograd.grad((base**exponent).sum(), (base, exponent), create_graph=True)
    by_base, _ = module.autograd.grad(first[0].sum(), (base, exponent), allow_unused=True)
    if module.__name__ == "clew":
        numpy.testing.assert_allclose(by_base.numpy(), [0.0, 2.0, 0.0])


@pytest.mark.parametrize("base", [2, 2.5, 0.5, 1, 3.0, -2.0])
def test_a_number_as_base(base):
    for shape in ((), (4,), (3, 5), (0,)):
        check("pow", base, sample(shape))
        check("pow", base, sample(shape, dtype="float32"), second=False)
    check("pow", base, numpy.abs(sample((3, 4), dtype="int64")))
    check("__rpow__", sample((3, 4)), base, method=True)


def test_zero_as_base():
    check("pow", 0, numpy.array([0.0, 1.0, 2.5, -1.0, numpy.nan]), second=False)
    check("pow", 0.0, sample((3, 4), "positive"), second=False)


def test_a_number_exponent_saves_the_base_and_a_number_base_the_result():
    x = module.tensor([2.0], requires_grad=True)
    assert (x**3)._version == 0
    assert (x**3).grad_fn._saved_self is x
    power = 3**x
    assert power.grad_fn._saved_result.item() == 9.0


def test_powers_promote_numbers():
    for left, right in NUMBER_PAIRS:
        if left.startswith("float") or right.startswith("float"):
            check("pow", numpy.abs(sample((3,), dtype=left)), sample((), "positive", right, 1), second=False, rtol=1e-5)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
def test_rounding_to_decimals(decimals):
    for dtype in ("float32", "float64"):
        x = sample((3, 4), dtype=dtype) * 234.5
        check("round", x, kwargs={"decimals": decimals})
        check("special.round", x, kwargs={"decimals": decimals})


@pytest.mark.parametrize("name", ["xlogy", "special.xlogy"])
def test_xlogy_with_numbers(name):
    x = sample((3, 4), "positive")
    for pair in [(x, 2.5), (x, 3), (2, x), (0.5, x), (0, x)]:
        check(name, *pair, node=False)


def test_the_real_part_is_the_tensor(oracle):
    for m in (clew, oracle):
        x = m.ones(2, requires_grad=True)
        assert x.real is x
        assert m.real(x) is x
