"""`compatibility`, by which PyTorch marks what it keeps from version to version. Here the mark is all it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that leaves the function or class as it is.

    Example:
        >>> @torch.fx._compatibility.compatibility(is_backward_compatible=True)
        ... def double(x):
        ...     return 2 * x
        >>> double(2)
        4
    """

    def mark(value: Any) -> Any:
        value._backward_compatible = is_backward_compatible
        return value

    return mark
