"""Filters, colours, warps and corners of images, with gradients."""

import kornia
import torch

from bench.drawn import uniform


def main():
    images = uniform(2, 3, 16, 16).requires_grad_()
    found = [
        kornia.filters.gaussian_blur2d(images, (3, 3), (1.0, 1.0)),
        kornia.filters.sobel(images),
        kornia.color.rgb_to_hsv(images),
    ]
    found += [kornia.color.rgb_to_lab(images), kornia.geometry.rotate(images, torch.tensor([15.0, 30.0]))]
    found += [
        kornia.feature.harris_response(images.mean(1, keepdim=True)),
        kornia.losses.ssim_loss(images, images.flip(3), 5),
    ]
    found += [kornia.morphology.dilation(images, torch.ones(3, 3)), kornia.geometry.resize(images, (8, 8))]
    sum(value.square().sum() for value in found).backward()
    return found, images.grad
