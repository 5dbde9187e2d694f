"""Figures that only the engine itself can give: what provenance costs, and what a node weighs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import repeat
from typing import Any

from bench.table import Row
from bench.workloads import PRODUCTS, Run, product

LINKS = 200_000

# PyTorch's allocations cannot be counted from outside, so both are measured by the memory of a process of its own.
_LINKS_PROGRAM = f"""
import os
import {{module}} as m
x, y = m.ones(1, requires_grad=True), m.ones(1)
z = x
for _ in range(10_000):
    z = z * y
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident()
for _ in range({LINKS}):
    z = z * y
print((resident() - before) / {LINKS})
"""


def bytes_rows(clew: Any) -> list[Row]:
    """Bytes of a node that saved both operands, and of a link of a long chain all told."""
    x, y = clew.ones(4, requires_grad=True), clew.ones(4, requires_grad=True)
    node = (x * y).grad_fn
    links = {}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for module in ("clew", "torch"):
        command = [sys.executable, "-c", _LINKS_PROGRAM.format(module=module)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        links[module] = float(done.stdout)
    return [
        Row("bytes of a node, x * y", "B", node.nbytes, most=200),
        Row("bytes of a link z * y, all told", "B", links["clew"], links["torch"], most=400),
    ]


def provenance_rows(clew: Any, rounds: int, timed: Callable[[dict[str, Run], int], dict[str, float]]) -> list[Row]:
    """What it costs to note the user's line: called directly, and through three frames inside clew."""
    rows = []
    for name, run, most in (
        ("provenance, called directly", product(clew), 15),
        ("provenance, through three frames of clew", _through_clew(clew), 30),
    ):
        figures = timed({"with": _with(clew, True, run), "without": _with(clew, False, run)}, rounds)
        rows.append(Row(name, "ns", (figures["with"] - figures["without"]) / PRODUCTS, most=most))
    clew._core.provenance(True)
    return rows


def _with(clew: Any, on: bool, run: Run) -> Run:
    def switched() -> Any:
        clew._core.provenance(on)
        return run()

    return switched


def _through_clew(clew: Any) -> Run:
    """A product that is recorded under three Python frames whose code belongs to the package."""
    frames = "def one(x, y): return two(x, y)\ndef two(x, y): return three(x, y)\ndef three(x, y): return x * y\n"
    scope: dict[str, Any] = {}
    # The engine knows its frames by the very object that holds the file's name.
    exec(compile(frames, clew.explain.__code__.co_filename, "exec"), scope)
    one = scope["one"]
    x, y = clew.ones(4, requires_grad=True), clew.ones(4, requires_grad=True)

    def run() -> Any:
        for _ in repeat(None, PRODUCTS):
            z = one(x, y)
        return z

    return run
