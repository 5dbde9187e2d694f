"""Optimizers' options and their checks, whose texts are PyTorch's."""

from __future__ import annotations

from typing import Any

from clew import Tensor


def options_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the local names of an optimizer's constructor: all of its arguments but `params`."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


def check_not_negative(name: str, value: Any) -> None:
    """Raise `ValueError` if `value` is negative (or not a number)."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element, got {value.numel()}")
    if not float(value) >= 0.0:
        labels = {"lr": "learning rate", "eps": "epsilon value"}
        raise ValueError(f"Invalid {labels.get(name, name + ' value')}: {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Raise `ValueError` unless both decay rates are in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= float(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def check_share(name: str, value: float) -> None:
    """Raise `ValueError` unless `value` is in [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"Invalid {name} value: {value}")


def check_variants(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Refuse hints that contradict each other. `foreach`, `fused` and `capturable` change nothing here."""
    if foreach and fused:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
