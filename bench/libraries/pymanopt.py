"""Optimization on the sphere and on subspaces, with PyTorch's gradients."""

import pymanopt
import torch
from pymanopt.manifolds import Grassmann, Sphere
from pymanopt.optimizers import ConjugateGradient, SteepestDescent

from bench.drawn import normal


def main():
    half = normal(5, 5).double()
    matrix, found = half @ half.mT, []
    for manifold, optimizer, shape in (
        (Sphere(5), SteepestDescent, (5,)),
        (Grassmann(5, 2), ConjugateGradient, (5, 2)),
    ):

        @pymanopt.function.pytorch(manifold)
        def cost(point):
            return -(point * (matrix @ point)).sum()

        start = torch.linalg.qr(normal(5, 2).double())[0].numpy()
        problem = pymanopt.Problem(manifold, cost)
        result = optimizer(verbosity=0, max_iterations=20).run(
            problem, initial_point=start[:, 0] if len(shape) == 1 else start
        )
        found.append(result.cost)
    return found
