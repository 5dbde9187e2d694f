"""Reversible layers with attention by hashes."""

import torch
from reformer_pytorch import LSHSelfAttention, ReformerLM

from bench.drawn import filled, integers, normal, trained


def main():
    model = filled(
        ReformerLM(num_tokens=32, dim=16, depth=2, max_seq_len=32, heads=2, bucket_size=8, n_hashes=2, causal=True)
    )
    tokens = integers(32, 2, 32)

    def loss():
        return torch.nn.functional.cross_entropy(model(tokens)[:, :-1].transpose(1, 2), tokens[:, 1:])

    layer = filled(LSHSelfAttention(dim=16, heads=2, bucket_size=8, n_hashes=2))
    return trained(loss, model, steps=3), layer(normal(2, 32, 16))
