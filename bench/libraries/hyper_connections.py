"""Residual streams with learned connections."""

import torch
from hyper_connections import get_init_and_expand_reduce_stream_functions

from bench.drawn import filled, normal, trained


def main():
    make, expand, reduce = get_init_and_expand_reduce_stream_functions(3)
    layer, x = filled(make(dim=8, branch=torch.nn.Linear(8, 8))), normal(2, 5, 8)
    return trained(lambda: reduce(layer(expand(x))).square().mean(), layer, steps=3)
