"""Methods that make tensors in the dtype and on the device of another: `x.new_zeros(size)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from ._options import check_options, checked_dtype, checked_size, made
from .creation import as_number, empty_strided
from .from_data import tensor

METHODS = ["new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"]

_ops: Any = _core.ops


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
    if _core.batch_of(model):
        number = 0 if value is None else value

        def fill(kind: Any) -> Tensor:
            return _in_the_batches_of(model, sizes, lambda all_sizes: _ops._full(all_sizes, number, kind))

    return made(name, fill, None, dtype, requires_grad, model.dtype, device)


def _in_the_batches_of(model: Tensor, sizes: tuple[int, ...], make: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """What `make` gives for the sizes; in `vmap` one for each sample of the model, to which samples can be written."""
    batch = _core.batch_of(model)
    if not batch:
        return make(sizes)
    length = dict(_core.active_batches())[batch]
    return _core.make_batched(_in_the_batches_of(_core.batch_value(model), (length, *sizes), make), batch)


def _of_sizes(name: str, value: int | None, where: str, doc: str) -> Callable[..., Tensor]:
    @domain(where)
    def create(
        self: Tensor, *given: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, **options: Any
    ) -> Tensor:
        return _new(name, self, value, given, size, dtype, requires_grad, options)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return create


new_zeros = _of_sizes(
    "new_zeros",
    0,
    "real, given=(2, 3)",
    """Zeros of the given sizes, by default in the dtype of this tensor.

    Example:
        >>> torch.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """,
)
new_ones = _of_sizes(
    "new_ones",
    1,
    "real, given=(2, 3)",
    """Ones of the given sizes, by default in the dtype of this tensor.

    Example:
        >>> torch.tensor([3]).new_ones(2)
        tensor([1, 1])
    """,
)
new_empty = _of_sizes(
    "new_empty",
    None,
    "unsampled, 'its numbers are what was in memory'",
    """A tensor of the given sizes whose elements are undefined until written, by default in the dtype of this one.

    Example:
        >>> torch.tensor([3]).new_empty(2, 3).shape
        torch.Size([2, 3])
    """,
)


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
    if not _core.batch_of(self) or len(size) != len(stride):
        return empty_strided(size, stride, dtype=kind, requires_grad=requires_grad, **options)

    def make(sizes: tuple[int, ...]) -> Tensor:
        strides = tuple(stride)
        span = max(1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)), 1)
        for length in reversed(sizes[: len(sizes) - len(size)]):  # whole samples, one after the other
            strides, span = (span, *strides), span * length
        return empty_strided(sizes, strides, dtype=kind, **options)

    result = _in_the_batches_of(self, tuple(size), make)
    return result.requires_grad_() if requires_grad else result


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
    return tensor(data, dtype=kind, device=place, requires_grad=requires_grad, pin_memory=pin_memory)
