"""Attention by random features, orthogonal ones."""

from performer_pytorch import Performer, SelfAttention

from bench.drawn import filled, normal, trained


def main():
    model, x = filled(Performer(dim=16, depth=1, heads=2, dim_head=8, nb_features=16)), normal(2, 12, 16)
    causal = filled(
        SelfAttention(dim=16, heads=2, dim_head=8, causal=False, generalized_attention=True, nb_features=16)
    )
    return trained(lambda: model(x).square().mean(), model), causal(x)
