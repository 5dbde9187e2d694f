"""One training step of networks with each kind of layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew as torch
from clew import nn

from .harness import CASES, batches, mlp, training

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "relu": (lambda: mlp(4, 8, 2, act=nn.ReLU), (3, 4)),
    "gelu": (lambda: mlp(4, 8, 2, act=nn.GELU), (3, 4)),
    "silu": (lambda: mlp(4, 8, 2, act=nn.SiLU), (3, 4)),
    "dropout": (lambda: nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 2)), (3, 4)),
    "batch_norm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)), (6, 4)),
    "layer_norm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2)), (3, 4)),
    "group_norm": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU()), (2, 2, 5, 5)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 2)), (2, 1, 5, 5)),
    "conv1d": (lambda: nn.Conv1d(2, 3, 3, padding=1), (2, 2, 6)),
    "conv_transpose": (lambda: nn.ConvTranspose2d(2, 1, 2, stride=2), (2, 2, 3, 3)),
    "max_pool": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2)), (2, 1, 6, 6)),
    "avg_pool": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1)), (2, 1, 6, 6)),
    "bilinear": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Softplus()), (2, 3)),
    "prelu": (lambda: nn.Sequential(nn.Linear(3, 3), nn.PReLU()), (2, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
    "softmax": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Softmax(-1)), (2, 3)),
    "glu": (lambda: nn.Sequential(nn.Linear(3, 4), nn.GLU()), (2, 3)),
    "upsample": (lambda: nn.Sequential(nn.Conv2d(1, 1, 3), nn.Upsample(scale_factor=2)), (1, 1, 5, 5)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), (2, 3)),
}


def _layer_case(name: str, make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    def build() -> Any:
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = training(model, optimizer, lambda m, x: m(x).pow(2).mean(), "detach")
        return step, batches(shape), [model, optimizer]

    CASES[f"layer_{name}"] = build


for _name, (_build, _shape) in LAYERS.items():
    _layer_case(_name, _build, _shape)
