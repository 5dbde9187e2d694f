"""The optimizer Lion."""

from lion_pytorch import Lion

from bench.drawn import normal, perceptron, trained


def main():
    model, points = perceptron(), normal(16, 4)
    return trained(lambda: model(points).square().mean(), Lion(model.parameters(), lr=1e-3, weight_decay=1e-2)), [
        *model.parameters()
    ]
