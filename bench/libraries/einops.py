"""A patch embedding, rearranged back, and attention by einsum."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce

from bench.drawn import filled, normal, trained


def main():
    images = normal(2, 3, 16, 16)
    patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    mean = reduce(patches, "b n d -> b d", "mean")
    weights = einsum(patches, repeat(mean, "b d -> b h d", h=2), "b n d, b h d -> b h n").softmax(-1)
    layers = [
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        torch.nn.Linear(48, 8),
        Reduce("b n d -> b d", "max"),
    ]
    model = filled(torch.nn.Sequential(*layers))
    return weights, trained(lambda: model(images).square().mean(), model)
