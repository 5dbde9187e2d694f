"""A neural differential equation with sensitivities."""

import torch
from torchdyn.core import NeuralODE

from bench.drawn import normal, perceptron, trained


def main():
    start, times, found = normal(4, 2), torch.linspace(0, 1, 4), []
    for solver in ("rk4", "dopri5"):
        model = NeuralODE(perceptron(2, 2), sensitivity="autograd", solver=solver, return_t_eval=False)
        found.append(trained(lambda: model(start, times)[-1].square().mean(), model, steps=2))  # noqa: B023
    return found
