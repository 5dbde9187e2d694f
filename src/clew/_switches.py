"""Settings of PyTorch's that scripts make, and that change nothing here: results are the same bits in every run."""

from __future__ import annotations

_PRECISIONS = ("highest", "high", "medium")


class _Settings:
    deterministic = False
    precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for reproducible results, which there are in any case, whatever the number of threads.

    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    _Settings.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """The mode that `use_deterministic_algorithms` set.

    Example:
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return _Settings.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 matrices to be less precise: accepted, without effect.

    Raises:
        ValueError: none of "highest", "high", "medium".

    Example:
        >>> torch.set_float32_matmul_precision("highest")
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"set_float32_matmul_precision: expected one of {_PRECISIONS}, got {precision!r}")
    _Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """The setting of `set_float32_matmul_precision`.

    Example:
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return _Settings.precision
