"""A training loop with a prepared model, loader and optimizer, and accumulated gradients."""

import torch
from accelerate import Accelerator

from bench.drawn import integers, normal, perceptron


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = perceptron()
    data = torch.utils.data.TensorDataset(normal(32, 4), integers(2, 32))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for points, classes in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(points), classes)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss)
    return losses
