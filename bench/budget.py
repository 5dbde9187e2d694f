"""What a memory budget costs: ten models at 75, 50 and 33 % of the most that their graphs save without one.

    python bench/budget.py [rounds, by default 15] [model ...]

One line for each model: the peak without a budget and the time of a training step, then for each share the time as a
multiple of that, or the least that the model needs. Its exit code is 1 if half the memory takes more than 1.6 times as
long, or a budget does not hold. Rounds alternate; the best of each counts.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))  # behind everything installed

import clew
from bench.budget_models import MODELS

SHARES = (0.75, 0.5, 0.33)
MOST = 1.6  # times as long, in half the memory


class Step:
    """A training step of a model, under any budget."""

    def __init__(self, make: Callable[[], Any]) -> None:
        clew.manual_seed(0)
        self.model, self.x = make()
        self.x.requires_grad_()

    def run(self, limit: int | None = None) -> tuple[float, int]:
        """Seconds, and the peak that the budget saw."""
        self.model.zero_grad()
        self.x.grad = None
        began = time.perf_counter()
        with clew.memory.budget(limit) if limit else contextlib.nullcontext() as budget:
            self.model(self.x).square().mean().backward()
        return time.perf_counter() - began, budget.report().peak if budget else 0


def line_of(make: Callable[[], Any], rounds: int) -> tuple[str, bool]:
    """What is printed of a model, and whether it is as it should be."""
    step = Step(make)
    peak = step.run(10**12)[1]
    limits, cells = {}, {}
    for share in SHARES:
        try:
            step.run(int(share * peak))
            limits[share] = int(share * peak)
        except clew.BudgetError as error:
            cells[share] = f"least {error.least / peak:.0%}"
    best = dict.fromkeys([None, *limits], float("inf"))
    holds = True
    for _ in range(rounds):
        for share in best:
            took, seen = step.run(limits[share] if share else None)
            best[share] = min(best[share], took)
            holds &= share is None or seen <= limits[share]
    ratios = {share: best[share] / best[None] for share in limits}
    cells |= {share: f"{ratio:.2f}" for share, ratio in ratios.items()}
    text = f"{make.__name__:14} {peak / 1e6:8.2f} MB {best[None] * 1e3:8.2f} ms " + "".join(
        f"{cells[share]:>12}" for share in SHARES
    )
    return text, holds and ratios.get(0.5, 0.0) <= MOST


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    models = [make for make in MODELS if make.__name__ in sys.argv[2:] or not sys.argv[2:]]
    print(f"{'model':14} {'peak':>11} {'step':>11} " + "".join(f"{f'at {share:.0%}':>12}" for share in SHARES))
    good = True
    for make in models:
        text, fine = line_of(make, rounds)
        print(text if fine else text + "  too much", flush=True)
        good &= fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
