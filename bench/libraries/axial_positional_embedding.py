"""Positions as sums of axes."""

from axial_positional_embedding import AxialPositionalEmbedding

from bench.drawn import filled, normal, trained


def main():
    layer, x = filled(AxialPositionalEmbedding(dim=8, axial_shape=(4, 4))), normal(2, 16, 8)
    return trained(lambda: (x + layer(x)).square().mean(), layer)
