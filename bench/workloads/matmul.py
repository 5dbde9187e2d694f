"""Products of square matrices of float32, against the machine's measured peak of fused multiply-adds."""

from __future__ import annotations

import math
from typing import Any

from bench import peak_flops
from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values

PEAK_FROM = 128  # below, calling the loop takes longer than the loop


class Matmul(Workload):
    group = "matmul"
    tolerance = 10

    def __init__(self, size: int) -> None:
        self.size = size
        self.name = f"matmul {size}"

    def facts(self) -> dict[str, Any]:
        return {"size": self.size, "flops": 2 * self.size**3}

    def has(self, method: str) -> bool:
        return super().has(method) and (method != "machine" or self.size >= PEAK_FROM)

    def _inputs(self) -> list[Any]:
        return [values(self.size, self.size, seed=seed, scale=1 / math.sqrt(self.size)) for seed in range(2)]

    def eager(self, m: Module, jit: Jit) -> Run:
        x, y = (m.from_numpy(array) for array in self._inputs())
        return Run(lambda: x @ y)

    def jax(self, jax: Module) -> Run:
        x, y = (jax.numpy.asarray(array) for array in self._inputs())
        product = jax.jit(lambda x, y: x @ y)
        return Run(lambda: product(x, y).block_until_ready())

    def numpy(self, np: Module) -> Run:
        x, y = self._inputs()
        return Run(lambda: x @ y)

    def machine(self, np: Module) -> Run:
        """As many operations, at the machine's peak."""
        return Run(peak_flops.flops(2 * self.size**3), check=list)


WORKLOADS = tuple(Matmul(2**power) for power in range(2, 12))
