"""Histograms in several dimensions."""

import torchist

from bench.drawn import normal


def main():
    points = normal(200, 2)
    hist = torchist.histogramdd(points, bins=5, low=-3.0, upp=3.0)
    return (
        hist.float(),
        torchist.histogram(points[:, 0], bins=6).float(),
        torchist.ravel_multi_index((points > 0).long(), (2, 2)).float(),
    )
