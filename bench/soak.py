"""Replays small programs very often and shows that nothing grows.

    python bench/soak.py [replays, by default 1000000] [program ...]

One line for each tenth: bytes of tensors that live and that the allocator keeps, blocks that Python's allocator has
handed out, objects that its collector knows, and the memory of the process. Its exit code is 1 if the last line has
more than the second in any of the first four.
"""

from __future__ import annotations

import collections
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


def kept_training() -> Callable[[int], Any]:
    """`program.run()` of a step with momentum, a view that is written and a second derivative."""
    x, weight = clew.randn(5, 4), clew.randn(4, requires_grad=True)
    optimizer = clew.optim.SGD([weight], lr=1e-3, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        h = (x @ weight).clone()
        h[1:] *= 0.5
        (slope,) = clew.autograd.grad(h.tanh().sum(), weight, create_graph=True)
        slope.square().sum().backward()
        optimizer.step()

    step()
    with clew.keep_graph() as program:
        step()
    return lambda _: program.run()


def effects() -> Callable[[int], Any]:
    """Changes of older objects, a hidden state, several variants, and a function that is made and dropped."""
    state: dict[str, Any] = {"hidden": clew.zeros(4), "losses": collections.deque(maxlen=8), "last": [0.0]}
    weight = clew.randn(4, requires_grad=True)

    def body(x: Any) -> Any:
        hidden = (state["hidden"] * weight + x.sum()).tanh()
        state["hidden"] = hidden.detach()
        loss = hidden.square().sum()
        state["losses"].append(loss.item())
        state["last"][0] = loss.item()
        (gradient,) = clew.autograd.grad(loss, weight)
        return {"loss": loss.detach(), "gradient": gradient}

    step, inputs = clew.compile(body), [clew.ones(size) for size in (2, 3)]

    def once(i: int) -> None:
        step(inputs[i % 2])
        if i % 4096 == 0:
            dropped = clew.compile(body)
            for _ in range(3):
                dropped(inputs[0])

    return once


PROGRAMS = {one.__name__: one for one in (compiled_step, kept_block, kept_training, effects)}


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
    results = [soak(name, PROGRAMS[name](), replays) for name in sys.argv[2:] or PROGRAMS]
    print("nothing grew" if all(results) else "something grew")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
