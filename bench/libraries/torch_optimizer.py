"""Ten optimizers, and lookahead."""

import torch_optimizer

from bench.drawn import normal, perceptron, trained

NAMES = "AdaBound", "AdaMod", "AggMo", "DiffGrad", "Lamb", "NovoGrad", "QHAdam", "RAdam", "SGDW", "Yogi"


def main():
    found, points = [], normal(16, 4)
    for name in NAMES:
        model = perceptron()
        optimizer = getattr(torch_optimizer, name)(model.parameters(), lr=1e-2)
        if name == "Yogi":
            optimizer = torch_optimizer.Lookahead(optimizer, k=2)
        found.append(trained(lambda: model(points).square().mean(), optimizer))
    return found
