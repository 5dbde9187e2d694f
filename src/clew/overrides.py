"""For classes that act like tensors: who takes part in an operation, and asking them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from . import _core
from ._core import Tensor
from ._subclass import DisableTorchFunctionSubclass, dispatch, takes_part
from ._unsupported import missing_from as _missing_from

__all__ = [
    "DisableTorchFunctionSubclass",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of any of these overrides operations by `__torch_function__`.

    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return super().__torch_function__(func, types, args, kwargs or {})
        >>> torch.overrides.has_torch_function([torch.ones(1), Named([1.0])])
        True
    """
    if _core.get_mode("no_torch_function"):
        return False
    return any(takes_part(value) for value in relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the classes of `relevant_args` answer for `public_api(*args, **kwargs)`.

    Args:
        public_api: the function that was called, as users know it.
        relevant_args: its arguments whose classes may override it.

    Raises:
        TypeError: all of them returned NotImplemented.

    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> torch.overrides.handle_torch_function(torch.exp, [Named([1.0])], Named([1.0]))
        'exp'
    """
    return dispatch(public_api, [value for value in relevant_args if takes_part(value)], args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[_F], _F]:
    """Make a function ask the classes of its arguments first.

    Args:
        dispatcher: gives, from the function's arguments, those whose classes may override it.

    Example:
        >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return x * 2
        >>> double(torch.ones(1))
        tensor([2.])
    """

    def decorate(function: _F) -> _F:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = list(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor, or its class defines `__torch_function__`.

    Example:
        >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
        (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


__getattr__ = _missing_from(__name__)
