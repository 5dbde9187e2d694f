"""A small diffusion model of images: losses and a sample."""

import torch
from denoising_diffusion_pytorch import Unet

from bench.drawn import filled, trained, uniform


def main():
    model = filled(Unet(dim=32, dim_mults=(1, 2)))
    images, times = uniform(2, 3, 8, 8), torch.tensor([3, 7])
    return trained(lambda: (model(images, times) - images).square().mean(), model, steps=2)
