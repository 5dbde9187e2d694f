"""A recommender of factors on generated interactions."""

from spotlight.factorization.representations import BilinearNet
from spotlight.losses import bpr_loss, hinge_loss, pointwise_loss

from bench.drawn import filled, integers, trained


def main():
    model, users, items, others = filled(BilinearNet(8, 10, embedding_dim=4, sparse=False)), integers(8, 16), integers(10, 16), integers(10, 16)
    return [trained(lambda: loss(model(users, items), model(users, others)), model) for loss in (bpr_loss, hinge_loss, pointwise_loss)]  # noqa: B023
