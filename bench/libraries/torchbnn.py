"""A Bayesian network with the divergence of its weights."""

import torch
import torchbnn

from bench.drawn import filled, integers, normal, trained


def main():
    layers = [torchbnn.BayesLinear(0, 0.1, 4, 8), torch.nn.ReLU(), torchbnn.BayesLinear(0, 0.1, 8, 2)]
    model, points, classes = filled(torch.nn.Sequential(*layers)), normal(16, 4), integers(2, 16)
    divergence = torchbnn.BKLLoss(reduction="mean", last_layer_only=False)
    return trained(lambda: torch.nn.functional.cross_entropy(model(points), classes) + 0.1 * divergence(model), model)
