"""A quadratic program as a layer, differentiated."""

import torch
from qpth.qp import QPFunction

from bench.drawn import normal


def main():
    half = normal(4, 4).double()
    q, p = half @ half.mT + torch.eye(4).double(), normal(2, 4).double().requires_grad_()
    g, h, empty = normal(3, 4).double(), torch.ones(3).double(), torch.empty(0).double()
    solution = QPFunction(verbose=-1)(q, p, g, h, empty, empty)
    solution.square().sum().backward()
    return solution, p.grad
