"""`torch._foreach_add_` and the like: an operation on each tensor of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core

_OPERATIONS = {
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min", "copy", "cos", "cosh",
    "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma", "log", "log10", "log1p", "log2", "max",
    "maximum", "minimum", "mul", "neg", "pow", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "sqrt", "sub", "tan", "tanh", "trunc", "zero",
}  # fmt: skip


def has(name: str) -> bool:
    """Whether it is `_foreach_` and an operation, in place or not; `_foreach_norm` as well."""
    base = name.removeprefix("_foreach_")
    return base == "norm" or base.removesuffix("_") in _OPERATIONS


def make(name: str) -> Callable[..., Any]:
    """`_foreach_add_(tensors, others)` and the like: lists are taken part by part, all else is for every tensor."""
    base = name.removeprefix("_foreach_")

    def each(self: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        tensors = list(self)
        for given in (*args, *kwargs.values()):
            if isinstance(given, list | tuple) and len(given) != len(tensors):
                raise RuntimeError(
                    f"{name}: expected lists of one length, got {len(tensors)} tensors and {len(given)} others"
                )
        results = [
            getattr(_core.Tensor, base)(
                tensor,
                *[_part(given, index) for given in args],
                **{key: _part(given, index) for key, given in kwargs.items()},
            )
            for index, tensor in enumerate(tensors)
        ]
        return None if base.endswith("_") else results

    each.__name__ = each.__qualname__ = name
    each.__doc__ = f"`{base}` of each tensor of a list."
    return each


def _part(given: Any, index: int) -> Any:
    if isinstance(given, list | tuple):
        return given[index]
    return given
