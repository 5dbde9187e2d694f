"""Differentiable roots, minima, eigenvalues and integrals."""

import torch
import xitorch
from xitorch.integrate import quad
from xitorch.linalg import solve, symeig
from xitorch.optimize import equilibrium, minimize, rootfinder

from bench.drawn import normal


def main():
    a = (0.1 * normal(3, 3)).requires_grad_()
    root = rootfinder(lambda y, a: y**3 + y + (a @ y) - 1, torch.zeros(3, 1), params=(a,))
    least = minimize(lambda y, a: ((y - a) ** 2).sum() + (y**4).sum(), torch.zeros(3, 3), params=(a,))
    fixed = equilibrium(lambda y, a: torch.tanh(a @ y + 0.3), torch.zeros(3, 1), params=(a,))
    matrix = xitorch.LinearOperator.m(a @ a.mT + torch.eye(3), is_hermitian=True)
    values = symeig(matrix, neig=2)[0]
    solution = solve(matrix, torch.ones(3, 1))
    area = quad(lambda x, a: torch.exp(-(x**2)) * a.sum(), torch.tensor(0.0), torch.tensor(1.0), params=(a,))
    total = sum(value.sum() for value in (root, least, fixed, values, solution, area))
    return total, root, least, values, solution, area, torch.autograd.grad(total, a)
