"""Splitting what a module gets over devices, and joining what it gives; lists, tuples and dicts part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import Tensor

from . import gather as _join
from . import scatter as _split

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """For each device its part: tensors are split along `dim`, what holds tensors part by part, the rest is the same.

    Example:
        >>> torch.nn.parallel.scatter_gather.scatter({"x": torch.arange(4), "n": 1}, [0, 1])
        [{'x': tensor([0, 1]), 'n': 1}, {'x': tensor([2, 3]), 'n': 1}]
    """
    if isinstance(inputs, Tensor):
        return list(_split(inputs, target_gpus, dim))
    if not isinstance(inputs, list | tuple | dict) or not inputs:
        return [inputs for _ in target_gpus]
    held = inputs.items() if isinstance(inputs, dict) else inputs
    parts = zip(*(scatter(one, target_gpus, dim) for one in held), strict=False)
    return [type(inputs)(*each) if is_namedtuple(inputs) else type(inputs)(each) for each in parts]


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """`scatter` of positional and named arguments; the shorter of the two is filled up with none."""
    places = scatter(inputs, target_gpus, dim) if inputs else []
    names = scatter(kwargs, target_gpus, dim) if kwargs else []
    places += [()] * (len(names) - len(places))
    names += [{} for _ in range(len(places) - len(names))]
    return tuple(places), tuple(names)


def gather(outputs: Sequence[Any], target_device: Any = None, dim: int = 0) -> Any:
    """The inverse of `scatter`: tensors are joined along `dim`.

    Raises:
        ValueError: dicts with other keys.

    Example:
        >>> torch.nn.parallel.scatter_gather.gather([{"x": torch.ones(1)}, {"x": torch.zeros(1)}])
        {'x': tensor([1., 0.])}
    """
    first = outputs[0]
    if first is None:
        return None
    if isinstance(first, Tensor):
        return _join([one.unsqueeze(0) if one.dim() == 0 else one for one in outputs], target_device, dim)
    if isinstance(first, dict):
        if not all(one.keys() == first.keys() for one in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([one[key] for one in outputs], target_device, dim)) for key in first)
    parts = [gather(each, target_device, dim) for each in zip(*outputs, strict=True)]
    return type(first)._make(parts) if is_namedtuple(first) else type(first)(parts)
