"""The range of good rates."""

import torch
from torch_lr_finder import LRFinder

from bench.drawn import integers, normal, perceptron


def main():
    model = perceptron()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(normal(64, 4), integers(2, 64)), batch_size=16)
    finder = LRFinder(model, torch.optim.SGD(model.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss(), device="cpu")
    finder.range_test(data, end_lr=1.0, num_iter=8)
    return finder.history["loss"], finder.history["lr"]
