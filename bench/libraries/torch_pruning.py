"""Channels are pruned through the graph of dependencies."""

import torch
import torch_pruning

from bench.drawn import filled, normal


def main():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 3),
    )
    filled(model).eval()
    images = normal(2, 3, 8, 8)
    settings = {
        "importance": torch_pruning.importance.MagnitudeImportance(p=2),
        "pruning_ratio": 0.5,
        "ignored_layers": [model[5]],
    }
    torch_pruning.pruner.MagnitudePruner(model, images, **settings).step()
    return (
        model[0].out_channels,
        model[5].in_features,
        model(images),
        torch_pruning.utils.count_ops_and_params(model, images),
    )
