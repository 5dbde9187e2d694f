"""The benchmark compares like with like: every workload gives the same numbers under clew, PyTorch and NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import clew

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench.overhead import alternate, compare, timer
from bench.table import Row, show
from bench.workloads import WORKLOADS, Workload

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if not w.prepared], ids=lambda w: w.name)
def test_results_are_equal(workload: Workload) -> None:
    modules = [("clew", clew), ("torch", torch)] + [("numpy", np)] * workload.numpy
    compare(workload, {name: workload.make(module) for name, module in modules})


def test_a_workload_that_differs_is_refused() -> None:
    with pytest.raises(AssertionError, match="clew differs from torch"):
        compare(WORKLOADS[0], {"clew": lambda: np.ones(2), "torch": lambda: np.zeros(2)})


def test_rounds_alternate() -> None:
    turns: list[str] = []
    timers = {name: lambda name=name: float(len(turns.append(name) or turns)) for name in "ab"}
    times = alternate(timers, 3)
    assert "".join(turns) == "abbaab"
    assert [len(rounds) for rounds in times.values()] == [3, 3]


def test_what_is_prepared_is_not_timed() -> None:
    import time

    def run(graph: float) -> None: ...

    run.prepare = lambda: time.sleep(0.001)  # type: ignore[attr-defined]
    assert timer(run)() < 100_000  # nanoseconds


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("fast", "ns", 100.0, 1000.0, 50.0, bar=8), Row("heavy", "B", 300.0, most=200)]
    show(rows)
    out = capsys.readouterr().out
    assert "10.0x  at least 8x: yes" in out
    assert "at most 200 B: NO" in out
    assert rows[0].as_dict()["ratio"] == 10


@pytest.mark.parametrize("how", [["bench/overhead.py"], ["-m", "bench.overhead"]])
def test_as_a_script(how: list[str]) -> None:
    environment = os.environ | {
        "OPENBLAS_CORETYPE": "Nehalem",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, *how, "-k", "recording product", "--rounds", "1", "--json", "-"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    (row,) = json.loads(ran.stdout)
    assert row["torch"] > row["clew"] > 0
