"""Spectrograms as convolutions: short-time Fourier, mel, constant Q."""

from nnAudio import features

from bench.drawn import normal


def main():
    sound = normal(1, 4096)
    layers = [
        features.STFT(n_fft=256, hop_length=64, output_format="Magnitude", verbose=False),
        features.MelSpectrogram(sr=8000, n_fft=256, n_mels=16, hop_length=64, verbose=False),
    ]
    layers += [
        features.CQT1992v2(sr=8000, fmin=220, n_bins=24, hop_length=64, verbose=False),
        features.MFCC(sr=8000, n_mfcc=8, n_fft=256, n_mels=16, hop_length=64, verbose=False),
    ]
    return [layer(sound) for layer in layers]
