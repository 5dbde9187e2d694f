"""Numbers among the arguments: integers are exact, and what a dtype cannot hold is refused."""

import math

import numpy
import pytest
import torch as reference
from oracle import module

BIG = 2**53 + 1  # no float64
NAN, INF = math.nan, math.inf
ON_ORACLE = module is reference


def ints(to, *values, dtype="int64"):
    return to.tensor(list(values), dtype=getattr(to, dtype))


def outcome(to, call):
    """The elements and dtype of what comes out, or the type of exception."""
    try:
        result = call(to)
    except Exception as error:
        return type(error)
    return str(result.dtype).removeprefix("torch."), numpy.asarray(result.tolist()).tolist()


def assert_as_pytorch(call):
    ours, theirs = outcome(module, call), outcome(reference, call)
    assert repr(ours) == repr(theirs)


EXACT = {
    "add alpha": lambda to: ints(to, 0).add(ints(to, 1), alpha=BIG),
    "add_ alpha": lambda to: ints(to, 0).add_(ints(to, 1), alpha=BIG),
    "add largest alpha": lambda to: ints(to, 0).add(ints(to, 1), alpha=2**63 - 1),
    "add alpha, strided": lambda to: ints(to, 0, 5, 1)[::2].add(ints(to, 1, 2, 3)[1:], alpha=BIG),
    "sub alpha": lambda to: ints(to, 0).sub(ints(to, 1), alpha=BIG),
    "sub smallest alpha": lambda to: ints(to, 0).sub(ints(to, 1), alpha=-(2**63)),
    "add alpha of floats": lambda to: ints(to, 0).add(to.tensor([1.5]), alpha=BIG),
    "boolean alpha": lambda to: to.tensor([True, False]).add(to.tensor([True, False]), alpha=True),
    "nan_to_num": lambda to: to.nan_to_num(to.tensor([NAN, INF]), nan=1e300, posinf=2),
    "addcmul": lambda to: ints(to, 0).addcmul(ints(to, 1), ints(to, 1), value=BIG),
    "addcmul, cut": lambda to: ints(to, 0).addcmul(ints(to, 1), ints(to, 1), value=1.5),
    "clamp max": lambda to: ints(to, 2**62).clamp(max=BIG),
    "clamp min": lambda to: ints(to, 0).clamp(min=BIG),
    "clamp both": lambda to: ints(to, 0, BIG, BIG + 5).clamp(min=BIG, max=BIG + 2),
    "clamp none above": lambda to: ints(to, 2**63 - 1, -(2**63)).clamp(min=0),
    "clamp none below": lambda to: ints(to, 2**63 - 1, -(2**63)).clamp(max=0),
    "clamp uint8": lambda to: ints(to, 0, 5, 255, dtype="uint8").clamp(min=3),
    "clamp int32": lambda to: ints(to, -(2**31), 2**31 - 1, dtype="int32").clamp(max=3),
    "clamp promotes": lambda to: ints(to, 5).clamp(max=INF),
    "clamp_min": lambda to: ints(to, 0).clamp_min(BIG),
    "clamp_max": lambda to: ints(to, 2**62).clamp_max(BIG),
    "threshold": lambda to: to.nn.functional.threshold(ints(to, BIG - 1, BIG, BIG + 1), BIG, BIG + 7),
    "threshold, cut": lambda to: to.nn.functional.threshold(ints(to, 1, 2, dtype="uint8"), 1.5, 1),
    "pow": lambda to: ints(to, 3, -1, 0).pow(BIG),
    "pow, even": lambda to: ints(to, -1).pow(2**62),
    "pow of a number": lambda to: to.pow(BIG, ints(to, 1)),
    "addmm alpha": lambda to: to.addmm(ints(to, 0), ints(to, 1)[None], ints(to, 1)[None], alpha=BIG),
    "addmm beta": lambda to: to.addmm(ints(to, 1), ints(to, 1)[None], ints(to, 1)[None], beta=BIG),
    "addmv alpha": lambda to: to.addmv(ints(to, 0), ints(to, 1)[None], ints(to, 1), alpha=BIG),
    "baddbmm alpha": lambda to: to.baddbmm(
        *(x[None, None] for x in (ints(to, 0), ints(to, 1), ints(to, 1))), alpha=BIG
    ),
    "index_add alpha": lambda to: ints(to, 0).index_add(0, ints(to, 0), ints(to, 1), alpha=BIG),
    "index_fill": lambda to: ints(to, 0).index_fill(0, ints(to, 0), BIG),
    "masked_fill": lambda to: ints(to, 0).masked_fill(to.tensor([True]), BIG),
    "scatter": lambda to: ints(to, 0).scatter(0, ints(to, 0), BIG),
    "where": lambda to: to.where(to.tensor([True, False]), BIG, ints(to, 0, 0)),
    "fill_": lambda to: ints(to, 0).fill_(BIG),
    "full": lambda to: to.full((2,), BIG),
    "arange": lambda to: to.arange(BIG, BIG + 8, 3),
    "add": lambda to: ints(to, 1) + BIG,
    "remainder": lambda to: ints(to, 2**62).remainder(BIG),
    "floor_divide": lambda to: ints(to, 2**62 + 1) // BIG,
    "eq": lambda to: ints(to, BIG - 1, BIG, BIG + 1) == BIG,
    "lt": lambda to: ints(to, BIG - 1, BIG, BIG + 1) < BIG,
    "ge": lambda to: ints(to, BIG - 1, BIG, BIG + 1) >= BIG,
}


