"""A fair process: one thread, and the matrix library left to choose its own kernels."""

from __future__ import annotations

import os
import sys

_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def settle() -> None:
    """Start this process again if the environment would bend the figures. Call before NumPy is imported."""
    wrong = any(name in os.environ for name in _UNSET) or any(os.environ.get(name) != "1" for name in _ONE_THREAD)
    if not wrong:
        return
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET}
    environment |= dict.fromkeys(_ONE_THREAD, "1")
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
