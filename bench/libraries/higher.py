"""Meta-learning through unrolled steps of SGD."""

import higher
import torch

from bench.drawn import normal, perceptron


def main():
    model, points, targets = perceptron(), normal(8, 4), normal(8, 2)
    inner, outer = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        outer.zero_grad()
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, steps):
            for _ in range(2):
                steps.step((functional(points) - targets).square().mean())
            loss = functional(points).square().mean()
            loss.backward()
        outer.step()
        losses.append(loss)
    return losses
