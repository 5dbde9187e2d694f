"""Digits and a small GPT, by all ranks or by one process: `mpirun -n 2 python -m bench.scaling.curves FILE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import clew
import clew.distributed as dist
from bench.workloads import gpt as workload
from clew import Tensor, nn
from clew.nn import functional as F
from clew.nn.parallel import DistributedDataParallel

BATCH = 12  # sequences, and five times as many images: whole numbers on 1, 2, 3 and 4 ranks
Problem = tuple[nn.Module, Callable[[Tensor, Tensor], Tensor], list[tuple[Tensor, Tensor]]]


def digits(steps: int) -> Problem:
    """scikit-learn's images and labels in a random order."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    order = [random.permutation(len(labels))[: 5 * BATCH] for _ in range(steps)]
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    batches = [
        (clew.tensor(images[one] / 16, dtype=clew.float32), clew.tensor(labels[one].astype(np.int64))) for one in order
    ]
    return model, F.cross_entropy, batches


def gpt(steps: int) -> Problem:
    """The README's bytes, each with the byte that follows."""
    readme = Path(__file__).parents[2] / "README.md"
    text = np.frombuffer(readme.read_bytes(), dtype=np.uint8).astype(np.int64)
    starts = np.random.default_rng(0).integers(0, len(text) - workload.TOKENS - 1, (steps, BATCH))
    parts = text[starts[..., None] + np.arange(workload.TOKENS + 1)]

    def loss(scores: Tensor, following: Tensor) -> Tensor:
        return F.cross_entropy(scores.reshape(-1, workload.WORDS), following.reshape(-1))

    batches = [(clew.tensor(part[:, :-1]), clew.tensor(part[:, 1:])) for part in parts]
    return workload.build(clew), loss, batches


PROBLEMS: dict[str, tuple[Callable[[int], Problem], int]] = {"digits": (digits, 200), "mini-GPT": (gpt, 60)}


def curve(make: Callable[[int], Problem], steps: int, shared: bool) -> list[float]:
    """Losses over the whole batch: trained by all ranks together, or by this process alone."""
    clew.manual_seed(0)
    model, loss_of, batches = make(steps)
    model = DistributedDataParallel(model) if shared else model
    optimizer = clew.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    for x, y in batches:
        if shared:
            x, y = (one.chunk(dist.get_world_size())[dist.get_rank()] for one in (x, y))
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        if shared:
            dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(mean.item())
    return losses


def main() -> None:
    dist.init_process_group()
    clew.set_num_threads(1)
    shared = dist.get_world_size() > 1
    found: dict[str, Any] = {name: curve(make, steps, shared) for name, (make, steps) in PROBLEMS.items()}
    if dist.get_rank() == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
