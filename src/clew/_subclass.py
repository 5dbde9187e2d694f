"""Subclasses of Tensor and `__torch_function__`.

Note [Subclasses in Python]
An operation on an object of a subclass goes to `type(object).__torch_function__(func, types, args, kwargs)`. The
default, below, runs the operation on plain tensors and gives the results the subclass. A class that has
`_disabled_torch_function_impl` there instead takes no part: operations on it give plain tensors (Parameter).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._core import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])


class DisableTorchFunctionSubclass:
    """A context in which operations on subclasses give plain tensors.

    Example:
        >>> class Named(clew.Tensor): pass
        >>> with clew.overrides.DisableTorchFunctionSubclass():
        ...     type(Named([1.0]) * 2) is clew.Tensor
        True
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _core.set_mode("no_torch_function", True)

    def __exit__(self, *exc_info: object) -> None:
        _core.set_mode("no_torch_function", self._before)


def default_torch_function(
    cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """What `Tensor.__torch_function__` does: run `func`, then give its tensors the class `cls`."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return as_class(func(*args, **(kwargs or {})), cls)


def as_class(value: Any, cls: type[Tensor]) -> Any:
    """`value` with its tensors as objects of `cls`."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make([as_class(item, cls) for item in value])
    if type(value) in (tuple, list):
        return type(value)([as_class(item, cls) for item in value])
    return value


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


_disabled_torch_function_impl._is_disabled_torch_function = True  # type: ignore[attr-defined]


def takes_part(value: Any) -> bool:
    """Whether the object's class has a say in operations: it has `__torch_function__`, and not the disabled one."""
    kind = type(value)
    if kind is Tensor:
        return False
    handler = getattr(kind, "__torch_function__", None)
    return handler is not None and not hasattr(handler, "_is_disabled_torch_function")


def dispatch(func: Callable[..., Any], relevant: list[Any], args: Any, kwargs: Any) -> Any:
    """Ask the classes of `relevant`, subclasses first, until one answers.

    Raises:
        TypeError: none of them did.
    """
    types: list[type] = []
    order: list[Any] = []
    for value in relevant:
        if type(value) in types:
            continue
        types.append(type(value))
        # Before the first one that it is a subclass of.
        place = next((i for i, other in enumerate(order) if issubclass(type(value), type(other))), len(order))
        order.insert(place, value)
    for value in order:
        result = type(value).__torch_function__(func, tuple(types), args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in types)
    name = getattr(func, "__name__", repr(func))
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: [{names}]")


_core._disabled_torch_function_impl = _disabled_torch_function_impl
_core.add_method("__torch_function__", classmethod(default_torch_function))
