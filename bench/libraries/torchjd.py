"""Descent of several losses: aggregated Jacobians."""

import torch
from torchjd.aggregation import MGDA, PCGrad, UPGrad
from torchjd.autojac import backward, jac_to_grad

from bench.drawn import normal, perceptron


def main():
    points, found = normal(8, 4), []
    for aggregator in (UPGrad(), MGDA(), PCGrad()):
        model = perceptron()
        output = model(points)
        backward([output[:, 0].square().mean(), (output[:, 1] - 1).square().mean()])
        jac_to_grad(model.parameters(), aggregator)
        found += [parameter.grad for parameter in model.parameters()]
    return found
