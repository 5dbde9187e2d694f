"""Non-uniform Fourier transforms and their adjoints."""

import torch
import torchkbnufft

from bench.drawn import normal, uniform


def main():
    image = torch.complex(normal(1, 1, 8, 8), normal(1, 1, 8, 8)).requires_grad_()
    places = 6 * uniform(2, 20) - 3
    forward, adjoint = torchkbnufft.KbNufft(im_size=(8, 8)), torchkbnufft.KbNufftAdjoint(im_size=(8, 8))
    values = forward(image, places)
    values.abs().square().sum().backward()
    return values, adjoint(values, places), image.grad
