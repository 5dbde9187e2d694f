"""The speed of memory: 400 MB copied."""

from __future__ import annotations

from typing import Any

from bench import peak_flops
from bench.workload import Jit, Module, Run, Workload

SIZE = 100_000_000


class Copy(Workload):
    name = "copy of 400 MB"
    group = "bandwidth"

    def facts(self) -> dict[str, Any]:
        return {"bytes": 8 * SIZE}

    def eager(self, m: Module, jit: Jit) -> Run:
        source, target = m.ones(SIZE), m.zeros(SIZE)
        return Run(lambda: target.copy_(source), check=lambda: target.copy_(source)[:10])

    def machine(self, np: Module) -> Run:
        source, target = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)
        return Run(peak_flops.copy(np, target, source), check=list)


WORKLOADS = (Copy(),)
