"""A rival's real process: what it is given, what it answers, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench.driver import Settings, Team
from bench.process import Process, RivalError, cpus_for
from bench.rivals import RIVALS
from bench.workloads import by_name

PRODUCT = "product of 4 elements, recorded"


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes find what this one finds."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))


@pytest.fixture
def process() -> Iterator[Any]:
    made = Process(RIVALS["numpy"], 1)
    yield made
    made.end()


def test_answers(process: Process) -> None:
    made = process.ask("make", PRODUCT)
    assert made["arrays"][0].shape == (4,)
    assert process.ask("calibrate", 1000) > 0
    assert process.ask("round") > 0
    assert process.hello["cpus"] == str(cpus_for(1))


def test_says_what_was_raised_and_goes_on(process: Process) -> None:
    with pytest.raises(RivalError, match="StopIteration"):
        process.ask("make", "no such workload")
    assert process.ask("make", PRODUCT)["arrays"]


def test_starts_again_after_it_has_died(process: Process) -> None:
    process.ask("make", PRODUCT)
    assert process._popen is not None
    os.kill(process._popen.pid, signal.SIGKILL)
    with pytest.raises(RivalError, match="its process died of SIGKILL"):
        process.ask("round")
    assert process.ask("make", PRODUCT)["arrays"]


def test_a_library_that_cannot_be_imported_is_an_error_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('built for another machine')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    with Team(["torch", "numpy"], 1) as team:
        for _ in range(2):
            measured = team.measure(by_name(PRODUCT), Settings(rounds=2, round_ns=1000))
            assert measured.errors == {"torch": "ImportError: built for another machine"}
            assert len(measured.rounds["numpy"]) == 2


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    one, two = (RIVALS["jax"].environment(threads) for threads in (1, 2))
    assert "OPENBLAS_CORETYPE" not in one
    assert (one["OMP_NUM_THREADS"], two["OMP_NUM_THREADS"]) == ("1", "2")
    assert "intra_op_parallelism_threads=1" in one["XLA_FLAGS"]
    assert two["XLA_FLAGS"] == ""


def test_peak_memory_counts_what_is_alive_at_once() -> None:
    """Two hundred thousand links of a chain are alive at once: at least a node's hundred bytes for each."""
    row = Team.peaks(["clew"], 1, by_name("bytes of a link of a long chain"))
    assert 100 < row["results"]["clew"]["bytes"] < 1000
