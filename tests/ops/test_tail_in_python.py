"""Operations over NumPy and SciPy are one definition of a few lines each."""

import ast
import inspect

import numpy
import pytest
import scipy.special

import clew
from clew.special import _operations

pytestmark = pytest.mark.beyond


@pytest.mark.parametrize("name", ["erfcx", "zeta"])
def test_a_definition_is_short(name):
    """Schema, forward, rules, class and domain, its docstring included."""
    tree = ast.parse(inspect.getsource(_operations))
    (found,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
    first = found.decorator_list[0].lineno
    assert found.end_lineno - first + 1 <= 40


def test_zeta_is_scipys():
    x, q = numpy.array([1.0, 1.5, 2.0, 7.0, 0.5]), numpy.array([[1.0], [0.3], [12.0]])
    ours = clew.special.zeta(clew.tensor(x), clew.tensor(q))
    numpy.testing.assert_array_equal(ours.numpy(), scipy.special.zeta(x, q))
    assert clew.special.zeta(clew.tensor([2, 3]), 1).dtype == clew.float32
    with pytest.raises(NotImplementedError, match="first argument"):
        clew.special.zeta(clew.tensor([2.0], requires_grad=True), 1).backward()


def test_zeta_has_shapes_without_values():
    found = clew.special.zeta(clew.ones(10**6, 1, device="meta"), clew.ones(10**6, device="meta"))
    assert (found.shape, found.is_meta) == ((10**6, 10**6), True)
