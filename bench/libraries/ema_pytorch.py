"""A copy of a model with averaged weights."""

import torch
from ema_pytorch import EMA

from bench.drawn import normal, perceptron


def main():
    model, points = perceptron(), normal(16, 4)
    average, optimizer = (
        EMA(model, beta=0.9, update_after_step=1, update_every=1),
        torch.optim.SGD(model.parameters(), lr=0.1),
    )
    for _ in range(5):
        optimizer.zero_grad()
        model(points).square().mean().backward()
        optimizer.step()
        average.update()
    return average(points), model(points)
