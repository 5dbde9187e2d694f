"""Attention by chunks, with its own derivative."""

from memory_efficient_attention_pytorch import Attention, FlashAttention

from bench.drawn import filled, normal, trained


def main():
    x, found = normal(2, 16, 16), []
    for kind in (
        Attention(dim=16, heads=2, dim_head=8, causal=True, memory_efficient=True, q_bucket_size=4, k_bucket_size=8),
        FlashAttention(dim=16, heads=2, dim_head=8, causal=True, q_bucket_size=4, k_bucket_size=8),
    ):
        layer = filled(kind)
        found.append(trained(lambda: layer(x).square().mean(), layer, steps=3))
    return found
