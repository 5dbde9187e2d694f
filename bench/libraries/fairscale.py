"""Checkpointed and reversible layers, and optimizers with scaled gradients."""

import torch
from fairscale.nn import checkpoint_wrapper
from fairscale.optim import AdaScale

from bench.drawn import normal, perceptron, trained


def main():
    model, points = checkpoint_wrapper(perceptron()), normal(8, 4)
    losses = trained(lambda: model(points).square().mean(), model)
    other = perceptron()
    optimizer = AdaScale(torch.optim.SGD(other.parameters(), lr=0.1), world_size=1, num_gradients_to_accumulate=2)
    for half in (points[:4], points[4:]):
        other(half).square().mean().backward()
    optimizer.step()
    return losses, [*other.parameters()]
