"""Transforms on the sphere, and back."""

import torch
import torch_harmonics

from bench.drawn import normal


def main():
    field = normal(2, 16, 32).requires_grad_()
    forward = torch_harmonics.RealSHT(16, 32, grid="equiangular")
    inverse = torch_harmonics.InverseRealSHT(16, 32, grid="equiangular")
    coefficients = forward(field)
    again = inverse(coefficients)
    again.square().sum().backward()
    return torch.view_as_real(coefficients), again, field.grad
