"""Calibration of probabilities by temperature."""

import numpy as np
from netcal.metrics import ECE
from netcal.scaling import LogisticCalibration, TemperatureScaling

from bench.drawn import array


def main():
    scores = 1 / (1 + np.exp(-2 * array(100)))
    classes = (scores + 0.3 * array(100) > 0.5).astype(int)
    found = [ECE(10).measure(scores, classes)]
    for kind in (TemperatureScaling, LogisticCalibration):
        model = kind(method="mle")
        model.fit(scores, classes)
        found.append(model.transform(scores))
    return found
