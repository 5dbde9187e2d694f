"""New tensors whose elements are evenly spaced."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from ._options import check_options, checked_dtype, made
from .creation import as_number

__all__ = ["arange", "linspace", "logspace"]

_ops: Any = _core.ops
_INT64, _FLOAT64 = _core.dtypes["int64"], _core.dtypes["float64"]


def _real(name: str, value: Any) -> Any:
    number = as_number(name, value)
    if isinstance(number, complex):
        raise NotImplementedError(
            f"{name}: expected real numbers, got {number}; make the parts and join them by complex()"
        )
    return number


@domain("given=(5,); given=(1.0, 3.0, 0.5)")
def arange(
    *given: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from `start` (0 if not given) up to but not including `end`, in steps of `step` (1).

    Args:
        given: `end`, or `start, end`, or `start, end, step`.
        dtype: by default int64 if all of them are integers, else the default dtype.

    Raises:
        RuntimeError: a step of 0, or one that leads away from `end`.
        TypeError: no end.

    Example:
        >>> torch.arange(1, 10, 4)
        tensor([1, 5, 9])
    """
    plain = start is end is step is out is layout is device is None and not (pin_memory or requires_grad)
    if plain and len(given) == 1 and type(given[0]) is int:  # the usual call, which must not take long
        counted: Tensor = _ops._arange(0, given[0], 1, _INT64 if dtype is None else checked_dtype("arange", dtype))
        return counted
    check_options("arange", layout, device, pin_memory)
    if len(given) == 1 and end is None:
        end = given[0]
    elif len(given) <= 3 and given:
        start, end, step = _fill_in("arange", given, start, end, step)
    if end is None:
        raise TypeError(
            f"arange() received an invalid combination of arguments - got {len(given)} numbers; expected an end"
        )
    bounds = [_real("arange", 0 if start is None else start), _real("arange", end)]
    bounds.append(_real("arange", 1 if step is None else step))
    default = _INT64 if all(isinstance(bound, int) for bound in bounds) else None
    return made("arange", lambda kind: _ops._arange(*bounds, kind), out, dtype, requires_grad, default, device)


def _fill_in(name: str, given: tuple[Any, ...], *named: Any) -> tuple[Any, ...]:
    """Positional arguments, then what was named."""
    for value in named[: len(given)]:
        if value is not None:
            raise TypeError(f"{name}() got multiple values for an argument")
    return given + named[len(given) :]


def _checked_steps(name: str, start: Any, end: Any, steps: Any) -> tuple[Any, Any, int]:
    if not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    return _real(name, start), _real(name, end), steps


@domain("start=0.0, end=1.0, steps=5")
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers, evenly spaced from `start` to `end`, both included.

    Raises:
        RuntimeError: a negative number of steps.

    Example:
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    check_options("linspace", layout, device, pin_memory)
    first, last, count = _checked_steps("linspace", start, end, steps)
    return made(
        "linspace", lambda kind: _ops._linspace(first, last, count, kind), out, dtype, requires_grad, device=device
    )


@domain("start=0.0, end=1.0, steps=5")
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`base` to the powers of `linspace(start, end, steps)`.

    Raises:
        NotImplementedError: a negative base.

    Example:
        >>> torch.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    check_options("logspace", layout, device, pin_memory)
    first, last, count = _checked_steps("logspace", start, end, steps)

    def make(kind: Any) -> Tensor:
        if base < 0 or math.isnan(base):
            raise NotImplementedError(f"logspace: expected a base of 0 or more, got {base}")
        powers: Tensor = _ops.pow(base, _ops._linspace(first, last, count, _FLOAT64))
        return powers.to(kind)

    return made("logspace", make, out, dtype, requires_grad, device=device)
