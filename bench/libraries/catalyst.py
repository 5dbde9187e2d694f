"""Losses and layers of Catalyst, and a weighted average."""

import torch
from catalyst.contrib.layers import GlobalAttnPool2d, TemporalConcatPooling
from catalyst.contrib.losses import DiceLoss, FocalLossBinary, HuberLossV0

from bench.drawn import filled, integers, normal, uniform


def main():
    scores, truth = uniform(4, 2, 8, 8).requires_grad_(), integers(2, 4, 2, 8, 8).float()
    found = [DiceLoss()(scores, truth), FocalLossBinary()(scores, truth), HuberLossV0()(scores, truth)]
    sum(found).backward()
    layer = filled(GlobalAttnPool2d(3, torch.nn.Sigmoid))
    return found, scores.grad, layer(normal(2, 3, 4, 4)), TemporalConcatPooling(8, 4)(normal(2, 4, 8))
