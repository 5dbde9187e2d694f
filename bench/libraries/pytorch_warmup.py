"""Rates that warm up."""

import pytorch_warmup
import torch

from bench.drawn import normal, perceptron


def main():
    found, points = [], normal(8, 4)
    for kind in (
        pytorch_warmup.UntunedLinearWarmup,
        pytorch_warmup.UntunedExponentialWarmup,
        pytorch_warmup.RAdamWarmup,
    ):
        model = perceptron()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule, warmup = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8), kind(optimizer)
        for _ in range(6):
            optimizer.zero_grad()
            loss = model(points).square().mean()
            loss.backward()
            optimizer.step()
            with warmup.dampening():
                schedule.step()
            found += [loss, optimizer.param_groups[0]["lr"]]
    return found
