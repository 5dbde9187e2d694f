"""A memory addressed by products of keys."""

from product_key_memory import PKM

from bench.drawn import filled, normal, trained


def main():
    layer, x = filled(PKM(dim=16, heads=2, num_keys=8, topk=4, dim_head=8)), normal(2, 6, 16)
    return trained(lambda: layer(x).square().mean(), layer, steps=3)
