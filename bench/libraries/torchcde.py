"""A neural controlled differential equation along splines."""

import torch
import torchcde

from bench.drawn import filled, normal, trained


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = filled(torch.nn.Linear(4, 12))

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


def main():
    path, field = normal(2, 8, 3), Field()
    coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(path)
    spline = torchcde.CubicSpline(coefficients)

    def loss():
        return (
            torchcde.cdeint(X=spline, func=field, z0=torch.ones(2, 4), t=spline.interval, method="rk4")[:, -1]
            .square()
            .mean()
        )

    return (
        coefficients,
        torchcde.natural_cubic_coeffs(path),
        torchcde.logsig_windows if False else 0.0,
        trained(loss, field, 3),
    )
