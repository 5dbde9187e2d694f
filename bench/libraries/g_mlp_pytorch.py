"""Gated perceptrons for tokens and images."""

import torch
from g_mlp_pytorch import gMLP, gMLPVision

from bench.drawn import filled, integers, normal, trained


def main():
    model, tokens = filled(gMLP(num_tokens=32, dim=16, depth=2, seq_len=12, heads=1, causal=True)), integers(32, 2, 12)
    losses = trained(lambda: torch.nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens), model, steps=3)
    return losses, filled(gMLPVision(image_size=16, patch_size=4, num_classes=3, dim=16, depth=1)).eval()(
        normal(2, 3, 16, 16)
    )
