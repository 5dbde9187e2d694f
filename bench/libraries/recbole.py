"""Layers and losses of recommenders."""

import torch
from recbole.model.layers import MLPLayers, MultiHeadAttention
from recbole.model.loss import BPRLoss, EmbLoss, EmbMarginLoss

from bench.drawn import filled, normal


def main():
    layers = [filled(MLPLayers([8, 16, 4], activation="relu")), filled(MLPLayers([8, 4], activation="tanh"))]
    attention = filled(MultiHeadAttention(2, 8, 0.0, 0.0, 1e-6))
    positive, negative = normal(8).requires_grad_(), normal(8)
    losses = [
        BPRLoss()(positive, negative),
        EmbMarginLoss(2)(positive[:, None], negative[:, None]),
        EmbLoss()(positive[:, None], negative[:, None]),
    ]
    sum(losses).backward()
    return (
        [layer(normal(3, 8)) for layer in layers],
        attention(normal(2, 4, 8), torch.zeros(2, 1, 4, 4)),
        losses,
        positive.grad,
    )
