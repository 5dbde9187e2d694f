"""The convolution and the radial basis of NequIP."""

import torch
from nequip.nn.embedding import BesselEdgeLengthEncoding, EdgeLengthNormalizer, PolynomialCutoff

from bench.drawn import uniform


def main():
    lengths = (3 * uniform(12)).requires_grad_()
    cutoff = PolynomialCutoff(6)
    value = cutoff((lengths / 4).unsqueeze(-1))
    value.square().sum().backward()
    return value, lengths.grad
