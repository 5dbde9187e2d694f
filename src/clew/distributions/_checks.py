"""Checks of a distribution's parameters against their constraints, and of values against its shapes and support."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from clew import Tensor
from clew._samples import all_true

from . import constraints
from .utils import lazy_property

if TYPE_CHECKING:
    from .distribution import Distribution


def check_parameters(distribution: Distribution) -> None:
    """Each parameter satisfies its constraint; those are left out that others imply or that are computed when asked."""
    try:
        given = distribution.arg_constraints
    except (NotImplementedError, AttributeError):
        warnings.warn(
            f"{distribution.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
            "initialize the distribution with `validate_args=False` to turn off validation.",
            stacklevel=4,
        )
        return
    for name, constraint in given.items():
        lazy = name not in distribution.__dict__ and isinstance(getattr(type(distribution), name, None), lazy_property)
        if constraints.is_dependent(constraint) or lazy:
            continue
        value = getattr(distribution, name)
        if not all_true(constraint.check(value)):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{distribution!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )


def check_value(distribution: Distribution, value: Any) -> None:
    """The value is a tensor that broadcasts with the batch, of the event's shape, inside the support."""
    if not isinstance(value, Tensor):
        raise ValueError("The value argument to log_prob must be a Tensor")
    event_shape = distribution.event_shape
    expected = distribution.batch_shape + event_shape
    if value.shape[value.dim() - len(event_shape) :] != event_shape:
        raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {event_shape}.")
    if any(1 != i != j != 1 for i, j in zip(reversed(value.shape), reversed(expected), strict=False)):
        raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
    try:
        support = distribution.support
    except (NotImplementedError, AttributeError):
        warnings.warn(
            f"{distribution.__class__} does not define `support` to enable sample validation. Please initialize the "
            "distribution with `validate_args=False` to turn off validation.",
            stacklevel=4,
        )
        return
    if not all_true(support.check(value)):
        raise ValueError(
            f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
            f"support ({support!r}) of the distribution {distribution!r}, but found invalid values:\n{value}"
        )
