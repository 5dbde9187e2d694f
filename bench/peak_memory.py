"""The peak of a process's resident memory over what the imports took: caches, graph, gradients and all."""

from __future__ import annotations

import gc
from typing import Any

from bench.rivals import Rival
from bench.workload import Workload

CALLS = 5


def status_bytes(field: str) -> int:
    """A figure of ``/proc/self/status`` in bytes."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def reset_peak() -> bool:
    """Let ``VmHWM`` begin anew at what is resident now. False where the kernel does not allow it."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def of(rival: Rival, module: Any, workload: Workload) -> float:
    """Make the workload and call it a few times in this process, which has only imported its library so far.

    What a compiler takes at the first call is let go where it can be: the peak is that of the later calls.
    """
    gc.collect()
    before = status_bytes("VmRSS")
    reset_peak()
    run = rival.make(workload, module)
    for number in range(CALLS):
        result = run.call(run.prepare()) if run.prepare else run.call()
        if run.ready is not None:
            run.ready(result)
        if number == 0 and rival.compiles:
            reset_peak()
    return (status_bytes("VmHWM") - before) / workload.bytes_of
