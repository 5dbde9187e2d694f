"""The optimizer Ranger, with and without centralized gradients."""

from pytorch_ranger import Ranger, RangerQH

from bench.drawn import normal, perceptron, trained


def main():
    found, points = [], normal(16, 4)
    for kind in (Ranger, RangerQH):
        model = perceptron()
        found.append(trained(lambda: model(points).square().mean(), kind(model.parameters(), lr=1e-2), steps=8))
    return found
