"""What the graph costs: clew and PyTorch in turns, in one process, on one thread.

    python bench/overhead.py              # the table
    python bench/overhead.py -k chain     # rows whose name contains a word
    python bench/overhead.py --json out.json

Each workload's results are compared before it is timed. The rounds alternate between the modules, so that a machine
that changes its speed changes it for all; the best round of each counts, the one that was disturbed least.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

if not __package__:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _environment

if __name__ == "__main__":
    _environment.settle()

import numpy as np

from bench.engine_only import bytes_rows, provenance_rows
from bench.table import Row, show
from bench.workloads import WORKLOADS, Run, Workload

ROUND_NS = 3_000_000  # short, so that some rounds are not disturbed; long enough for the clock


def main() -> int:
    parser = argparse.ArgumentParser(description="What the graph costs, beside PyTorch and NumPy.")
    parser.add_argument("-k", default="", metavar="WORD", help="only rows whose name contains WORD")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--json", metavar="FILE", help="also write the figures here ('-': to stdout, instead of the table)"
    )
    options = parser.parse_args()

    import torch

    import clew

    torch.set_num_threads(1)
    clew.set_num_threads(1)
    rows = [
        measure(workload, {"clew": clew, "torch": torch, "numpy": np}, options.rounds)
        for workload in WORKLOADS
        if options.k.lower() in workload.name.lower()
    ]
    recorded = {row.name: row.clew for row in rows}
    if len(rows) > 1 and WORKLOADS[0].name in recorded and WORKLOADS[1].name in recorded:
        cost = recorded[WORKLOADS[0].name] - recorded[WORKLOADS[1].name]
        rows.insert(2, Row("recording costs over no_grad", "ns", cost, most=100))
    rows += [row for row in provenance_rows(clew, options.rounds, timed) if options.k.lower() in row.name.lower()]
    if options.k.lower() in "bytes of a node, of a link":
        rows += bytes_rows(clew)

    if options.json == "-":
        print(json.dumps([row.as_dict() for row in rows], indent=1))
        return 0
    show(rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([row.as_dict() for row in rows], file, indent=1)
    return 0


def measure(workload: Workload, modules: dict[str, Any], rounds: int) -> Row:
    """Compare, then time in turns. Nanoseconds for one of what the workload's name says."""
    if not workload.numpy:
        modules = {name: module for name, module in modules.items() if name != "numpy"}
    runs = {name: workload.make(module) for name, module in modules.items()}
    if not workload.prepared:
        compare(workload, runs)
    times = alternate({name: timer(run) for name, run in runs.items()}, rounds)
    figures = {name: min(rounds_) / workload.count for name, rounds_ in times.items()}
    return Row(workload.name, "ns", figures["clew"], figures["torch"], figures.get("numpy"), bar=workload.bar)


def alternate(timers: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Let each timer run once a round, in turns; every other round in the opposite order."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(rounds):
        names = list(timers) if number % 2 == 0 else list(reversed(timers))
        for name in names:
            times[name].append(timers[name]())
    return times


def timed(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """The best time of a call of each, in nanoseconds."""
    return {name: min(times) for name, times in alternate({n: timer(run) for n, run in runs.items()}, rounds).items()}


def timer(run: Any) -> Callable[[], float]:
    """A function that times a round of calls and gives the nanoseconds of one."""
    prepare: Callable[[], Any] | None = getattr(run, "prepare", None)

    def once(calls: int) -> int:
        if prepare is not None:
            total = 0
            for _ in range(calls):
                graph = prepare()
                started = perf_counter_ns()
                run(graph)
                total += perf_counter_ns() - started
            return total
        started = perf_counter_ns()
        for _ in range(calls):
            run()
        return perf_counter_ns() - started

    once(3)
    calls = max(1, round(ROUND_NS / max(1, once(3) / 3)))
    if prepare is not None:
        calls = min(calls, 100)  # what is prepared takes longer than what is timed

    def round_() -> float:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return once(calls) / calls
        finally:
            if was_enabled:
                gc.enable()

    return round_


def compare(workload: Workload, runs: dict[str, Run]) -> None:
    """Run each three times, so that optimizers have moved, and compare what came out."""
    results = {name: [_as_arrays(run()) for _ in range(3)][-1] for name, run in runs.items()}
    expected = results["torch" if "clew" in results else next(iter(results))]
    for name in results:
        if name == "numpy" and len(results[name]) != len(expected):
            continue  # NumPy has the forward only
        for got, wanted in zip(results[name], expected, strict=True):
            np.testing.assert_allclose(
                got,
                wanted,
                workload.tolerance,
                workload.tolerance,
                err_msg=f"{workload.name}: {name} differs from torch",
            )


def _as_arrays(result: Any) -> list[Any]:
    tensors = result if isinstance(result, (list, tuple)) else [result]
    return [np.array(tensor.detach().numpy() if hasattr(tensor, "detach") else tensor) for tensor in tensors]


if __name__ == "__main__":
    sys.exit(main())
