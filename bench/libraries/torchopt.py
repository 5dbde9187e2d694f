"""Functional optimizers, and gradients through inner steps."""

import torch
import torchopt

from bench.drawn import normal, perceptron


def main():
    model, points = perceptron(), normal(8, 4)
    outer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        state = torchopt.extract_state_dict(model, by="reference")
        inner = torchopt.MetaAdam(model, lr=0.1)
        for _ in range(2):
            inner.step(model(points).square().mean())
        loss = (model(points) - 1).square().mean()
        outer.zero_grad()
        loss.backward()
        outer.step()
        torchopt.recover_state_dict(model, state)
        losses.append(loss)
    parameters = {"w": normal(3).requires_grad_()}
    optimizer = torchopt.adamw(lr=0.1)
    updates, _ = optimizer.update({"w": normal(3)}, optimizer.init(parameters), params=parameters, inplace=False)
    return losses, torchopt.apply_updates(parameters, updates, inplace=False)["w"]
