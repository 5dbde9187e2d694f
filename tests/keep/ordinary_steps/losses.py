"""One training step of a network with each loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew as torch
from clew.nn import functional as F

from .harness import CASES, batches, mlp, training

LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "mse": lambda out, y: F.mse_loss(out, y),
    "l1": lambda out, y: F.l1_loss(out, y),
    "huber": lambda out, y: F.huber_loss(out, y),
    "smooth_l1": lambda out, y: F.smooth_l1_loss(out, y),
    "bce": lambda out, y: F.binary_cross_entropy(out.sigmoid(), y.sigmoid()),
    "bce_logits": lambda out, y: F.binary_cross_entropy_with_logits(out, y.sigmoid()),
    "kl": lambda out, y: F.kl_div(out.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    "gaussian_nll": lambda out, y: F.gaussian_nll_loss(out, y, out.exp()),
    "cosine": lambda out, y: 1 - F.cosine_similarity(out, y).mean(),
    "logsumexp": lambda out, y: (out - y).logsumexp(-1).mean(),
    "cross_entropy": lambda out, y: F.cross_entropy(out, y.argmax(-1)),
    "smoothed": lambda out, y: F.cross_entropy(out, y.argmax(-1), label_smoothing=0.1),
    "nll": lambda out, y: F.nll_loss(out.log_softmax(-1), y.argmax(-1)),
    "hinge": lambda out, y: (1 - out * y.sign()).clamp(min=0).mean(),
    "triplet": lambda out, y: F.triplet_margin_loss(out, y, -y),
}


def _loss_case(name: str, loss: Callable[[Any, Any], Any]) -> None:
    def build() -> Any:
        model = mlp(4, 6, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        step = training(model, optimizer, lambda m, x, y: loss(m(x), y))
        return step, batches((5, 4), (5, 3)), [model, optimizer]

    CASES[f"loss_{name}"] = build


for _name, _loss in LOSSES.items():
    _loss_case(_name, _loss)
