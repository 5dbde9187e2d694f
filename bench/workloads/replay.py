"""Kept programs beside eager: the same step, run by Python each time or kept once and run again."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload, as_list
from bench.workloads._shared import STEPS_COMPARED
from bench.workloads.chain import Chain, RungeKutta
from bench.workloads.mlp import WORKLOADS as PERCEPTRONS

WARM = 2  # the first step makes the optimizer's state, and is another program


class Kept(Workload):
    """A workload of eager, whose call is kept where the library can."""

    group = "kept"

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.name = f"kept: {workload.name}"
        self.tolerance = workload.tolerance

    def facts(self) -> dict[str, Any]:
        return self.workload.facts()

    def has(self, method: str) -> bool:
        return method == "eager"

    def eager(self, m: Module, jit: Jit) -> Run:
        run = self.workload.eager(m, jit)
        for _ in range(WARM):
            run.call()
        if not hasattr(m, "keep_graph"):
            return Run(run.call, check=lambda: _several(run.call))
        with m.keep_graph() as program:
            result = run.call()

        def call() -> Any:
            program.run()
            return result

        first = _copies(result)

        return Run(call, check=lambda: _several(call, first))


def _copies(result: Any) -> list[Any]:
    return [one.detach().clone() for one in as_list(result)]


def _several(call: Any, *first: Any) -> list[Any]:
    """Results of some calls, the recorded one among them."""
    results = [*first, *(_copies(call()) for _ in range(STEPS_COMPARED - len(first)))]
    return [one for result in results for one in result]


WORKLOADS = (*(Kept(one) for one in PERCEPTRONS), Kept(Chain(1000)), Kept(RungeKutta()))
