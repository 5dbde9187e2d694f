"""Subclasses of Tensor and `__torch_function__`.

Note [Subclasses in Python]
An operation on an object of a subclass goes to `type(object).__torch_function__(func, types, args, kwargs)`: Note
[Asking classes] in bind/types/torch_function.cpp. The default, below, runs the operation on plain tensors and gives the
results the subclass. A class that has `_disabled_torch_function_impl` there instead takes no part: operations on it
give plain tensors (Parameter).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from ._core import _disabled_torch_function_impl as _disabled_torch_function_impl


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
        result = func(*args, **(kwargs or {}))
        return result if func in _AS_THEY_ARE else as_class(result, cls)


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


# What these give is a tensor that there is already.
_AS_THEY_ARE = {vars(Tensor)[name].__get__ for name in ("grad", "_base")}

_core.add_method("__torch_function__", classmethod(default_torch_function))
_core.add_method("__torch_dispatch__", _core._disabled_torch_dispatch_impl)
_core.add_method("__rdiv__", vars(Tensor)["__rtruediv__"])
