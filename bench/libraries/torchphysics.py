"""A network of points and conditions of a differential equation."""

import torchphysics as tp

from bench.drawn import filled, trained


def main():
    x, u = tp.spaces.R1("x"), tp.spaces.R1("u")
    interval = tp.domains.Interval(x, 0, 1)
    model = filled(tp.models.FCN(input_space=x, output_space=u, hidden=(8, 8)))
    inside = tp.conditions.PINNCondition(
        model, tp.samplers.GridSampler(interval, 10), lambda u, x: tp.utils.laplacian(u, x) + 1
    )
    edge = tp.conditions.PINNCondition(model, tp.samplers.GridSampler(interval.boundary, 2), lambda u, x: u)
    return trained(lambda: inside() + edge(), model)
