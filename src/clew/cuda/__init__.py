"""There are no CUDA devices; scripts that ask get the answer no."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._unsupported import missing_from


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_initialized() -> bool:
    """False."""
    return False


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


manual_seed = manual_seed_all


_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("clew.cuda.amp")
    return _missing(name)
