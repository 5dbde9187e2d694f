"""The optimizer Ranger21 with its schedule."""

from ranger21 import Ranger21

from bench.drawn import normal, perceptron, trained


def main():
    model, points = perceptron(), normal(16, 4)
    optimizer = Ranger21(model.parameters(), lr=1e-2, num_epochs=2, num_batches_per_epoch=5, logging_active=False)
    return trained(lambda: model(points).square().mean(), optimizer, steps=8)
