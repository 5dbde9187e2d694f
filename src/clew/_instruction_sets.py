"""A package that was compiled on another kind of processor."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

TO_DO = "install clew on this machine, or with -C cmake.define.CLEW_LEVELS=all for all machines"


def warn_of_another_processor(compiled: Sequence[str], here: str) -> None:
    """Warns that kernels are slower than they need be, if the package was compiled for a better processor.

    Args:
        compiled: the instruction sets that kernels were compiled for, "v2", "v3" or "v4" of x86-64, the lowest first
        here: the best one of this processor, which is none of these

    Raises:
        ImportError: this processor has none of them
    """
    if compiled[-1] < here:
        return  # `clew doctor` reports it
    names = " and ".join(f"x86-64-{level}" for level in compiled)
    built = f"clew: expected to run on a processor like the one that it was installed on ({names}), got x86-64-{here}"
    if compiled[0] > here:
        raise ImportError(f"{built}, on which it can't run. To do: {TO_DO}")
    used = max(level for level in compiled if level < here)
    warnings.warn(f"{built}: kernels use {used} and are slower. To do: {TO_DO}", RuntimeWarning, stacklevel=3)
