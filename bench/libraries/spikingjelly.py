"""Spiking neurons over several steps, with surrogate gradients."""

import torch
from spikingjelly.activation_based import functional, layer, neuron, surrogate

from bench.drawn import filled, integers, normal, trained


def main():
    settings = {"surrogate_function": surrogate.ATan(), "step_mode": "s"}
    layers = [
        layer.Linear(4, 16),
        neuron.LIFNode(tau=2.0, **settings),
        layer.Linear(16, 2),
        neuron.ParametricLIFNode(**settings),
    ]
    model, points, classes = filled(torch.nn.Sequential(*layers)), 2 * normal(8, 4), integers(2, 8)

    def loss():
        functional.reset_net(model)
        rates = sum(model(points) for _ in range(4)) / 4
        return torch.nn.functional.mse_loss(rates, torch.nn.functional.one_hot(classes, 2).float())

    return trained(loss, model, rate=0.05)
