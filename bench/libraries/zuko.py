"""Normalizing flows: a spline flow and an autoregressive flow are fitted."""

import zuko

from bench.drawn import filled, normal, trained


def main():
    points, context = normal(32, 3), normal(32, 2)
    found = []
    for flow in (
        zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)),
        zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,)),
    ):
        filled(flow)
        found.append(trained(lambda: -flow(context).log_prob(points).mean(), flow))
        found.append(flow(context[:1]).log_prob(points))
    return found
