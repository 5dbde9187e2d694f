"""A stochastic differential equation, and gradients by its adjoint."""

import torch
import torchsde

from bench.drawn import normal, perceptron, trained


class Process(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift, self.diffusion = perceptron(3, 3), perceptron(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return 0.1 * self.diffusion(y).sigmoid()


def main():
    process, start, times, found = Process(), normal(4, 3), torch.linspace(0, 1, 4), []
    for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):

        def loss():
            noise = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=3, levy_area_approximation="space-time")
            return solve(process, start, times, bm=noise, dt=0.1)[-1].square().mean()

        found.append(trained(loss, process, steps=2))
    return found
