"""Random tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
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
from ._options import check_options, checked_size, made

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "rand",
    "randint",
    "randn",
    "randperm",
    "seed",
    "set_rng_state",
]
METHODS = ["bernoulli", "bernoulli_", "exponential_", "multinomial", "normal_", "random_", "uniform_"]

_ops: Any = _core.ops
_INT64 = _core.dtypes["int64"]


def rand(
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
    """Numbers from the uniform distribution on [0, 1).

    Args:
        given, size: the sizes, one by one or as one sequence.
        generator: draws the numbers; by default the one that `clew.manual_seed` seeds.
        out, dtype, layout, device, requires_grad: as for `clew.zeros`; floating dtypes only.

    >>> import clew
    >>> clew.manual_seed(0)
    <clew.Generator seeded with 0>
    >>> clew.rand(2)
    tensor([0.4963, 0.7682])
    """
    check_options("rand", layout, device, pin_memory)
    sizes = checked_size("rand", given, size)
    with drawing_from(generator):
        return made("rand", lambda kind: _ops._rand(sizes, kind), out, dtype, requires_grad)


def randn(
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
    """Numbers from the standard normal distribution; arguments as for `rand`."""
    check_options("randn", layout, device, pin_memory)
    sizes = checked_size("randn", given, size)
    with drawing_from(generator):
        return made("randn", lambda kind: _ops._randn(sizes, kind), out, dtype, requires_grad)


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
    """Integers from [low, high), by default of dtype int64: `randint(high, size)` or `randint(low, high, size)`.

    >>> import clew
    >>> clew.randint(0, 1, (3,))
    tensor([0, 0, 0])
    """
    check_options("randint", layout, device, pin_memory)
    if size is None and given:
        given, size = given[:-1], given[-1]
    if not isinstance(size, tuple | list):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    sizes = checked_size("randint", (), size)
    least, limit = integer_bounds("randint", given, low, high)
    with drawing_from(generator):
        return made("randint", lambda kind: _ops._randint(least, limit, sizes, kind), out, dtype, requires_grad, _INT64)


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
    """The integers from 0 to n - 1 in random order, of dtype int64 unless another is given."""
    check_options("randperm", layout, device, pin_memory)
    if not hasattr(n, "__index__"):
        raise TypeError(f"randperm(): argument 'n' must be int, not {type(n).__name__}")
    with drawing_from(generator):
        return made("randperm", lambda kind: _ops._randperm(n, kind), out, dtype, requires_grad, _INT64)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Numbers from normal distributions.

    Args:
        mean, std: numbers, or tensors that are broadcast together: one distribution for each element. The result has no
            history.
        size: the sizes, where both are numbers.
    """
    dtype, requires_grad = options.pop("dtype", None), options.pop("requires_grad", False)
    check_options("normal", options.pop("layout", None), options.pop("device", None), options.pop("pin_memory", False))
    if options:
        raise TypeError(f"normal() got an unexpected keyword argument '{next(iter(options))}'")
    with drawing_from(generator), _NoHistory():
        if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
            sizes = checked_size("normal", (), size)
            return made("normal", lambda kind: _ops._empty(sizes, kind).normal_(mean, std), out, dtype, requires_grad)
        if size is not None:
            raise TypeError("normal(): expected no size where mean or std is a tensor; expand the tensor instead")
        model = mean + std if isinstance(mean, Tensor) else std
        if isinstance(std, Tensor):
            if std.numel() and bool((std < 0).any()):
                raise RuntimeError("normal expects all elements of std >= 0.0")
            drawn = _ops._empty(tuple(model.shape), model.dtype).normal_() * std + mean
        else:
            drawn = _ops._empty(tuple(model.shape), mean.dtype).normal_(0.0, std) + mean
        return made("normal", lambda kind: drawn, out, None, False, drawn.dtype)


class _NoHistory:
    """`no_grad`, which this module can't import yet when it is loaded."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _core.set_grad_enabled(False)

    def __exit__(self, *exc_info: object) -> None:
        _core.set_grad_enabled(self._before)


# ---------------------------------------------------------------------------------- native ones, with a generator
def _drawn_by(name: str, doc: str) -> Callable[..., Tensor]:
    native = getattr(_ops, name)

    def draw(input: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        if generator is None:
            result: Tensor = native(input, *args, **kwargs)
            return result
        with drawing_from(generator):
            result = native(input, *args, **kwargs)
            return result

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = (
        doc + "\n\nArgs:\n    generator: draws the numbers; by default the one that `clew.manual_seed` seeds."
    )
    return draw


uniform_ = _drawn_by("uniform_", "uniform_(from=0, to=1): fill the tensor from the uniform distribution on [from, to).")
normal_ = _drawn_by("normal_", "normal_(mean=0, std=1): fill the tensor from a normal distribution.")
exponential_ = _drawn_by(
    "exponential_", "exponential_(lambd=1): fill the tensor from the exponential distribution of this rate."
)
random_ = _drawn_by(
    "random_", "random_(), random_(to), random_(from, to): fill the tensor with integers from [from, to)."
)
bernoulli_ = _drawn_by(
    "bernoulli_", "bernoulli_(p=0.5): fill the tensor with 0 and 1; p, a number or tensor, is the chance of 1."
)
bernoulli = _drawn_by(
    "bernoulli", "1 with the probability that `input` says, else 0, for each element; `p` gives one for all."
)
multinomial = _drawn_by(
    "multinomial", "multinomial(input, num_samples, replacement=False): indices drawn for each row of weights."
)
