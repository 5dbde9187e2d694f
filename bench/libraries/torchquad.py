"""Integrals by quadrature and Monte Carlo, with gradients of the bounds."""

import torch
from torchquad import Boole, GaussLegendre, Simpson, Trapezoid


def main():
    bounds = torch.tensor([[0.0, 1.0], [-1.0, 2.0]], requires_grad=True)
    found = []
    for rule in (Trapezoid(), Simpson(), Boole(), GaussLegendre()):
        value = rule.integrate(
            lambda x: torch.sin(x[:, 0]) + x[:, 1] ** 2, dim=2, N=441, integration_domain=bounds, backend="torch"
        )
        found.append((value, *torch.autograd.grad(value, bounds)))
    return found
