"""Shapes of arguments in annotations, checked."""

from torchtyping import TensorType
from typing import get_type_hints

import torch

from bench.drawn import normal, perceptron


def main():
    kind, pair = TensorType["batch", 4, float], TensorType[2, 3]
    points = normal(3, 4)
    return perceptron()(points), isinstance(points, TensorType[3, 4]), isinstance(points, pair), isinstance(points, TensorType[3, 5]), len(str(kind)) > 0
