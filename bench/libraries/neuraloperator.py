"""A Fourier neural operator learns a map of functions."""

from neuralop.losses import LpLoss
from neuralop.models import FNO

from bench.drawn import filled, normal, trained


def main():
    model = filled(FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2))
    inputs, outputs, loss = normal(2, 1, 16, 16), normal(2, 1, 16, 16), LpLoss(d=2)
    return trained(lambda: loss(model(inputs), outputs), model, steps=3)
