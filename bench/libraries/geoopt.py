"""Riemannian optimization on the sphere, the Poincaré ball and orthogonal matrices."""

import geoopt
import torch

from bench.drawn import normal, trained


def main():
    ball, sphere, stiefel = geoopt.PoincareBall(), geoopt.Sphere(), geoopt.Stiefel()
    target, found = normal(4, 4), []
    for manifold in (ball, sphere, stiefel):
        point = geoopt.ManifoldParameter(manifold.projx(0.3 * normal(4, 4)), manifold=manifold)
        optimizer = geoopt.optim.RiemannianAdam([point], lr=0.05)
        found.append(trained(lambda: (point - target).square().sum(), optimizer))
        found.append(point)
    a, b = ball.projx(0.2 * normal(3, 4)), ball.projx(0.2 * normal(3, 4))
    return found, ball.dist(a, b), ball.mobius_add(a, b), ball.expmap(a, torch.ones(3, 4)), ball.logmap(a, b)
