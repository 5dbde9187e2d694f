"""Classes and functions that files may use although they are no plain data."""

from __future__ import annotations

from typing import Any

_safe: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` with `weights_only=True` make objects of these classes, and call these functions.

    Args:
        safe_globals: classes and functions, or pairs of one and the name under which files have it.
    """
    _safe.extend(one for one in safe_globals if one not in _safe)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` allowed."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Allow nothing more than tensors and plain data."""
    _safe.clear()


class safe_globals:
    """`add_safe_globals` for a block.

    Example:
        >>> with clew.serialization.safe_globals([dict]):
        ...     clew.serialization.get_safe_globals()
        [<class 'dict'>]
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *exception: Any) -> None:
        _safe[:] = self._before


def safe_by_name() -> dict[str, Any]:
    """Those that were allowed, by the name under which files have them."""
    pairs = (one if isinstance(one, tuple) else (one, f"{one.__module__}.{one.__qualname__}") for one in _safe)
    return {name: one for one, name in pairs}
