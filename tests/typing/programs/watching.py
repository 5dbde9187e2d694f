"""What grows, and what holds a tensor."""

import warnings

import clew

w, total = clew.ones(3, requires_grad=True), clew.zeros(())
with clew.graph.watch() as watched, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for _ in range(20):
        loss = (w * w).sum()
        loss.backward()
        total = total + loss
paths: list[str | None] = [found.path for found in watched.warnings]
print(paths)
