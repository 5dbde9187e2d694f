"""Augmentations of sound."""

from torch_audiomentations import Compose, Gain, PolarityInversion, Shift

from bench.drawn import normal


def main():
    sound = normal(4, 1, 800)
    settings = {"p": 1.0, "output_type": "tensor"}
    layers = [Gain(min_gain_in_db=-6.0, max_gain_in_db=6.0, **settings), PolarityInversion(**settings), Shift(**settings)]
    return Compose(layers, output_type="tensor")(sound, sample_rate=8000)
