"""The machine's own limits: a compiled loop of fused multiply-adds, and NumPy's copy, on as many threads as asked."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peak_flops.c")


def threads_here() -> int:
    return len(os.sched_getaffinity(0))


def in_threads(work: Callable[[int], object]) -> Callable[[], None]:
    """A call of ``work(0)``, ``work(1)``, … at once, each in a thread that stays on a processor of its own."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) == 1:
        return lambda: (work(0), None)[1]
    pools = [ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, {cpu})) for cpu in cpus]

    def call() -> None:
        wait([pool.submit(work, part) for part, pool in enumerate(pools)])

    return call


def compiled_loop() -> Any:
    """The loop of ``peak_flops.c``. NotImplementedError if there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        raise NotImplementedError("peak: no C compiler (gcc, clang, cc) to build the loop with")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "peak_flops.so")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, _SOURCE, "-o", library], check=True, capture_output=True)
        loop = ctypes.CDLL(library)
    loop.flops_of_a_turn.restype = ctypes.c_long
    loop.turns.restype, loop.turns.argtypes = ctypes.c_float, [ctypes.c_long]
    return loop


def flops(count: float) -> Callable[[], None]:
    """A call that does ``count`` floating point operations, in equal parts on all threads."""
    loop = compiled_loop()
    turns = max(1, round(count / loop.flops_of_a_turn() / threads_here()))
    return in_threads(lambda _: loop.turns(turns))


def copy(np: Any, target: Any, source: Any) -> Callable[[], None]:
    """A call that copies, a part on each thread."""
    targets, sources = (np.array_split(array, threads_here()) for array in (target, source))
    return in_threads(lambda part: np.copyto(targets[part], sources[part]))
