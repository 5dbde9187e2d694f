"""Curvature as linear operators: Hessian, Gauss-Newton, K-FAC."""

import torch
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator, KFACLinearOperator

from bench.drawn import integers, normal, perceptron


def main():
    model, loss, data, found = perceptron(), torch.nn.CrossEntropyLoss(), [(normal(8, 4), integers(2, 8))], []
    parameters = [*model.parameters()]
    vector = normal(sum(parameter.numel() for parameter in parameters))
    for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator, KFACLinearOperator):
        operator = kind(
            model, loss, parameters, data, **({"fisher_type": "empirical"} if kind is KFACLinearOperator else {})
        )
        found.append(operator @ vector)
    return found
