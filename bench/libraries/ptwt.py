"""Wavelet transforms in one and two dimensions, inverted, with gradients."""

import ptwt

from bench.drawn import normal


def main():
    signal, image = normal(2, 32).requires_grad_(), normal(1, 16, 16)
    levels = ptwt.wavedec(signal, "db2", level=2)
    sum(level.square().sum() for level in levels[:1]).backward()
    again, two = ptwt.waverec(levels, "db2"), ptwt.wavedec2(image, "haar", level=2)
    return levels, again, two[0], two[1][0], ptwt.waverec2(two, "haar"), signal.grad, ptwt.swt(signal, "haar", level=2)
