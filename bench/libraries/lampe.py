"""Neural posterior and ratio estimators."""

import lampe

from bench.drawn import filled, normal, trained


def main():
    points, parameters = normal(32, 3), normal(32, 2)
    posterior = filled(lampe.inference.NPE(2, 3, transforms=2, hidden_features=[16]))
    ratio = filled(lampe.inference.NRE(2, 3, hidden_features=[16]))
    losses = [lampe.inference.NPELoss(posterior), lampe.inference.NRELoss(ratio)]
    return [trained(lambda: loss(parameters, points), loss) for loss in losses]
