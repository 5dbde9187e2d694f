"""Settings of PyTorch's that scripts make, and that change nothing here: results are the same bits in every run."""

from __future__ import annotations

_PRECISIONS = ("highest", "high", "medium")


class _Settings:
    deterministic = False
    precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for reproducible results, which there are anyway, whatever the number of threads."""
    _Settings.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return _Settings.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 to be less precise: accepted, and not used."""
    if precision not in _PRECISIONS:
        raise ValueError(f"set_float32_matmul_precision: expected one of {_PRECISIONS}, got {precision!r}")
    _Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return _Settings.precision
