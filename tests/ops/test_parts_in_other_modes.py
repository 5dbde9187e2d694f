"""cat and block_diag, called again by forward mode and vmap on other parts, of which others need a gradient."""

import numpy
import pytest

import clew
from clew.func import grad, jvp

pytestmark = pytest.mark.beyond


def slope(f):
    return lambda t: jvp(f, (t,), (clew.ones_like(t),))[1]


A = clew.tensor([[0.1, 0.2], [0.3, 0.5]], dtype=clew.float64)
FUNCTIONS = {
    "matrix_exp": lambda t: clew.matrix_exp(A * t * t).sum(),
    "cat": lambda t: (clew.cat([A, A * t, A, A * t**2]) ** 3).sum(),
    "cat of few numbers": lambda t: (clew.cat([t.reshape(1), A[0], t.reshape(1) ** 2]) ** 4).sum(),
    "block_diag": lambda t: clew.block_diag(A, A * t, A[0], (A * t**2).exp()).sin().sum(),
    "hstack": lambda t: (clew.hstack([A * t, A]) @ clew.vstack([A, A * t])).exp().sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_third_derivative_in_every_order(name):
    f, t = FUNCTIONS[name], clew.tensor(0.3, dtype=clew.float64)
    expected = slope(slope(slope(f)))(t).item()
    step = 1e-4
    second = slope(slope(f))
    numpy.testing.assert_allclose(expected, ((second(t + step) - second(t - step)) / (2 * step)).item(), rtol=1e-6)
    for found in (grad(slope(slope(f))), slope(grad(slope(f))), grad(grad(slope(f))), grad(slope(grad(f)))):
        numpy.testing.assert_allclose(found(t).item(), expected, rtol=1e-9)


def test_more_runs_than_a_node_has_room_for():
    """Every second of forty parts has a tangent that needs a gradient."""
    x = clew.linspace(0.1, 1.0, 20, dtype=clew.float64)

    def f(x):
        parts = [part for one in x for part in (one.reshape(1), one.detach().reshape(1))]
        return (clew.cat(parts) ** 3).sum()

    numpy.testing.assert_allclose(grad(f)(x).numpy(), 3 * x.numpy() ** 2, rtol=1e-12)
    v = clew.ones_like(x)
    numpy.testing.assert_allclose(grad(lambda x: jvp(f, (x,), (v,))[1])(x).numpy(), 6 * x.numpy(), rtol=1e-12)
