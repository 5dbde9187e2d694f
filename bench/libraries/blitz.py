"""Bayesian layers, and the bound sampled several times."""

import torch
from blitz.modules import BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator

from bench.drawn import filled, normal, trained


@variational_estimator
class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = BayesianLSTM(3, 4), BayesianLinear(4, 1)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


def main():
    model, x, y = filled(Network()), normal(8, 5, 3), normal(8, 1)
    return trained(
        lambda: model.sample_elbo(
            inputs=x, labels=y, criterion=torch.nn.MSELoss(), sample_nbr=2, complexity_cost_weight=0.01
        ),
        model,
    )
