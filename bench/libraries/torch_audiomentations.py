"""Augmentations of sound."""

from torch_audiomentations import Compose, Gain, PeakNormalization, PolarityInversion

from bench.drawn import normal


def main():
    sound = normal(4, 1, 800)
    layers = [Gain(min_gain_in_db=-6.0, max_gain_in_db=6.0, p=1.0), PolarityInversion(p=0.5), PeakNormalization(p=0.5)]
    return Compose(layers)(sound, sample_rate=8000)
