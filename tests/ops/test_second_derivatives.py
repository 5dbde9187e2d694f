"""Derivatives of the first, second and third order in every way that takes them, against differences.

Of every operation, and of the functions and modules of tests/public_functions.py. Each run draws some, by CLEW_SEED or
the commit; `-m slow` takes the rest.
"""

import derivatives
import public_functions
import pytest
from test_registry import SAMPLED

import clew

pytestmark = pytest.mark.beyond

OPERATIONS = [one for one in SAMPLED if one.differentiable and not one.has(1 << 22)]
SEED = derivatives.seed()


def drawn(subjects, part):
    return [
        pytest.param(one, id=str(one), marks=() if derivatives.is_drawn(str(one), SEED, part) else pytest.mark.slow)
        for one in subjects
    ]


def assert_right(case):
    faults = derivatives.Check(case).run()
    shown = "\n".join(map(str, faults[:5]))
    assert not faults, f"{len(faults)} differ:\n{shown}"


@pytest.mark.parametrize("overload", drawn(OPERATIONS, 0.08))
def test_an_operation(overload):
    for case in derivatives.cases_of(overload):
        assert_right(case)


@pytest.mark.parametrize("function", drawn(public_functions.functions(), 0.15))
def test_a_function(function):
    assert_right(derivatives.case_of(function))


class Lossy(clew.autograd.Function):
    """x², whose backward has a graph, but the wrong one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0].detach()

    @staticmethod
    def jvp(ctx, tangent):
        return tangent


def test_a_lost_derivative_would_be_found():
    case = derivatives.Case("lossy", lambda x: [Lossy.apply(x)], [derivatives.numpy.array([0.5, 1.5])])
    ways = {fault.way for fault in derivatives.Check(case, layouts=["plain"], scalars=["linear"]).run()}
    assert {"jvp", "forward_ad", "jvp(grad)", "vjp(grad)", "hessian", "functional.hvp"} <= ways
    assert not {"linearize", "jacrev"} & ways
