"""What functions that make tensors share: sizes, the options that all of them take, and `out=`."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from .. import _core
from .._core import Tensor, dtype
from .._device import check_device, placed, strided
from .._domains import domain
from .._samples import all_true

_PYTHON_TYPES = (float, int, bool)


class Filled(Protocol):
    """A function that makes a tensor of given sizes."""

    def __call__(
        self,
        *given: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor: ...


class Drawn(Protocol):
    """One that draws its elements."""

    def __call__(
        self,
        *given: Any,
        size: Any = None,
        generator: Any = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor: ...


class Alike(Protocol):
    """A function that makes a tensor in the image of another."""

    def __call__(
        self,
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor: ...


class DrawnAlike(Protocol):
    """One that draws its elements."""

    def __call__(
        self,
        input: Tensor,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor: ...


def need_values(name: str, *tensors: Any) -> None:
    """Refuse tensors without values, where what comes out depends on values.

    Raises:
        NotImplementedError: one is on the device "meta".
    """
    if any(isinstance(one, Tensor) and one.is_meta for one in tensors):
        raise NotImplementedError(
            f"{name}: the result depends on values of tensors, and tensors on the device 'meta' have none; use tensors "
            "on the CPU"
        )


def all_lie_in(index: Tensor, low: int, end: int) -> bool:
    """Whether all elements, of all samples, are at least `low` and below `end`; True of what has no values.

    Only that is read: a compiled function goes on with other elements.
    """
    return not index.numel() or index.is_meta or all_true((index >= low) & (index < end))


def axis_of(name: str, input: Tensor, dim: int, *, of_number: bool = True) -> int:
    """`dim` counted from the first axis; with `of_number` there is one of a number, too."""
    rank = input.dim() or int(of_number)
    if not -rank <= dim < rank:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
            if rank
            else f"{name}: Dimension specified as {dim} but tensor has no dimensions"
        )
    return dim % rank


def checked_dtype(name: str, kind: Any, default: dtype | None = None) -> Any:
    """The dtype that was asked for; if none was, `default`, or else the default dtype."""
    if kind is None:
        return _core.get_default_dtype() if default is None else default
    if not isinstance(kind, dtype) and kind not in _PYTHON_TYPES:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(kind).__name__}")
    return kind


def check_options(name: str, layout: Any, device: Any, pin_memory: Any) -> None:
    """Refuse what there is not."""
    if device is not None:
        check_device(device, name)
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}: expected layout=clew.strided, got {layout}; there is no other layout")
    if pin_memory:
        raise NotImplementedError(f"{name}: pin_memory=True is not supported; memory is pinned for accelerators only")


def checked_size(name: str, given: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """Sizes given one by one, as one sequence, or by keyword."""
    if size is None and len(given) == 1 and type(given[0]) is int and given[0] >= 0:
        return given  # the usual call, which must not take long
    if size is not None:
        if given:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
    elif len(given) == 1:
        size = given[0] if isinstance(given[0], tuple | list) else given
    elif given:
        size = given
    else:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if not isinstance(size, tuple | list):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    try:
        sizes = tuple(map(operator.index, size))
    except TypeError:
        kind = next(type(each).__name__ for each in size if not hasattr(each, "__index__") or isinstance(each, Tensor))
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {kind}") from None
    for each in sizes:
        if each < 0:
            raise RuntimeError(f"{name}: Dimension size must be non-negative, got {list(sizes)}")
    return sizes


def made(
    name: str,
    make: Callable[[Any], Tensor],
    out: Tensor | None,
    kind: Any,
    requires_grad: bool,
    default: dtype | None = None,
    device: Any = None,
) -> Tensor:
    """The tensor that `make` gives for a dtype, or `out` filled with it.

    Args:
        kind: the dtype that was asked for, or None.
        default: what None means; by itself it means the default dtype, or that of `out`.
        device: where it is made; None leaves that to the default, or to `out`.
    """
    if out is None:
        kind = checked_dtype(name, kind, default)
        if device is None:
            result = make(kind)
        else:
            with placed(device):
                result = make(kind)
    else:
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if kind is not None and checked_dtype(name, kind) != out.dtype:
            raise RuntimeError(f"{name}: dtype {kind} does not match dtype of out parameter ({out.dtype})")
        with placed(out.device):
            made_there = make(out.dtype)
        result = _written(name, made_there, out)
    return result.requires_grad_() if requires_grad else result


def _written(name: str, value: Tensor, out: Tensor) -> Tensor:
    if out.requires_grad and _core.is_grad_enabled():
        raise RuntimeError(
            f"{name}: out=... requires grad; functions with out= don't support automatic differentiation"
        )
    if out.shape == value.shape:
        return out.copy_(value)
    if out.numel():
        raise RuntimeError(
            f"{name}: expected out of shape {tuple(value.shape)}, got {tuple(out.shape)}; give one of the right shape, "
            "or an empty one"
        )
    out.data = value
    return out


def check_tensor(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def in_place(function: Callable[..., Tensor], where: str) -> Callable[..., Tensor]:
    """The form of a composition that writes its result over its first argument. `where` is its domain for tests."""

    @functools.wraps(function)
    def write(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if "out" in kwargs:
            raise TypeError(f"{write.__name__}() got an unexpected keyword argument 'out'")
        return input.copy_(function(input.clone(), *args, **kwargs))  # what the rules read stays as it was

    write.__name__ = write.__qualname__ = f"{function.__name__}_"
    write.__doc__ = f"`{function.__name__}` in place."
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name != "out"]
    write.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return domain(where)(write)


def linalg(module: str = "") -> Any:
    """clew.linalg, or a module of it, which is loaded with the first call."""
    return import_module(f"clew.linalg{module}")
