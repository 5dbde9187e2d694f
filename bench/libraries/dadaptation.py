"""Optimizers that adapt their rate: Adam, SGD, AdaGrad, Lion."""

import dadaptation

from bench.drawn import normal, perceptron, trained


def main():
    found, points = [], normal(16, 4)
    for kind in (dadaptation.DAdaptAdam, dadaptation.DAdaptSGD, dadaptation.DAdaptAdaGrad, dadaptation.DAdaptLion):
        model = perceptron()
        found.append(trained(lambda: model(points).square().mean(), kind(model.parameters(), lr=1.0), steps=8))
    return found
