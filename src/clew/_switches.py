"""Settings of PyTorch's that scripts make, and that change nothing here: results are the same bits in every run."""

from __future__ import annotations

_PRECISIONS = ("highest", "high", "medium")


class _Settings:
    deterministic = False
    warn_only = False
    precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for reproducible results, which there are in any case, whatever the number of threads.

    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    _Settings.deterministic, _Settings.warn_only = bool(mode), bool(warn_only)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` set."""
    return _Settings.warn_only


def get_deterministic_debug_mode() -> int:
    """0: off, 1: warn, 2: raise. The mode that `set_deterministic_debug_mode` set.

    Example:
        >>> torch.get_deterministic_debug_mode()
        0
    """
    return 0 if not _Settings.deterministic else 1 if _Settings.warn_only else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or a word: 0 "default", 1 "warn", 2 "error".

    Raises:
        RuntimeError: another mode.
    """
    modes = {"default": 0, "warn": 1, "error": 2}
    mode = modes.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"set_deterministic_debug_mode: expected 0, 1, 2 or one of {list(modes)}, got {debug_mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


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
