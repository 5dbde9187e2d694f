"""Resampling and filters of sound."""

import julius

from bench.drawn import normal


def main():
    sound = normal(2, 1000).requires_grad_()
    found = [
        julius.resample_frac(sound, 4, 3),
        julius.lowpass_filter(sound, 0.1),
        julius.bandpass_filter(sound, 0.1, 0.2),
    ]
    found += [julius.fft_conv1d(sound[:, None], normal(1, 1, 65)), *julius.split_bands(sound, 1000, n_bands=3)]
    sum(value.square().sum() for value in found).backward()
    return found, sound.grad
