"""Equivariant tensor products and spherical harmonics, with gradients."""

import torch
from e3nn import o3

from bench.drawn import filled, normal, trained


def main():
    irreps, points = o3.Irreps("4x0e + 2x1o"), normal(6, 3)
    product = filled(o3.FullyConnectedTensorProduct(irreps, o3.Irreps.spherical_harmonics(2), "4x0e + 2x1o"))
    linear = filled(o3.Linear(irreps, "2x0e"))
    features, harmonics = irreps.randn(6, -1), o3.spherical_harmonics([0, 1, 2], points, True)
    losses = trained(
        lambda: linear(product(features, harmonics)).square().mean(), [*product.parameters(), *linear.parameters()]
    )
    rotation = o3.Irreps("1x1o").D_from_angles(torch.tensor(0.3), torch.tensor(0.5), torch.tensor(0.7))
    return losses, harmonics, rotation, o3.wigner_3j(1, 1, 2)
