"""Counts of operations and parameters."""

import torch
from thop import profile

from bench.drawn import normal


def main():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2)
    )
    return profile(model, inputs=(normal(1, 3, 8, 8),), verbose=False)
