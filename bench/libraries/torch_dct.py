"""Discrete cosine transforms and their inverses."""

import torch_dct

from bench.drawn import normal


def main():
    x = normal(2, 16, 16).requires_grad_()
    found = [
        torch_dct.dct(x),
        torch_dct.idct(x),
        torch_dct.dct_2d(x, norm="ortho"),
        torch_dct.idct_2d(x),
        torch_dct.dct1(x),
    ]
    sum(value.square().mean() for value in found).backward()
    return found, x.grad
