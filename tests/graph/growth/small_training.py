"""What the loops of this folder train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import nn

LEAK_ITERATIONS = 20
CORRECT_ITERATIONS = 60

mse = nn.functional.mse_loss

Loop = Callable[[], None]
CORRECT: list[Any] = []
"""All correct loops, as modules of this folder are imported."""


def correct(loop: Loop) -> Loop:
    """Mark a loop under which the watch must be silent."""
    CORRECT.append(loop)
    return loop


LEAKS: list[Any] = []
"""All loops that leak, each with the path to what holds."""


def leak(holder: str) -> Callable[[Loop], Loop]:
    """Mark a loop under which the watch must name ``holder``, and the line with the comment `# grows`."""

    def add(loop: Loop) -> Loop:
        LEAKS.append((loop, holder))
        return loop

    return add


def batch(rows: int = 8) -> tuple[Any, Any]:
    x = clew.randn(rows, 4)
    return x, x.sum(dim=1, keepdim=True)


def network() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def trainer() -> tuple[Any, Any]:
    model = network()
    return model, clew.optim.SGD(model.parameters(), lr=0.01)


def step(optimizer: Any, loss: Any, **options: Any) -> None:
    optimizer.zero_grad()
    loss.backward(**options)
    optimizer.step()
