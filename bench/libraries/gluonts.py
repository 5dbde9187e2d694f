"""DeepAR: the loss of a batch and a prediction's distribution."""

import torch
from gluonts.torch.distributions import NegativeBinomialOutput, QuantileOutput, StudentTOutput
from gluonts.torch.scaler import MeanScaler, StdScaler

from bench.drawn import filled, integers, normal, trained


def main():
    x, found = normal(16, 4), []
    for output, target in ((StudentTOutput(), normal(16)), (NegativeBinomialOutput(), integers(5, 16).float())):
        network = filled(output.get_args_proj(4))
        found.append(trained(lambda: -output.distribution(network(x)).log_prob(target).mean(), network))
    quantiles = filled(QuantileOutput([0.1, 0.5, 0.9]).get_args_proj(4))
    found.append(quantiles(x)[0])
    series, seen = normal(3, 10), torch.ones(3, 10)
    return found, [scaler(dim=1, keepdim=True)(series, seen) for scaler in (MeanScaler, StdScaler)]
