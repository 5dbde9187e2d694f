"""A unit is trained by the loop of TNT."""

import torch
from torchtnt.framework.auto_unit import AutoUnit
from torchtnt.framework.train import train

from bench.drawn import batches, perceptron

LOSSES = []


class Unit(AutoUnit):
    def compute_loss(self, state, data):
        outputs = self.module(data[0])
        loss = torch.nn.functional.cross_entropy(outputs, data[1])
        LOSSES.append(float(loss.detach()))
        return loss, outputs

    def configure_optimizers_and_lr_scheduler(self, module):
        return torch.optim.SGD(module.parameters(), lr=0.1), None


def main():
    LOSSES.clear()
    model = perceptron()
    train(Unit(module=model, device=torch.device("cpu")), batches(), max_epochs=2)
    return list(LOSSES), [*model.parameters()]
