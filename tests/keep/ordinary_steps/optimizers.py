"""One training step of a network with each optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew as torch

from .harness import CASES, batches, mlp, mse, training

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "rprop": lambda p: torch.optim.Rprop(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


def _optimizer_case(name: str, make: Callable[[Any], Any]) -> None:
    def build() -> Any:
        model = mlp(4, 8, 1)
        optimizer = make(model.parameters())
        return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model, optimizer]

    CASES[f"optimizer_{name}"] = build


for _name, _make in OPTIMIZERS.items():
    _optimizer_case(_name, _make)
