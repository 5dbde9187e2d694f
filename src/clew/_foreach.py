"""`_foreach_*`: one operation on each tensor of a list, as PyTorch's optimizers and libraries of theirs call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._core import Tensor

PREFIX = "_foreach_"
_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
)
_OTHERS = "add sub mul div pow lerp addcmul addcdiv clamp_min clamp_max copy"
# The method of a tensor for each name. That of maxima takes numbers, too.
_METHODS = {name: name for name in f"{_UNARY} {_OTHERS}".split()}
_METHODS |= {"maximum": "clamp_min", "minimum": "clamp_max"}


def find(full: str) -> Callable[..., Any] | None:
    """The function of this name; None if there is none."""
    plain = full.removeprefix(PREFIX)
    name, in_place = plain.removesuffix("_"), plain.endswith("_")
    if plain in ("zero", "copy") or (name not in _METHODS and plain not in ("norm", "max")):
        return None

    def each(self: Any, *args: Any, **kwargs: Any) -> list[Tensor] | None:
        if name == "pow" and not isinstance(self, list | tuple):
            return [self**exponent for exponent in args[0]]
        if not self:
            raise RuntimeError(f"{full}: expected tensors, got an empty list")
        rest = _spread(full, self, args, kwargs)
        results = [apply(tensor, *one, **named) for tensor, one, named in zip(self, *rest, strict=True)]
        return None if in_place else results

    def apply(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if name in ("addcmul", "addcdiv") and args[2:]:
            (kwargs["value"],), args = args[2:], args[:2]
        if name == "norm":
            from .linalg import vector_norm

            return vector_norm(tensor, *args, **kwargs)
        found: Tensor = getattr(tensor, "max" if name == "max" else _METHODS[name] + "_" * in_place)(*args, **kwargs)
        return found

    each.__name__ = each.__qualname__ = full
    each.__doc__ = f"`{plain}` of each tensor of a list. Other arguments are for all, or lists with one for each."
    return each


def _spread(name: str, tensors: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    """For each tensor its arguments, positional and named."""
    count = len(tensors)

    def one_for_each(key: Any, value: Any) -> list[Any]:
        if isinstance(value, Tensor) and value.dim() == 1 and key in (2, "value", "scalars"):
            value = value.tolist()  # the numbers of addcmul and addcdiv
        if not isinstance(value, list | tuple):
            return [value] * count
        if len(value) != count:
            raise RuntimeError(
                f"{name}: Tensor lists must have the same number of tensors, got {count} and {len(value)}"
            )
        return list(value)

    columns = [one_for_each(place, value) for place, value in enumerate(args)]
    # PyTorch names an argument after what it is given.
    names = {"tensors": "end", "tensors1": "end", "scalar": "other", "scalars": "value", "weights": "weight"}
    named = {names.get(key, key): one_for_each(key, value) for key, value in kwargs.items()}
    named.pop("non_blocking", None)
    return (
        [tuple(column[place] for column in columns) for place in range(count)],
        [{key: column[place] for key, column in named.items()} for place in range(count)],
    )
