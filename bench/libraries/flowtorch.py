"""A flow of autoregressive transforms."""

import flowtorch.bijectors as bijectors
import flowtorch.distributions as distributions
import flowtorch.parameters as parameters
import torch

from bench.drawn import filled, normal, trained


def main():
    base = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 1)
    flow = distributions.Flow(
        base, bijectors.AffineAutoregressive(params_fn=parameters.DenseAutoregressive(hidden_dims=(8,)))
    )
    filled(flow)
    points = normal(32, 2)
    return trained(lambda: -flow.log_prob(points).mean(), flow)
