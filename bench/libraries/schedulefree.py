"""Optimizers without a schedule, in training and in evaluation."""

import schedulefree

from bench.drawn import normal, perceptron, trained


def main():
    found, points = [], normal(16, 4)
    for kind in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree):
        model = perceptron()
        optimizer = kind(model.parameters(), lr=0.01)
        optimizer.train()
        found.append(trained(lambda: model(points).square().mean(), optimizer))
        optimizer.eval()
        found.append(model(points))
    return found
