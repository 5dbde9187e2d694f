"""Models rewritten and their configurations read."""

import torch
from optimum.fx.optimization import ChangeTrueDivToMulByInverse, compose
from torch.fx import symbolic_trace

from bench.drawn import normal


class Network(torch.nn.Module):
    def forward(self, x):
        return (x / 3.0).tanh()


def main():
    traced = symbolic_trace(Network())
    changed = compose(ChangeTrueDivToMulByInverse())(traced)
    return changed(normal(4, 4))
