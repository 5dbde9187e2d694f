"""What training loops do around the loss: clip, log, accumulate, average, check, freeze and schedule."""

from __future__ import annotations

import copy
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, mse, training


@case
def clipping() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.item(), norm

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def clipping_by_value() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def logging() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history: list[float] = []

    def step(x: Any, y: Any) -> None:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    return step, batches((5, 4), (5, 1)), [model, history]


@case
def averaged_weights() -> Any:
    model = mlp(4, 8, 1)
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)
        return loss.detach()

    return step, batches((5, 4), (5, 1)), [model, average]


@case
def accumulation() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        total = 0.0
        for part, goal in zip(x.split(2), y.split(2), strict=True):
            loss = F.mse_loss(model(part), goal) / 3
            loss.backward()
            total += loss.detach()
        optimizer.step()
        return total

    return step, batches((6, 4), (6, 1)), [model]


@case
def weight_penalty() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(m: Any, x: Any, y: Any) -> Any:
        return F.mse_loss(m(x), y) + 1e-3 * sum(p.pow(2).sum() for p in m.parameters())

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def several_groups() -> Any:
    model = mlp(4, 8, 1)
    groups = [{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model]


@case
def finite_check() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if not torch.isfinite(loss):
            return None
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model]


@case
def early_stop_by_value() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        value = loss.item()
        if value > 1e6:
            raise RuntimeError("diverged")
        loss.backward()
        optimizer.step()
        return value

    return step, batches((5, 4), (5, 1)), [model]


@case
def decorated_method() -> Any:
    class Trainer:
        def __init__(self) -> None:
            self.model = mlp(4, 8, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def step(self, x: Any, y: Any) -> Any:
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss.item()

    trainer = Trainer()
    return trainer.step, batches((5, 4), (5, 1)), [trainer.model]


@case
def fine_tuning() -> Any:
    body, head = mlp(4, 8, 8), nn.Linear(8, 2)
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)

    def step(x: Any, y: Any) -> Any:
        loss = F.mse_loss(head(body(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 2)), [body, head]


@case
def exponential_schedule() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def schedule_between_steps() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    plain = batches((5, 4), (5, 1))

    def batch(i: int) -> tuple[Any, ...]:
        if i:
            scheduler.step()
        return plain(i)

    return training(model, optimizer, mse, "item"), batch, [model, optimizer]


@case
def warm_up_by_hand() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plain = batches((5, 4), (5, 1))

    def batch(i: int) -> tuple[Any, ...]:
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (i + 1)
        return plain(i)

    return training(model, optimizer, mse, "item"), batch, [model, optimizer]


@case
def gradients_zeroed_in_place() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = mse(model, x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model]
