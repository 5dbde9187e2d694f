"""`out=` of functions that are written in Python: what they gave, in the memory of the caller's."""

from __future__ import annotations

from typing import Any, TypeVar

from . import _core
from ._core import Tensor

_Results = TypeVar("_Results")


def filled(name: str, result: _Results, out: Any) -> _Results:
    """`result`, or `out` that holds it: a tensor, or a tuple of as many as there are results."""
    if out is None:
        return result
    several: Any = result if isinstance(result, tuple) else (result,)
    places = out if isinstance(out, tuple | list) else (out,)
    if len(places) != len(several) or not all(isinstance(one, Tensor) for one in places):
        raise TypeError(f"{name}: expected out= to be {len(several)} tensor(s), got {type(out).__name__}")
    for value, place in zip(several, places, strict=True):
        _fill(name, value, place)
    return type(result)(*places) if hasattr(result, "_fields") else out


def _fill(name: str, value: Tensor, place: Tensor) -> None:
    if _core.is_grad_enabled() and (value.requires_grad or place.requires_grad):
        raise RuntimeError(
            f"{name}: functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad; call it without out=, or under no_grad()"
        )
    if value.dtype.is_floating_point and not place.dtype.is_floating_point:
        raise RuntimeError(f"{name}: Expected out tensor to have dtype {value.dtype}, but got {place.dtype} instead")
    if place.shape != value.shape and place.numel():
        raise RuntimeError(
            f"{name}: expected out of shape {tuple(value.shape)}, got {tuple(place.shape)}; give one of the right "
            "shape, or an empty one"
        )
    if place.shape == value.shape:
        place.copy_(value)
    else:
        place.data = value.to(place.dtype)
