"""A training step under a memory budget: of half of what its graphs save at most without one."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads.gpt import WORKLOADS as TRANSFORMERS

AMPLE = "1 TB"


class Halved(Workload):
    """A workload of eager, in half of its memory for what graphs save; compare it with that workload's own figure."""

    group = "budget"
    clew_alone = True

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.name = f"half the memory: {workload.name}"

    def facts(self) -> dict[str, Any]:
        return self.workload.facts()

    def has(self, method: str) -> bool:
        return method == "eager"

    def eager(self, m: Module, jit: Jit) -> Run:
        run = self.workload.eager(m, jit)
        with m.memory.budget(AMPLE) as ample:
            run.call()
        half = ample.report().peak // 2

        def call() -> Any:
            with m.memory.budget(half):
                return run.call()

        return Run(call)


# The others are too shallow: one operation with what it reads and makes is more than half.
WORKLOADS = tuple(Halved(one) for one in TRANSFORMERS)
