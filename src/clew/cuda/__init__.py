"""There are no CUDA devices; scripts that ask get the answer no."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._unsupported import missing_from


def is_available() -> bool:
    """False: the CPU is the only device.

    Example:
        >>> clew.cuda.is_available()
        False
    """
    return False


def device_count() -> int:
    """0: the CPU is the only device.

    Example:
        >>> clew.cuda.device_count()
        0
    """
    return 0


def is_initialized() -> bool:
    """False: the CPU is the only device.

    Example:
        >>> clew.cuda.is_initialized()
        False
    """
    return False


def manual_seed_all(seed: int) -> None:
    """Accepted: there is no generator to seed.

    Example:
        >>> torch.cuda.manual_seed_all(0)
    """


manual_seed = manual_seed_all


_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("clew.cuda.amp")
    return _missing(name)
