"""New tensors in the image of others: `zeros_like(x)`, `x.new_zeros(size)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._device import check_device, contiguous_format, placed
from .._domains import domain
from ..random import drawing_from
from . import creation
from ._options import check_options, checked_dtype, checked_size, made
from .creation import as_number
from .random import integer_bounds

__all__ = ["empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"]
METHODS = ["new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"]

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


@domain("real")
def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
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
    """
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    return _like("zeros_like", input, lambda model, kind: _ops._full_like(model, 0, kind), *options)


@domain("real")
def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> torch.ones_like(torch.tensor([1, 2]), dtype=torch.float32)
        tensor([1., 1.])
    """
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    return _like("ones_like", input, lambda model, kind: _ops._full_like(model, 1, kind), *options)


@domain("unsampled, 'its numbers are what was in memory'")
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor in the shape of `input` whose elements are undefined until written; arguments as for `zeros_like`.

    Example:
        >>> torch.empty_like(torch.zeros(2, 3)).shape
        torch.Size([2, 3])
    """
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    return _like("empty_like", input, lambda model, kind: _ops._empty_like(model, kind), *options)


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


@domain("real")
def rand_like(
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
    """Draws from the uniform distribution on [0, 1) in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.rand_like(torch.zeros(2))
        tensor([0.4963, 0.7682])
    """
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    with drawing_from(generator):
        return _like("rand_like", input, lambda model, kind: _ops._rand_like(model, kind), *options)


@domain("real")
def randn_like(
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
    """Draws from the standard normal distribution in the shape of `input`; arguments as for `zeros_like`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.randn_like(torch.zeros(2))
        tensor([ 1.5410, -0.2934])
    """
    options = (dtype, requires_grad, layout, device, pin_memory, memory_format)
    with drawing_from(generator):
        return _like("randn_like", input, lambda model, kind: _ops._randn_like(model, kind), *options)


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


# ------------------------------------------------------------------------------------------------------------- methods
@domain("real, data=[1.0, 2.0]")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of the data, by default in the dtype of this one.

    Example:
        >>> torch.ones(1).new_tensor([1, 2])
        tensor([1., 2.])
    """
    kind = checked_dtype("new_tensor", dtype, self.dtype)
    place = self.device if device is None else device
    return creation.tensor(data, dtype=kind, device=place, requires_grad=requires_grad, pin_memory=pin_memory)


@domain("real, given=(2, 3)")
def new_zeros(
    self: Tensor, *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """Zeros of the given sizes, by default in the dtype of this tensor.

    Example:
        >>> torch.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """
    return _new("new_zeros", self, 0, given, size, dtype, requires_grad, options)


@domain("real, given=(2, 3)")
def new_ones(
    self: Tensor, *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """Ones of the given sizes, by default in the dtype of this tensor.

    Example:
        >>> torch.tensor([3]).new_ones(2)
        tensor([1, 1])
    """
    return _new("new_ones", self, 1, given, size, dtype, requires_grad, options)


@domain("real, size=(2,), fill_value=2.5")
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """One value everywhere in a tensor of the given sizes, by default in the dtype of this one.

    Example:
        >>> torch.tensor([3]).new_full((2,), 7)
        tensor([7, 7])
    """
    return _new("new_full", self, as_number("new_full", fill_value), (), size, dtype, requires_grad, options)


@domain("unsampled, 'its numbers are what was in memory'")
def new_empty(
    self: Tensor, *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """A tensor of the given sizes whose elements are undefined until written, by default in the dtype of this one.

    Example:
        >>> torch.tensor([3]).new_empty(2, 3).shape
        torch.Size([2, 3])
    """
    return _new("new_empty", self, None, given, size, dtype, requires_grad, options)


@domain("unsampled, 'its numbers are what was in memory'")
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """A tensor of the given sizes and strides (in elements) whose elements are undefined until written.

    Example:
        >>> torch.tensor([3]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    kind = checked_dtype("new_empty_strided", dtype, self.dtype)
    options.setdefault("device", self.device)
    return creation.empty_strided(size, stride, dtype=kind, requires_grad=requires_grad, **options)


def _new(
    name: str,
    model: Tensor,
    value: Any,
    given: tuple[Any, ...],
    size: Any,
    dtype: Any,
    requires_grad: bool,
    options: dict[str, Any],
) -> Tensor:
    unknown = sorted(options.keys() - {"layout", "device", "pin_memory"})
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}'")
    device = options.get("device")
    check_options(name, options.get("layout"), device, options.get("pin_memory"))
    if device is None:
        device = model.device
    sizes = checked_size(name, given, size)
    fill = (lambda kind: _ops._empty(sizes, kind)) if value is None else (lambda kind: _ops._full(sizes, value, kind))
    return made(name, fill, None, dtype, requires_grad, model.dtype, device)
