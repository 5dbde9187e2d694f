"""Minima of Rosenbrock's function by seven methods."""

import torch
import torchmin


def main():
    def function(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    start = torch.tensor([0.5, 0.8, 1.2], dtype=torch.float64)
    found = []
    for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
        result = torchmin.minimize(function, start, method=method, max_iter=50)
        found.append(result.x)
    return found
