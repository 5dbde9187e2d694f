"""``clew bench``: a short table of speed on this machine; beside PyTorch where that is installed.

The measurements that docs/benchmarks reports are made by ``python -m bench`` in the repository, with many more rows.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any

from .doctor import other_work

HELP = "print a short table of speed on this machine, in 20 seconds"
DESCRIPTION = (
    "Time a few steps on one thread, in clew and (if installed) in PyTorch. The best of several rounds counts."
)

_SECONDS = 1.2  # for each row and library
_ROUNDS = 7


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--library", choices=("clew", "torch"), help=argparse.SUPPRESS)  # in a process of its own


def main(options: argparse.Namespace) -> int:
    """Measure and print."""
    if options.library is not None:
        print(json.dumps(measure(importlib.import_module(options.library))))
        return 0
    libraries = ["clew"] + (["torch"] if importlib.util.find_spec("torch") else [])
    busy = other_work()  # before there is any of our own
    found = {}
    for library in libraries:
        if sys.stderr.isatty():  # seconds of silence look like a mistake
            print(f"measuring {library}, about {_SECONDS * len(_ROWS):.0f} s", file=sys.stderr)
        found[library] = _in_process(library)
    width = max(map(len, found["clew"]))
    print(f"{'one thread':<{width}}  " + "".join(f"{library:>12}" for library in libraries))
    for name, seconds in found["clew"].items():
        cells = [_text(found[library][name]) for library in libraries]
        times = f"{found['torch'][name] / seconds:>9.1f}x" if "torch" in found else ""
        print(f"{name:<{width}}  " + "".join(f"{cell:>12}" for cell in cells) + times)
    if busy:
        print(f"{busy}: so these times are too long")
    return 0


def measure(library: Any) -> dict[str, float]:
    """Seconds for each row, by its name."""
    library.set_num_threads(1)
    library.manual_seed(0)
    return {name: _best(make(library), count) for name, make, count in _ROWS}


def _in_process(library: str) -> dict[str, float]:
    command = [sys.executable, "-m", "clew.cli", "bench", "--library", library]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _best(step: Callable[[], object], count: int) -> float:
    """The time of a step divided by ``count``: the best of as many rounds as ``_SECONDS`` have room for."""
    for _ in range(3):
        step()
    started = perf_counter()
    step()
    repeats = max(1, int(_SECONDS / _ROUNDS / max(perf_counter() - started, 1e-7)))
    rounds: list[float] = []
    end = perf_counter() + _SECONDS
    while len(rounds) < _ROUNDS and (not rounds or perf_counter() < end):
        started = perf_counter()
        for _ in range(repeats):
            step()
        rounds.append((perf_counter() - started) / repeats / count)
    return min(rounds)


def _product(torch: Any) -> Callable[[], object]:
    x, y = torch.ones(4, requires_grad=True), torch.ones(4)

    def step() -> None:
        for _ in range(100):
            x * y

    return step


def _chain(torch: Any) -> Callable[[], object]:
    x, y = torch.ones(4, requires_grad=True), torch.ones(4)

    def step() -> None:
        h = x
        for _ in range(1000):
            h = h * y
        h.sum().backward()

    return step


def _training(widths: tuple[int, ...], batch: int, optimizer: str) -> Callable[[Any], Callable[[], object]]:
    def make(torch: Any) -> Callable[[], object]:
        layers = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        adjust = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
        x, y = torch.randn(batch, widths[0]), torch.randn(batch, widths[-1])

        def step() -> None:
            adjust.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            adjust.step()

        return step

    return make


_ROWS: tuple[tuple[str, Callable[[Any], Callable[[], object]], int], ...] = (
    ("recording a product of 4 elements", _product, 100),
    ("chain of 1000 products, per product", _chain, 1000),
    ("tiny MLP (8x4-16-1), SGD, a step", _training((4, 16, 1), 8, "SGD"), 1),
    ("tiny MLP (8x4-16-1), Adam, a step", _training((4, 16, 1), 8, "Adam"), 1),
    ("MLP 784-256-256-10, batch 64, Adam, a step", _training((784, 256, 256, 10), 64, "Adam"), 1),
)


def _text(seconds: float) -> str:
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
