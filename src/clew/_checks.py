"""Small functions that few programs need: `torch._check` and the like, and methods as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew

from ._core import Tensor
from ._methods import publish

Message = Callable[[], object] | None


def detach(input: Tensor) -> Tensor:
    """`input.detach()`.

    Example:
        >>> torch.detach(torch.ones(1, requires_grad=True))
        tensor([1.])
    """
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """`input.detach_()`."""
    return input.detach_()


publish(["detach", "detach_"], globals(), "clew")


def get_device_module(device: Any = None) -> Any:
    """The module of a device: `clew.cpu` for the CPU, which is the default.

    Example:
        >>> torch.get_device_module("cuda").is_available()
        False
    """
    kind = clew.device("cpu" if device is None else device).type
    module = getattr(clew, kind, None)
    if module is None:
        raise RuntimeError(f"get_device_module: expected a device that has a module, got {kind!r}; use 'cpu'")
    return module


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError unless the condition, a bool or a tensor of one element, holds."""
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: bool, message: Message = None) -> None:
    """Raises an exception of this type unless the condition holds.

    Args:
        message: gives the text; it is called only then.

    Raises:
        TypeError: the condition is no bool.
    """
    if not isinstance(cond, bool):
        raise TypeError(f"_check: expected cond to be a bool, got {type(cond).__name__}")
    if not cond:
        raise error_type(str(message()) if message is not None else "Expected cond to be True, but got False.")


def _check(cond: bool, message: Message = None) -> None:
    """Raises RuntimeError unless the condition holds.

    Example:
        >>> torch._check(1 < 2, lambda: "never shown")
    """
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raises RuntimeError unless `i` can be a size: not negative, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raises IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raises ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raises TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)
