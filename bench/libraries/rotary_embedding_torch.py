"""Rotary positions for queries and keys, with scales and axes."""

from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

from bench.drawn import normal


def main():
    query, key = normal(1, 2, 10, 8).requires_grad_(), normal(1, 2, 10, 8)
    plain, scaled = RotaryEmbedding(dim=8), RotaryEmbedding(dim=8, use_xpos=True)
    rotated = plain.rotate_queries_or_keys(query)
    rotated.square().mul(key).sum().backward()
    axes = RotaryEmbedding(dim=4, freqs_for="pixel").get_axial_freqs(3, 4)
    image = apply_rotary_emb(axes, normal(1, 3, 4, 8))
    return rotated, scaled.rotate_queries_and_keys(query, key), query.grad, image
