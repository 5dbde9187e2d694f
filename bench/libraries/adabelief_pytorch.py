"""AdaBelief, with and without rectification."""

from adabelief_pytorch import AdaBelief

from bench.drawn import normal, perceptron, trained


def main():
    found, points = [], normal(16, 4)
    for rectify in (True, False):
        model = perceptron()
        optimizer = AdaBelief(
            model.parameters(), lr=1e-2, eps=1e-8, rectify=rectify, weight_decouple=True, print_change_log=False
        )
        found.append(trained(lambda: model(points).square().mean(), optimizer, steps=8))
    return found
