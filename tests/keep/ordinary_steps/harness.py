"""Registers the steps: each case builds its state and gives a step and the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

Step = Callable[..., Any]
Case = Callable[[], tuple[Step, Callable[[int], tuple[Any, ...]], list[Any]]]
CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    CASES[build.__name__] = build
    return build


def mlp(*sizes: int, act: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), act()]
    return nn.Sequential(*layers[:-1])


def batches(*shapes: tuple[int, ...]) -> Callable[[int], tuple[Any, ...]]:
    def batch(i: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(100 + i)
        return tuple(torch.randn(*shape, generator=generator) for shape in shapes)

    return batch


def training(model: nn.Module, optimizer: Any, loss_of: Callable[..., Any], ending: str = "tensor") -> Step:
    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model, *batch)
        loss.backward()
        optimizer.step()
        return loss.item() if ending == "item" else loss.detach() if ending == "detach" else loss

    return step


def mse(model: nn.Module, x: Any, y: Any) -> Any:
    return F.mse_loss(model(x), y)
