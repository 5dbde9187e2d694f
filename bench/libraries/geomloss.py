"""Distances of samples: Sinkhorn, energy and Gaussian, with gradients."""

import torch
from geomloss import SamplesLoss

from bench.drawn import normal


def main():
    x, y, found = normal(12, 2).requires_grad_(), normal(10, 2), []
    for kind in ("sinkhorn", "energy", "gaussian", "laplacian"):
        value = SamplesLoss(kind, p=2, blur=0.5, backend="tensorized")(x, y)
        found += [value, *torch.autograd.grad(value, x)]
    return found
