"""Collectives with derivatives: gradients against differences of the sum of all ranks' losses, and against formulas."""

import numpy
from common import clew, dist, raises, rank, run, size

from clew.distributed.nn import functional as F

everyone = range(size)
WEIGHTS = numpy.random.default_rng(5).standard_normal((size, size, 3))  # of rank, part
POINTS = numpy.random.default_rng(6).standard_normal((size, size, 3))


def weight(part=0):
    return clew.tensor(WEIGHTS[rank, part])


def point(part=0):
    return clew.tensor(POINTS[rank, part], requires_grad=True)


def is_gradient(x, expected):
    assert numpy.allclose(x.grad.numpy(), expected, rtol=1e-12, atol=0), (x.grad, expected)


def check_all_reduce():
    x = point()
    y = F.all_reduce(x)
    assert numpy.allclose(y.detach().numpy(), POINTS[:, 0].sum(0))
    (y * weight()).sum().backward()
    is_gradient(x, WEIGHTS[:, 0].sum(0))
    x = point()
    (F.all_reduce(x, dist.ReduceOp.AVG) * weight()).sum().backward()
    is_gradient(x, WEIGHTS[:, 0].mean(0))
    raises(NotImplementedError, "MAX", lambda: F.all_reduce(point(), dist.ReduceOp.MAX))


def check_second_derivatives():
    """Of the sum over ranks of w s^3, s the sum of x over ranks: 3 W s^2; and of the sum of that 6 n W s."""
    x = point()
    loss = (F.all_reduce(x) ** 3 * weight()).sum()
    (first,) = clew.autograd.grad(loss, x, create_graph=True)
    s, w = POINTS[:, 0].sum(0), WEIGHTS[:, 0].sum(0)
    assert numpy.allclose(first.detach().numpy(), 3 * w * s**2)
    first.sum().backward()
    is_gradient(x, 6 * size * w * s)


def check_broadcast_and_reduce():
    x = point()
    (F.broadcast(x, 1) * weight()).sum().backward()
    is_gradient(x, WEIGHTS[:, 0].sum(0) * (rank == 1))
    x = point()
    (F.reduce(x, 1) * weight()).sum().backward()
    is_gradient(x, WEIGHTS[1, 0])


def check_all_gather_and_reduce_scatter():
    x = point()
    sum((y * weight(part)).sum() for part, y in enumerate(F.all_gather(x))).backward()
    is_gradient(x, WEIGHTS[:, rank].sum(0))
    xs = [point(part) for part in everyone]
    y = F.reduce_scatter(clew.empty(3, dtype=clew.float64), xs)
    assert numpy.allclose(y.detach().numpy(), POINTS[:, rank].sum(0))
    (y * weight()).sum().backward()
    for part, x in enumerate(xs):
        is_gradient(x, WEIGHTS[part, 0])


def check_gather_and_scatter():
    x = point()
    sum((y * weight(part)).sum() for part, y in enumerate(F.gather(x, 1))).backward()
    is_gradient(x, WEIGHTS[1, rank])
    xs = [point(part) for part in everyone]
    (F.scatter(xs, 1) * weight()).sum().backward()
    for part, x in enumerate(xs):
        is_gradient(x, WEIGHTS[part, 0] * (rank == 1))


def check_all_to_all():
    xs = [point(part) for part in everyone]
    ys = F.all_to_all([clew.empty(3, dtype=clew.float64) for _ in everyone], xs)
    sum((y * weight(part)).sum() for part, y in enumerate(ys)).backward()
    for part, x in enumerate(xs):
        is_gradient(x, WEIGHTS[part, rank])
    x = clew.tensor(POINTS[rank], requires_grad=True)
    (F.all_to_all_single(clew.empty_like(x), x) * clew.tensor(WEIGHTS[rank])).sum().backward()
    is_gradient(x, WEIGHTS[:, rank])


run(globals())
