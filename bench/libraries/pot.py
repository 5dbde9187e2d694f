"""Optimal transport: exact, with entropy, unbalanced, sliced; gradients of the cost."""

import ot
import torch

from bench.drawn import normal


def main():
    x, y, a = normal(10, 2).requires_grad_(), normal(12, 2), torch.full((10,), 0.1)
    b = torch.full((12,), 1 / 12)
    cost = ot.dist(x, y)
    exact = ot.emd2(a, b, cost)
    found = [exact, *torch.autograd.grad(exact, x, retain_graph=True)]
    found += [ot.sinkhorn2(a, b, cost, 1.0), ot.unbalanced.sinkhorn_unbalanced2(a, b, cost, 1.0, 1.0)]
    found += [
        ot.sliced_wasserstein_distance(x, y, seed=0, n_projections=10),
        ot.gaussian.empirical_bures_wasserstein_distance(x, y),
    ]
    return found
