"""Descent of several losses: aggregated Jacobians."""

from torchjd.aggregation import IMTLG, MGDA, PCGrad
from torchjd.autojac import backward, jac_to_grad

from bench.drawn import normal, perceptron


def main():
    points, found = normal(8, 4), []
    for aggregator in (MGDA(), PCGrad(), IMTLG()):
        model = perceptron()
        output = model(points)
        backward([output[:, 0].square().mean(), (output[:, 1] - 1).square().mean()])
        jac_to_grad(model.parameters(), aggregator)
        found += [parameter.grad for parameter in model.parameters()]
    return found
