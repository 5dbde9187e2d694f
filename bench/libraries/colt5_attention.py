"""Attention for tokens that a router chooses, by coordinate descent."""

from colt5_attention import ConditionalRoutedFeedForward

from bench.drawn import filled, normal, trained


def main():
    layer = filled(ConditionalRoutedFeedForward(16, num_heavy_tokens=4, light_ff_mult=0.5, heavy_ff_mult=2))
    x = normal(2, 12, 16)
    return trained(lambda: layer(x).square().mean(), layer, steps=3)
