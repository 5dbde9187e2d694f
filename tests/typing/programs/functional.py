"""Derivatives as functions, and a check of one."""

import clew as torch
from clew.autograd.functional import hessian, jacobian


def energy(x: torch.Tensor) -> torch.Tensor:
    return (x**3).sum()


x = torch.tensor([1.0, 2.0], dtype=torch.float64)
print(jacobian(energy, x), hessian(energy, x))
print(torch.autograd.gradcheck(energy, (x.requires_grad_(),)))
