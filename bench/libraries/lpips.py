"""A perceptual distance with drawn weights."""

import lpips

from bench.drawn import filled, uniform


def main():
    model = filled(lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False))
    return model(uniform(1, 3, 64, 64), uniform(1, 3, 64, 64))
