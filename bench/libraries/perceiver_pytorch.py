"""A Perceiver learns to classify images."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO

from bench.drawn import filled, integers, normal, trained


def main():
    heads = {
        "num_latents": 8,
        "latent_dim": 16,
        "cross_heads": 1,
        "latent_heads": 2,
        "cross_dim_head": 8,
        "latent_dim_head": 8,
    }
    model = filled(
        Perceiver(input_channels=3, input_axis=2, num_freq_bands=4, max_freq=10.0, depth=2, num_classes=3, **heads)
    )
    images, classes = normal(2, 8, 8, 3), integers(3, 2)
    losses = trained(lambda: torch.nn.functional.cross_entropy(model(images), classes), model)
    other = filled(PerceiverIO(dim=12, queries_dim=6, logits_dim=5, depth=1, **heads))
    return losses, other(normal(2, 10, 12), queries=normal(7, 6))
