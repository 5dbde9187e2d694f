"""A trial: epochs, metrics and callbacks."""

import torch
from torchbearer import Trial

from bench.drawn import integers, normal, perceptron


def main():
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trial = Trial(model, optimizer, torch.nn.CrossEntropyLoss(), metrics=["acc", "loss"], verbose=0)
    trial.with_train_data(normal(32, 4), integers(2, 32), batch_size=8, shuffle=False, num_workers=0)
    history = trial.run(epochs=2, verbose=0)
    return [value for epoch in history for value in epoch.values() if isinstance(value, float)], [*model.parameters()]
