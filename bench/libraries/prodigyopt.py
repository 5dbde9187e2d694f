"""Prodigy, which finds its rate."""

from prodigyopt import Prodigy

from bench.drawn import normal, perceptron, trained


def main():
    model, points = perceptron(), normal(16, 4)
    return trained(lambda: model(points).square().mean(), Prodigy(model.parameters(), lr=1.0), steps=10), [
        *model.parameters()
    ]
