"""Ratios of marginal posteriors."""

import swyft
import torch

from bench.drawn import filled, normal, trained, uniform


def main():
    network = filled(swyft.LogRatioEstimator_1dim(num_features=2, num_params=2, varnames="z", hidden_features=8, num_blocks=1))
    points, parameters = normal(16, 2), uniform(16, 2)

    def loss():
        joint, marginal = network(points, parameters).logratios, network(points, parameters.roll(1, 0)).logratios
        return torch.nn.functional.softplus(-joint).mean() + torch.nn.functional.softplus(marginal).mean()

    return trained(loss, network)
