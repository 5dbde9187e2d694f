"""Sparse attention: entmax 1.5, sparsemax, and their losses."""

from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax

from bench.drawn import integers, normal, perceptron, trained


def main():
    scores, points, classes = 2 * normal(6, 8), normal(16, 4), integers(2, 16)
    found = [function(scores, dim=-1) for function in (sparsemax, entmax15, entmax_bisect)]
    for loss in (Entmax15Loss(), SparsemaxLoss()):
        model = perceptron()
        found.append(trained(lambda: loss(model(points), classes), model))
    return found
