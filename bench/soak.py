"""Replays a tiny step very often and shows that nothing grows.

    python bench/soak.py [replays, by default 1000000]

One line for each tenth: bytes of tensors that live and that the allocator keeps, blocks that Python's allocator has
handed out, objects that its collector knows, and the memory of the process. Its exit code is 1 if the last line has
more than the second in any of the first four.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clew
from clew import nn


def compiled_step() -> Callable[[int], Any]:
    """A training step with random draws, a float argument, a number and a graph as results."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh(), nn.Linear(8, 1))
    optimizer = clew.optim.Adam(model.parameters(), lr=1e-3)
    x = clew.randn(5, 4)

    @clew.compile
    def step(x: Any, weight: float) -> Any:
        optimizer.zero_grad()
        y = model(x)
        loss = y.square().mean() * weight
        loss.backward()
        optimizer.step()
        return loss.item(), model(x)

    return lambda i: step(x, 1.0 + i % 7)


def kept_block() -> Callable[[int], Any]:
    """`y.forward()` and `y.backward()` on a block that was kept."""
    x, weight = clew.randn(5, 4), clew.randn(4, requires_grad=True)
    with clew.keep_graph():
        y = (x @ weight).tanh().square().sum()

    def again(_: int) -> None:
        weight.grad = None
        y.forward()
        y.backward()

    return again


def counts() -> tuple[int, int, int, int]:
    gc.collect()
    stats = clew.memory.stats()
    return stats.live, stats.cached, sys.getallocatedblocks(), len(gc.get_objects())


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def soak(name: str, once: Callable[[int], Any], replays: int) -> bool:
    """Whether nothing grew."""
    print(name)
    print("   replays        live      cached      blocks     objects    resident   ns each")
    seen = []
    for part in range(11):
        began = time.perf_counter()
        for i in range(replays // 10 if part else 1000):
            once(i)
        took = (time.perf_counter() - began) / (replays // 10 if part else 1000)
        seen.append(counts())
        row = (part * (replays // 10), *seen[-1], resident(), round(took * 1e9))
        print(" ".join(f"{one:>11}" for one in row)[1:])
    limits = [seen[1][0], seen[1][1], seen[1][2] + 200, seen[1][3] + 50]  # what is printed is kept, too
    return all(last <= limit for last, limit in zip(seen[-1], limits, strict=True))


def main() -> int:
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    results = [soak(make.__name__, make(), replays) for make in (compiled_step, kept_block)]
    print("nothing grew" if all(results) else "something grew")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