@pytest.mark.parametrize("name", EXACT)
def test_integers_are_exact(name):
    assert_as_pytorch(EXACT[name])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("value", [0, 1, -1, 2.7, -0.5, 255.5, 300, 2**31, -(2**31) - 1, 1e30, 1e300, NAN, INF, -INF])
@pytest.mark.parametrize(
    "how", ["full", "fill_", "fill", "masked_fill", "index_fill", "scatter", "setitem", "mask", "where", "full_like"]
)
def test_what_a_dtype_cannot_hold_is_refused(how, value, dtype):
    negative = dtype == "uint8" and value == -1

    def call(to):
        kind = getattr(to, dtype)
        x, mask, index = to.zeros(2, dtype=kind), to.tensor([True, False]), to.tensor([0])
        if how == "setitem":
            x[0] = value
            return x
        if how == "mask":
            x[mask] = value
            return x
        return {
            "full": lambda: to.full((2,), value, dtype=kind),
            "full_like": lambda: to.full_like(x, value),
            "fill_": lambda: x.fill_(value),
            "fill": lambda: to.fill(x, value),
            "masked_fill": lambda: x.masked_fill(mask, value),
            "index_fill": lambda: x.index_fill(0, index, value),
            "scatter": lambda: x.scatter(0, index, value),
            "where": lambda: to.where(mask, value, x),
        }[how]()

    if negative and not ON_ORACLE:
        with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
            call(module)
    else:
        assert_as_pytorch(call)


