"""Mamba: a selective scan, parallel and step by step."""

import torch
from mambapy.mamba import Mamba, MambaConfig

from bench.drawn import filled, normal, trained


def main():
    model, x = filled(Mamba(MambaConfig(d_model=16, n_layers=2, d_state=4))), normal(2, 10, 16)
    losses = trained(lambda: model(x).square().mean(), model, steps=3)
    caches = [(None, torch.zeros(2, 32, 3)) for _ in range(2)]
    for step in range(3):
        result, caches = model.step(x[:, step], caches)
    return losses, result
