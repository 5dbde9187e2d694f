"""Does memory come back? Ten thousand steps of each example must end with the live bytes that they began with.

python bench/memory.py
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def digits_step() -> Callable[[], None]:
    """One step of ``examples/digits.py``."""
    import digits

    import clew

    images, _, labels, _ = digits.load()
    model = digits.build(128)
    optimizer = clew.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        batch = clew.randperm(len(images))[: digits.BATCH]
        digits.train_step(model, optimizer, images[batch], labels[batch])

    return step


def hundred_steps() -> Callable[[], None]:
    """The training loop of the tutorial: a hundred steps with a model of their own."""
    from which_is_freed import QUESTIONS

    asked = next(asked for asked in QUESTIONS if asked.name == "the_training_loop")

    def step() -> None:
        asked.run()

    return step


def every_question() -> Callable[[], None]:
    """All programs of ``examples/which_is_freed.py``, errors included."""
    from which_is_freed import QUESTIONS

    def step() -> None:
        for asked in QUESTIONS:
            asked.run()

    return step


def check(name: str, make: Callable[[], Callable[[], None]], times: int) -> bool:
    """Run the step twice to warm up, then ``times`` times; print and return whether live bytes are the same."""
    import clew

    step = make()
    for _ in range(2):
        step()
    before = clew.memory.stats()
    nodes_before = clew._core.graph_counters()["nodes_alive"]
    for _ in range(times):
        step()
    after = clew.memory.stats()
    nodes_after = clew._core.graph_counters()["nodes_alive"]
    same = (before.live, nodes_before) == (after.live, nodes_after)
    print(
        f"{name:40} {times:>7,} times  live {before.live:>9,} B -> {after.live:>9,} B  "
        f"nodes {nodes_before} -> {nodes_after}  {'same' if same else 'DIFFERENT'}"
    )
    return same


def main() -> int:
    sys.path.append(os.path.join(_ROOT, "examples"))
    parser = argparse.ArgumentParser(description="Live bytes before and after many steps of each example.")
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    checks = [
        check("digits.py, a training step", digits_step, steps),
        check("which_is_freed.py, 100 training steps", hundred_steps, max(1, steps // 100)),
        check("which_is_freed.py, every question", every_question, max(1, steps // 1000)),
    ]
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
