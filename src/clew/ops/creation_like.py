"""New tensors in the image of others: `zeros_like(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._device import check_device, contiguous_format, placed
from .._domains import domain
from ..random import drawing_from
from ._options import Alike, DrawnAlike, check_options, checked_dtype
from .creation import as_number
from .random import integer_bounds

__all__ = ["empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"]

_ops: Any = _core.ops
_BOOL = _core.dtypes["bool"]


def _like(
    name: str,
    input: Tensor,
    make: Callable[[Tensor, Any], Tensor],
    dtype: Any,
    requires_grad: bool,
    layout: Any,
    device: Any,
    pin_memory: bool,
    memory_format: Any,
) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    check_options(name, layout, device, pin_memory)
    model = input
    flat = memory_format is contiguous_format and not input.is_contiguous()
    if flat or (device is not None and check_device(device, name) is not input.device):
        with placed(input.device if device is None else device):
            shape = tuple(input.shape)
            model = _ops._empty(shape, _BOOL) if flat else _ops._empty_strided(shape, input.stride(), _BOOL)
    result = make(model, checked_dtype(name, dtype, input.dtype))
    return result.requires_grad_() if requires_grad else result


# ----------------------------------------------------------------------------------------- functions of a model alone
def _alike(name: str, make: Callable[[Tensor, Any], Tensor], where: str, doc: str) -> Alike:
    @domain(where)
    def create(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        return _like(name, input, make, dtype, requires_grad, layout, device, pin_memory, memory_format)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


def _drawn_alike(name: str, make: Callable[[Tensor, Any], Tensor], doc: str) -> DrawnAlike:
    @domain("real")
    def draw(
        input: Tensor,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        with drawing_from(generator):
            return _like(name, input, make, dtype, requires_grad, layout, device, pin_memory, memory_format)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = doc
    return draw


zeros_like = _alike(
    "zeros_like",
    lambda model, kind: _ops._full_like(model, 0, kind),
    "real",
    """Zeros in the shape of `input`, with its order of dimensions in memory.

    Args:
        dtype: by default that of `input`.
        layout: only `clew.strided`.
        device: the CPU or "meta"; by default that of `input`.
        requires_grad: whether operations on the result are recorded.
        memory_format: `clew.contiguous_format` makes it contiguous in any case.

    Example:
        >>> torch.zeros_like(torch.tensor([1, 2]))
        tensor([0, 0])
    """,
)
ones_like = _alike(
    "ones_like",
    lambda model, kind: _ops._full_like(model, 1, kind),
    "real",
    """Ones in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> torch.ones_like(torch.tensor([1, 2]), dtype=torch.float32)
        tensor([1., 1.])
    """,
)
empty_like = _alike(
    "empty_like",
    _ops._empty_like,
    "unsampled, 'its numbers are what was in memory'",
    """A tensor in the shape of `input` whose elements are undefined until written; arguments as for `zeros_like`.

    Example:
        >>> torch.empty_like(torch.zeros(2, 3)).shape
        torch.Size([2, 3])
    """,
)
rand_like = _drawn_alike(
    "rand_like",
    _ops._rand_like,
    """Draws from the uniform distribution on [0, 1) in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.rand_like(torch.zeros(2))
        tensor([0.4963, 0.7682])
    """,
)
randn_like = _drawn_alike(
    "randn_like",
    _ops._randn_like,
    """Draws from the standard normal distribution in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randn_like(torch.zeros(2))
        tensor([ 1.5410, -0.2934])
    """,
)


# ------------------------------------------------------------------------------------------------ functions of a number
@domain("real, fill_value=2.5")
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One value everywhere in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> torch.full_like(torch.zeros(2), 7)
        tensor([7., 7.])
    """
    value = as_number("full_like", fill_value)
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    return _like("full_like", input, lambda model, kind: _ops._full_like(model, value, kind), *options)


@domain("real, bounds=(7,)")
def randint_like(
    input: Tensor,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Integers drawn from [low, high) in the shape and dtype of `input`: `randint_like(x, high)` or `(x, low, high)`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randint_like(torch.zeros(4), 10)
        tensor([4., 9., 3., 0.])
    """
    least, limit = integer_bounds("randint_like", bounds, low, high)

    def make(model: Tensor, kind: Any) -> Tensor:
        if model.is_contiguous():
            with placed(model.device):
                contiguous: Tensor = _ops._randint(least, limit, tuple(model.shape), kind)
            return contiguous
        strided: Tensor = _ops._empty_like(model, kind)
        return strided.random_(least, limit)

    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    with drawing_from(generator):
        return _like("randint_like", input, make, *options)
