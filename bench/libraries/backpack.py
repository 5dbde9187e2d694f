"""Second-order quantities beside the gradient: batch gradients, variance, curvature."""

import torch
from backpack import backpack, extend
from backpack.extensions import KFLR, BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, SumGradSquared, Variance

from bench.drawn import integers, normal, perceptron


def main():
    model, loss = extend(perceptron()), extend(torch.nn.CrossEntropyLoss())
    points, classes, found = normal(8, 4), integers(2, 8), []
    with backpack(BatchGrad(), Variance(), BatchL2Grad(), SumGradSquared(), DiagGGNExact(), DiagHessian(), KFLR()):
        loss(model(points), classes).backward()
    for parameter in model.parameters():
        found += [parameter.grad_batch, parameter.variance, parameter.batch_l2, parameter.sum_grad_squared]
        found += [parameter.diag_ggn_exact, parameter.diag_h, *parameter.kflr]
    return found
