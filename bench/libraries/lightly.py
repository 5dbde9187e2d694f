"""Losses and heads of self-supervised learning."""

from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, VICRegLoss
from lightly.models.modules import BYOLProjectionHead, SimCLRProjectionHead

from bench.drawn import filled, normal


def main():
    first, second = normal(16, 8).requires_grad_(), normal(16, 8)
    losses = [loss(first, second) for loss in (NTXentLoss(), BarlowTwinsLoss(), NegativeCosineSimilarity(), VICRegLoss())]
    losses.append(DINOLoss(output_dim=8)([second, second], [first, first], epoch=0))
    sum(losses).backward()
    heads = [filled(SimCLRProjectionHead(8, 16, 4)), filled(BYOLProjectionHead(8, 16, 4))]
    return losses, first.grad, [head(second) for head in heads]
