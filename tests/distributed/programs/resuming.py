"""Trains six steps, saving after each, from where the file stands; a rank dies before the step that is told.

Arguments: the file, the step (-1 for none). Rank 0 prints the loss of each step over the whole batch.
"""

import os
import sys
from pathlib import Path

import numpy
from common import clew, dist, rank, run, size

from clew import nn

path, dies = Path(sys.argv[1]), int(sys.argv[2])
points = numpy.random.default_rng(0).standard_normal((6, 12, 4))
clew.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double())
optimizer = clew.optim.Adam(model.parameters(), lr=0.05)
first = 0
if path.exists():
    saved = clew.load(path)
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["step"]
for step in range(first, len(points)):
    if step == dies and rank == size - 1:
        os._exit(9)
    x = clew.tensor(points[step, rank::size])
    optimizer.zero_grad()
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    if rank == 0:
        print(f"loss {step} {mean.item()!r}", flush=True)
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
        clew.save(state, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)  # a file is whole, or not there
    dist.barrier()
run({})
