"""The benchmark compares like with like: workloads give the same numbers under all libraries that are here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench.driver import differences
from bench.rivals import RIVALS
from bench.worker import arrays_of
from bench.workload import Workload
from bench.workloads import everything
from bench.workloads.sweep import OPERATIONS, Swept

LARGE = ("copy", "matmul 1024", "matmul 2048", "chain of 10000", "GELU", "deep MLP, 32", "deep MLP, 128")
SMALL = [w for w in everything() if w.timed and w.group != "sweep" and not w.name.startswith(LARGE)]
SWEPT = [Swept(operation, 3, backward) for operation in OPERATIONS for backward in (False, True)]


def check(workload: Workload) -> None:
    results = {}
    for name in ("torch", "clew", "clew.compile", "numpy", "autograd"):
        rival = RIVALS[name]
        if rival.takes_part(workload) and rival.is_installed():
            results[name] = arrays_of(rival.make(workload, __import__(rival.module)).results())
    assert not differences(results, workload.tolerance)


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: w.name)
def test_results_are_equal(workload: Workload) -> None:
    check(workload)


@pytest.mark.parametrize("workload", SWEPT, ids=lambda w: w.name)
def test_swept_operations_are_equal(workload: Workload) -> None:
    check(workload)


def test_names_are_unique() -> None:
    names = [workload.name for workload in everything()]
    assert len(names) == len(set(names))
