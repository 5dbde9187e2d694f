"""Losses of sound, in time and frequency."""

import auraloss

from bench.drawn import normal


def main():
    sound, other, found = normal(2, 1, 4096), normal(2, 1, 4096).requires_grad_(), []
    kinds = [
        auraloss.freq.STFTLoss(),
        auraloss.freq.MultiResolutionSTFTLoss(),
        auraloss.time.SISDRLoss(),
        auraloss.time.ESRLoss(),
        auraloss.time.LogCoshLoss(),
    ]
    for loss in kinds:
        found.append(loss(other, sound))
    sum(found).backward()
    return found, other.grad
