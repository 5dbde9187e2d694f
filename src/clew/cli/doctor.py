"""``clew doctor``: what runs here, and what makes it slower than it could be."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import numpy

from .. import __version__, _core, get_num_threads
from .._instruction_sets import TO_DO
from ..keep.spare_compiler import spare_compiler
from .system import cpu_info, read

HELP = "print versions, instruction set, threads, BLAS, packages, and what is slow on this machine"
DESCRIPTION = "Print what clew runs on, and what makes it slower on this machine. The exit code is always 0."

_SETS = {"v2": "x86-64-v2 (SSE4.2)", "v3": "x86-64-v3 (AVX2, FMA)", "v4": "x86-64-v4 (AVX-512)"}
_OPTIONAL = {
    "rich": "colour in reports",
    "resvg_py": "pictures of graphs as PNG",
    "matplotlib": "charts",
    "pandas": "records as data frames",
    "tensorboard": "SummaryWriter",
    "jax": "Program.to_jax",
    "onnx": "Program.to_onnx",
    "torch": "the column beside clew in `clew bench`",
    "shtab": "clew completion",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def main(options: argparse.Namespace) -> int:
    """Print it."""
    for name, value in facts():
        print(f"{name:<18} {value}")
    found = list(problems())
    print("\nslow here: " + ("nothing was found" if not found else ""))
    for problem in found:
        print(f"  {problem}")
    return 0


def facts() -> Iterator[tuple[str, str]]:
    """What there is: a name and a text each."""
    yield "clew", f"{__version__}, in {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"
    yield "python", f"{platform.python_version()}, {platform.python_implementation()}, {sys.executable}"
    yield "system", f"{platform.platform()}, {platform.machine()}"
    yield "processor", _processor()
    yield "instruction set", _SETS.get(_core.isa(), _core.isa()) + " is what kernels use"
    yield "threads", f"{get_num_threads()} of {_allowed()} processors that this process may use"
    yield "matrix products", "clew's own kernels, no BLAS"
    yield "half precision", "bfloat16 and float16 are computed in float32 and rounded: autocast is slower than float32"
    yield "numpy", f"{numpy.__version__}, BLAS: {_blas()}; clew.linalg's factorizations use its LAPACK"
    asked = os.environ.get("CLEW_CC")
    compiler = shutil.which(asked or "cc") or (None if asked else spare_compiler())
    missing = "not found: install one, or clew[compile]"
    yield "C compiler", f"{compiler or missing} (code of compiled functions and kept programs)"
    for package, purpose in _OPTIONAL.items():
        yield package, f"{_version(package) or 'not installed'} ({purpose})"


def problems() -> Iterator[str]:
    """What is slower than it need be, with what to do."""
    level, best = _core.isa(), _core.isa_of_processor()
    if level != best and best not in _core.isas:
        yield f"kernels use {level}, though the processor has {best}, for which they were not compiled: {TO_DO}"
    elif level != best:
        yield f"kernels use {level}, though the processor has {best}: unset CLEW_ISA"
    elif level == "v2" and platform.machine() == "x86_64":
        yield "the processor has no AVX2: kernels work on vectors of 16 bytes"
    allowed, threads = _allowed(), get_num_threads()
    if threads > allowed:
        yield f"{threads} threads share {allowed} processors: set_num_threads({allowed})"
    quota = _quota()
    if quota is not None and quota < threads:
        fewer = max(1, int(quota))
        yield f"the container may use {quota:.1f} processors, and {threads} threads wait: set_num_threads({fewer})"
    governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor == "powersave":
        yield "the clock's governor is powersave: timings vary; performance gives steady ones"
    if busy := other_work():
        yield busy
    if sys.gettrace() is not None or sys.getprofile() is not None:
        yield "a debugger or profiler traces each line of Python"
    if sys.flags.dev_mode or os.environ.get("PYTHONMALLOC"):
        yield "Python checks its own memory (-X dev or PYTHONMALLOC)"


def other_work() -> str:
    """What to say of work that takes the processors from this process; empty if there is none."""
    load, allowed = os.getloadavg()[0], _allowed()
    return f"other work is running: load {load:.1f} on {allowed} processors" if load > allowed else ""


def _allowed() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quota() -> float | None:
    """How many processors the control group allows; None: no limit is known."""
    limit, _, period = read("/sys/fs/cgroup/cpu.max").partition(" ")
    return int(limit) / int(period) if limit.isdigit() and period.isdigit() else None


def _processor() -> str:
    return cpu_info("model name") or platform.processor() or "unknown"


def _blas() -> str:
    told = numpy.show_config(mode="dicts") or {}
    blas = told.get("Build Dependencies", {}).get("blas", {})
    return " ".join(filter(None, (blas.get("name"), blas.get("version")))) or "unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
