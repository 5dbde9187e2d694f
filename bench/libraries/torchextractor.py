"""Results of inner layers."""

import torchextractor

from bench.drawn import normal, perceptron


def main():
    model = torchextractor.Extractor(perceptron(), ["0", "1"])
    return model(normal(3, 4))
