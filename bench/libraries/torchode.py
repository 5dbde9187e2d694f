"""A batch of differential equations, each with its own steps."""

import torch
import torchode

from bench.drawn import uniform


def main():
    term = torchode.ODETerm(lambda t, y: -y * (1 + t[:, None]))
    method = torchode.Tsit5(term=term)
    solver = torchode.AutoDiffAdjoint(method, torchode.IntegralController(atol=1e-6, rtol=1e-3, term=term))
    start = uniform(4, 2).requires_grad_()
    problem = torchode.InitialValueProblem(y0=start, t_eval=torch.linspace(0, 1, 4).repeat(4, 1))
    solution = solver.solve(problem)
    solution.ys.square().sum().backward()
    return solution.ys, start.grad, solution.stats["n_steps"]
