"""A neural differential equation by dopri5, its adjoint, and rk4."""

import torch
from torchdiffeq import odeint, odeint_adjoint

from bench.drawn import normal, perceptron, trained


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = perceptron(2, 2)

    def forward(self, t, y):
        return self.network(y) - 0.1 * y


def main():
    field, start, times = Field(), normal(4, 2), torch.linspace(0, 1, 5)
    found = []
    for solve, method in ((odeint, "dopri5"), (odeint_adjoint, "dopri5"), (odeint, "rk4"), (odeint, "implicit_adams")):
        found.append(trained(lambda: solve(field, start, times, method=method)[-1].square().mean(), field, steps=2))
    return found
