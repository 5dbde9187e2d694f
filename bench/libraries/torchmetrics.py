"""Metrics of classification, regression and images, updated by batches."""

import torchmetrics
from torchmetrics import image, regression

from bench.drawn import integers, normal, uniform


def main():
    counted = {"task": "multiclass", "num_classes": 3, "average": "macro"}
    metrics = [torchmetrics.Accuracy(**counted), torchmetrics.F1Score(**counted), torchmetrics.AUROC(**counted)]
    metrics.append(torchmetrics.CalibrationError(task="multiclass", num_classes=3))
    measures = [regression.PearsonCorrCoef(), regression.SpearmanCorrCoef(), regression.R2Score()]
    ssim = image.StructuralSimilarityIndexMeasure(data_range=1.0)
    for _ in range(4):
        scores, classes = normal(32, 3).softmax(1), integers(3, 32)
        for metric in metrics:
            metric.update(scores, classes)
        truth = normal(32)
        for metric in measures:
            metric.update(truth + 0.5 * normal(32), truth)
        ssim.update(uniform(2, 1, 16, 16), uniform(2, 1, 16, 16))
    return [metric.compute() for metric in [*metrics, *measures, ssim]]