REFUSED = {
    "alpha": lambda to, n: ints(to, 0, dtype="uint8").add(ints(to, 1, dtype="uint8"), alpha=n),
    "alpha of sub": lambda to, n: ints(to, 0, dtype="uint8").sub(ints(to, 1, dtype="uint8"), alpha=n),
    "addcmul": lambda to, n: ints(to, 0, dtype="uint8").addcmul(*[ints(to, 1, dtype="uint8")] * 2, value=n),
    "clamp max": lambda to, n: ints(to, 5, dtype="uint8").clamp(max=n),
    "clamp min": lambda to, n: ints(to, 5, dtype="uint8").clamp(min=n),
    "clamp_min": lambda to, n: ints(to, 5, dtype="uint8").clamp_min(n),
    "clamp_max": lambda to, n: ints(to, 5, dtype="uint8").clamp_max(n),
    "pow": lambda to, n: ints(to, 5, dtype="uint8").pow(n),
    "threshold": lambda to, n: to.nn.functional.threshold(ints(to, 5, dtype="uint8"), n, 1),
    "linspace": lambda to, n: to.linspace(0, n, 4, dtype=to.uint8),
    "pad": lambda to, n: to.nn.functional.pad(ints(to, 5, dtype="uint8"), (1, 1), value=n),
    "masked_fill by a tensor": lambda to, n: ints(to, 5, dtype="uint8").masked_fill(to.tensor([True]), to.tensor(n)),
    "arange": lambda to, n: to.arange(0, n * 1e30, 1e29, dtype=to.int64),
    "alpha of floats": lambda to, n: to.ones(2).add(to.ones(2), alpha=n * 1e300),
    "clamp of floats": lambda to, n: to.ones(2).clamp(max=n * 1e300),
    "leaky_relu": lambda to, n: to.nn.functional.leaky_relu(to.ones(2), n * 1e300),
    "addmm": lambda to, n: to.addmm(to.ones(1, 1), to.ones(1, 1), to.ones(1, 1), alpha=n * 1e300),
    "fractional alpha": lambda to, n: ints(to, 0).add(ints(to, 1), alpha=n / 7),
    "fractional alpha 1": lambda to, n: ints(to, 0).sub(ints(to, 1), alpha=1.0),
    "boolean alpha": lambda to, n: to.ones(2).add(to.ones(2), alpha=n > 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_that_do_not_fit_are_refused(name):
    assert outcome(module, lambda to: REFUSED[name](to, 300)) is RuntimeError
    assert_as_pytorch(lambda to: REFUSED[name](to, 300))


def test_a_refused_number_changes_nothing():
    x = module.tensor([1, 2], dtype=module.uint8)
    before = x._version
    for write in (lambda: x.fill_(300), lambda: x.masked_fill_(x > 0, 300), lambda: x.__setitem__(0, 300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            write()
    with pytest.raises(RuntimeError, match="without overflow"):
        x.clamp_(max=300)
    assert (x.tolist(), x._version) == ([1, 2], before)


# In arithmetic with a number both wrap around.
@pytest.mark.parametrize("n", [300, -1, 2**40])
def test_sums_with_numbers_wrap_around(n):
    for dtype in ("uint8", "int32"):
        assert_as_pytorch(lambda to, dtype=dtype: ints(to, 1, 7, dtype=dtype) + n)
        assert_as_pytorch(lambda to, dtype=dtype: n - ints(to, 1, 7, dtype=dtype))
        assert_as_pytorch(lambda to, dtype=dtype: ints(to, 1, 7, dtype=dtype) * n)


@pytest.mark.skipif(ON_ORACLE, reason="PyTorch compares with the number wrapped around")
def test_comparisons_with_numbers_beyond_the_dtype():
    x = ints(module, 0, 1, 44, 255, dtype="uint8")
    y = ints(module, 0, 1, dtype="int32")
    assert (x == 300).tolist() == (x == 257).tolist() == (x == -1).tolist() == [False] * 4
    assert (x < 300).tolist() == (x > -1).tolist() == (x != 257).tolist() == [True] * 4
    assert (y < 2**40).tolist() == (y != 2**32).tolist() == [True] * 2
    assert (x >= 255).tolist() == [False, False, False, True]


@pytest.mark.parametrize("limits", [{"min": NAN}, {"max": NAN}, {"min": NAN, "max": 1.0}, {"min": 1.0, "max": NAN}])
@pytest.mark.parametrize("values", [[5.0, NAN, -INF], [1, 2]])
def test_a_limit_that_is_nan(limits, values):
    assert_as_pytorch(lambda to: to.tensor(values).clamp(**limits))
    assert_as_pytorch(lambda to: to.tensor(values, dtype=to.float64).t().clamp_(**limits))
    if values[0] == 5.0:
        for to in (module, reference):
            x = to.tensor(values, requires_grad=True)
            x.clamp(**limits).sum().backward()
            assert x.grad.tolist() == [0.0, 0.0, 0.0]
