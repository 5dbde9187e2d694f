"""Differentially private SGD: gradients of each sample, clipped, with noise."""

import torch
from opacus import PrivacyEngine

from bench.drawn import integers, normal, perceptron


def main():
    model = perceptron()
    data = torch.utils.data.TensorDataset(normal(32, 4), integers(2, 32))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    engine, settings = PrivacyEngine(), {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "poisson_sampling": False}
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader, **settings)
    losses = []
    for points, classes in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(points), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, engine.get_epsilon(1e-5)
