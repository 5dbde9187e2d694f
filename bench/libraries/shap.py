"""Shapley values of a network by gradients and DeepLift."""

import shap

from bench.drawn import normal, perceptron


def main():
    model, background, points = perceptron(), normal(16, 4), normal(3, 4)
    deep = shap.DeepExplainer(model, background).shap_values(points, check_additivity=False)
    gradient = shap.GradientExplainer(model, background).shap_values(points, nsamples=20, rseed=0)
    return deep, gradient
