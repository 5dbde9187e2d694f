"""A block of convolution and attention."""

from conformer import Conformer

from bench.drawn import filled, normal, trained


def main():
    model, x = (
        filled(Conformer(dim=16, depth=1, dim_head=8, heads=2, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=7)),
        normal(2, 12, 16),
    )
    return trained(lambda: model(x).square().mean(), model, steps=3)
