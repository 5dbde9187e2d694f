"""Moving averages of parameters."""

import torch
from torch_ema import ExponentialMovingAverage

from bench.drawn import normal, perceptron


def main():
    model, points = perceptron(), normal(16, 4)
    average, optimizer = (
        ExponentialMovingAverage(model.parameters(), decay=0.9),
        torch.optim.SGD(model.parameters(), lr=0.1),
    )
    for _ in range(4):
        optimizer.zero_grad()
        model(points).square().mean().backward()
        optimizer.step()
        average.update()
    with average.average_parameters():
        inside = model(points)
    return inside, model(points), average.state_dict()["shadow_params"]
