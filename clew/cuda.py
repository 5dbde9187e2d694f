"""There are no CUDA devices; scripts that ask get the answer no."""

from __future__ import annotations

from typing import Any

from ._unsupported import unsupported


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


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise unsupported(f"cuda.{name}", "the CPU is the only device so far")
