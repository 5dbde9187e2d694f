"""Perceptrons that mix patches and channels."""

import torch
from mlp_mixer_pytorch import MLPMixer

from bench.drawn import filled, integers, normal, trained


def main():
    model = filled(MLPMixer(image_size=16, channels=3, patch_size=4, dim=16, depth=2, num_classes=3))
    images, classes = normal(4, 3, 16, 16), integers(3, 4)
    return trained(lambda: torch.nn.functional.cross_entropy(model(images), classes), model)
