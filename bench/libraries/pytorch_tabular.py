"""Layers for tables: gated units, trees and attention."""

from pytorch_tabular.models.common.layers import GatedFeatureLearningUnit
from pytorch_tabular.models.common.layers.activations import entmax15, sparsemax

from bench.drawn import filled, normal, trained


def main():
    x = normal(16, 6)
    unit = filled(GatedFeatureLearningUnit(n_features_in=6, n_stages=2, feature_mask_function=entmax15))
    return sparsemax(x, -1), entmax15(x, -1), trained(lambda: unit(x).square().mean(), unit)
