"""Metrics as functions and as objects."""

from torcheval.metrics import BinaryAUROC, Mean, MulticlassAccuracy, Perplexity, R2Score
from torcheval.metrics.functional import binary_auprc, multiclass_confusion_matrix, multiclass_f1_score

from bench.drawn import integers, normal, uniform


def main():
    scores, classes = normal(32, 3), integers(3, 32)
    metrics = [
        MulticlassAccuracy().update(scores, classes),
        BinaryAUROC().update(uniform(32), integers(2, 32)),
        R2Score().update(normal(32), normal(32)),
    ]
    metrics += [Mean().update(uniform(8)), Perplexity().update(normal(2, 5, 7), integers(7, 2, 5))]
    found = [
        multiclass_f1_score(scores, classes, num_classes=3, average="macro"),
        binary_auprc(uniform(32), integers(2, 32)),
    ]
    return [metric.compute() for metric in metrics], found, multiclass_confusion_matrix(scores, classes, 3)
