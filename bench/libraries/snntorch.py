"""Spiking neurons with surrogate gradients."""

import snntorch
import torch
from snntorch import functional, surrogate

from bench.drawn import filled, integers, normal, trained


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 16), torch.nn.Linear(16, 2)
        self.leaky = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid())
        self.synaptic = snntorch.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.atan())

    def forward(self, x):
        memory, (current, potential), spikes = self.leaky.init_leaky(), self.synaptic.init_synaptic(), []
        for _ in range(6):
            spike, memory = self.leaky(self.first(x), memory)
            spike, current, potential = self.synaptic(self.second(spike), current, potential)
            spikes.append(spike)
        return torch.stack(spikes)


def main():
    model, points, classes = filled(Network()), normal(8, 4), integers(2, 8)
    loss = functional.ce_rate_loss()
    return trained(lambda: loss(model(points), classes), model, rate=0.05)
