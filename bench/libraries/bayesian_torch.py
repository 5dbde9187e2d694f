"""Layers with weights drawn by reparameterization and flipout."""

from bayesian_torch.layers import Conv2dReparameterization, LinearFlipout, LinearReparameterization

from bench.drawn import filled, normal


def main():
    found = []
    for layer, x in (
        (LinearReparameterization(4, 3), normal(5, 4)),
        (LinearFlipout(4, 3), normal(5, 4)),
        (Conv2dReparameterization(2, 3, 3), normal(1, 2, 6, 6)),
    ):
        filled(layer)
        output, divergence = layer(x)
        (output.square().sum() + divergence).backward()
        found += [
            output,
            divergence,
            *(parameter.grad for parameter in layer.parameters() if parameter.grad is not None),
        ]
    return found
