"""MADGRAD and its mirror descent."""

import madgrad

from bench.drawn import normal, perceptron, trained


def main():
    found, points = [], normal(16, 4)
    for kind in (madgrad.MADGRAD, madgrad.MirrorMADGRAD):
        model = perceptron()
        found.append(
            trained(lambda: model(points).square().mean(), kind(model.parameters(), lr=1e-2, weight_decay=1e-4))
        )
    return found
