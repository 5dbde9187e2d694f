"""Bytes: against depth, of a link of a long chain, of a node."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads.mlp import DeepPerceptron
from bench.workloads.overhead import link_up

LINKS = 200_000


class Links(Workload):
    """What a link ``z = z * y`` takes all told, while the chain is alive."""

    name = "bytes of a link of a long chain"
    group = "bytes"
    bytes_of = LINKS
    timed = False
    trains = True

    def eager(self, m: Module, jit: Jit) -> Run:
        kept: list[Any] = []
        build = link_up(m.ones(1, requires_grad=True), m.ones(1), LINKS)

        def run() -> Any:
            kept[:] = [None]  # the last call's chain goes before the next is made
            kept[:] = [build()]

        return Run(run)


WORKLOADS = (Links(), *(DeepPerceptron(depth) for depth in (2, 8, 32, 128)))
