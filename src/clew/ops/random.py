"""Random tensors of given sizes, and the state of the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from ..random import (
    Generator,
    default_generator,
    drawing_from,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from ._options import Drawn, check_options, checked_size, made

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "rand",
    "randint",
    "randn",
    "randperm",
    "seed",
    "set_rng_state",
]

_ops: Any = _core.ops
_INT64 = _core.dtypes["int64"]


def _drawn(name: str, draw: Callable[[tuple[int, ...], Any], Tensor], doc: str) -> Drawn:
    @domain("given=(2, 3)")
    def create(
        *given: Any,
        size: Any = None,
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        check_options(name, layout, device, pin_memory)
        sizes = checked_size(name, given, size)
        with drawing_from(generator):
            return made(name, lambda kind: draw(sizes, kind), out, dtype, requires_grad, device=device)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


rand = _drawn(
    "rand",
    _ops._rand,
    """Draws from the uniform distribution on [0, 1).

    Args:
        given, size: the sizes, one by one or as one sequence.
        generator: draws the numbers; by default the one that `clew.manual_seed` seeds.
        out, dtype, layout, device, requires_grad: as for `clew.zeros`; floating dtypes only.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.rand(2)
        tensor([0.4963, 0.7682])
    """,
)
randn = _drawn(
    "randn",
    _ops._randn,
    """Draws from the standard normal distribution; arguments as for `rand`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randn(2)
        tensor([ 1.5410, -0.2934])
    """,
)


def integer_bounds(name: str, given: tuple[Any, ...], low: Any, high: Any) -> tuple[int, int]:
    """`(high)` or `(low, high)`, by position or by keyword."""
    if len(given) > 2 or (given and high is not None and len(given) == 2):
        raise TypeError(f"{name}() takes low and high, got {len(given)} numbers")
    if len(given) == 2:
        low, high = given
    elif given:
        low, high = (given[0], high) if high is not None else (low, given[0])
    if high is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "high"')
    for argument, value in (("low", low), ("high", high)):
        if not hasattr(value, "__index__"):
            raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}")
    return int(low), int(high)


@domain("given=(2, 7, (3,))")
def randint(
    *given: Any,
    low: int = 0,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Integers drawn from [low, high), by default of dtype int64: `randint(high, size)` or `randint(low, high, size)`.

    Raises:
        TypeError: the sizes are no tuple of integers.
        RuntimeError: `high` is not above `low`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randint(10, (4,))
        tensor([4, 9, 3, 0])
    """
    check_options("randint", layout, device, pin_memory)
    if size is None and given:
        given, size = given[:-1], given[-1]
    if not isinstance(size, tuple | list):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    sizes = checked_size("randint", (), size)
    least, limit = integer_bounds("randint", given, low, high)
    with drawing_from(generator):
        return made(
            "randint", lambda kind: _ops._randint(least, limit, sizes, kind), out, dtype, requires_grad, _INT64, device
        )


@domain("n=5")
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A random permutation of the integers from 0 to n - 1, of dtype int64 unless another is given.

    Raises:
        TypeError: `n` is no integer.
        RuntimeError: `n` is negative.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randperm(4)
        tensor([0, 1, 3, 2])
    """
    check_options("randperm", layout, device, pin_memory)
    if not hasattr(n, "__index__"):
        raise TypeError(f"randperm(): argument 'n' must be int, not {type(n).__name__}")
    with drawing_from(generator):
        return made("randperm", lambda kind: _ops._randperm(n, kind), out, dtype, requires_grad, _INT64, device)
