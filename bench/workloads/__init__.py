"""What is measured. Each module named here has its ``WORKLOADS``."""

from __future__ import annotations

import functools
import importlib

from bench.workload import Workload

MODULES = (
    "overhead", "chain", "mlp", "sequence", "tree", "gpt", "attention", "convolution", "gelu_chain", "policy", "hmc",
    "equations", "replay", "budget", "matmul", "copy", "sweep", "footprint",
)  # fmt: skip


@functools.cache
def everything() -> tuple[Workload, ...]:
    """All workloads, in the order of the tables."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return tuple(workload for module in modules for workload in module.WORKLOADS)


@functools.cache
def by_name(name: str) -> Workload:
    return next(workload for workload in everything() if workload.name == name)
