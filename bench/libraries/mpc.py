"""Model-predictive control of a linear system, differentiated."""

import torch
from mpc import mpc
from mpc.mpc import LinDx, QuadCost

from bench.drawn import normal


def main():
    steps, states, controls = 5, 3, 2
    cost = torch.eye(5).repeat(steps, 1, 1, 1)
    dynamics = (torch.cat([torch.eye(3) + 0.1 * normal(3, 3), normal(3, 2)], 1)).repeat(steps, 1, 1, 1).requires_grad_()
    solver = mpc.MPC(states, controls, steps, lqr_iter=5, verbose=-1, n_batch=1, exit_unconverged=False)
    x, u, objective = solver(normal(1, 3), QuadCost(cost, 0.1 * normal(steps, 1, 5)), LinDx(dynamics))
    objective.sum().backward()
    return x, u, objective, dynamics.grad
