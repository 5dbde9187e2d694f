"""Embeddings of numerical features: piecewise linear and periodic."""

import torch
from rtdl_num_embeddings import LinearReLUEmbeddings, PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins

from bench.drawn import filled, normal, trained


def main():
    x, found = normal(32, 3), []
    bins = compute_bins(x, n_bins=4)
    for layer in (
        LinearReLUEmbeddings(3, 4),
        PeriodicEmbeddings(3, 4, lite=False),
        PiecewiseLinearEmbeddings(bins, 4, activation=False, version="B"),
    ):
        model = filled(torch.nn.Sequential(layer, torch.nn.Flatten(), torch.nn.Linear(12, 1)))
        found.append(trained(lambda: model(x).square().mean(), model))
    return found, bins
