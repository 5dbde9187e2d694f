"""A masked autoregressive flow and a coupling of splines are fitted."""

from nflows.distributions import StandardNormal
from nflows.flows import Flow
from nflows.transforms import CompositeTransform, MaskedAffineAutoregressiveTransform, RandomPermutation
from nflows.transforms import MaskedPiecewiseRationalQuadraticAutoregressiveTransform as Spline

from bench.drawn import filled, normal, trained


def main():
    settings = {"tails": "linear", "tail_bound": 3.0, "num_bins": 4}
    layers = [MaskedAffineAutoregressiveTransform(3, 8), RandomPermutation(3), Spline(3, 8, **settings)]
    flow, points = filled(Flow(CompositeTransform(layers), StandardNormal([3]))), normal(32, 3)
    losses = trained(lambda: -flow.log_prob(points).mean(), flow)
    return losses, flow.sample(4), flow.transform_to_noise(points)
