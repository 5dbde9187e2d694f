"""Transformers for tables."""

import torch
from tab_transformer_pytorch import FTTransformer, TabTransformer

from bench.drawn import filled, integers, normal, trained


def main():
    categories, x, found = integers(4, 8, 3), normal(8, 2), []
    sizes = {"categories": (4, 4, 4), "num_continuous": 2, "dim": 16, "dim_out": 1, "depth": 1, "heads": 2}
    for model in (TabTransformer(**sizes, mlp_act=torch.nn.ReLU()), FTTransformer(**sizes)):
        filled(model)
        found.append(trained(lambda: model(categories, x).square().mean(), model))
    return found
