"""A flow of affine couplings is fitted to a mixture."""

import normflows

from bench.drawn import filled, normal, trained


def main():
    layers = []
    for _ in range(3):
        layers.append(normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=False)))
        layers.append(normflows.flows.Permute(2, mode="swap"))
    layers.append(normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
    model, points = filled(normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2), layers)), normal(32, 2)
    return trained(lambda: model.forward_kld(points), model), model.log_prob(points), model.sample(3)
