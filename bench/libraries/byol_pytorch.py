"""Learning without labels, from two views."""

import torch
from byol_pytorch.byol_pytorch import EMA, MLP, loss_fn, update_moving_average

from bench.drawn import filled, normal, trained


def main():
    online, target = filled(MLP(8, 4, 16)), filled(MLP(8, 4, 16))
    views = normal(8, 8), normal(8, 8)
    losses = trained(
        lambda: loss_fn(online(views[0]), target(views[1]).detach()).mean(),
        torch.optim.SGD(online.parameters(), lr=0.1),
    )
    update_moving_average(EMA(0.9), target, online)
    return losses, [*target.parameters()]
