"""A surrogate that proposes the next trial."""

import torch
from ax.generators.torch.botorch_modular.surrogate import Surrogate
from ax.utils.stats.model_fit_stats import _r2 as r2
from botorch.models import SingleTaskGP
from botorch.utils.datasets import SupervisedDataset

from bench.drawn import array, uniform


def main():
    x = uniform(8, 2).double()
    y = x.sum(1, keepdim=True)
    return r2(y.numpy()[:, 0], y.numpy()[:, 0] + 0.1 * array(8), None) if False else float(y.sum())
