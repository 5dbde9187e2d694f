"""Adding methods to Tensor, whose type is C++'s."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import _core
from ._core import Tensor
from ._subclass import dispatch, takes_part

_F = TypeVar("_F", bound=Callable[..., Any])


def method(function: _F) -> _F:
    """Make the function a method of Tensor, under its own name."""
    _core.add_method(function.__name__, function)
    return function


def operation_method(function: _F) -> _F:
    """Make it a method that acts as an operation: a subclass may override it, and results are of the subclass."""

    @wraps(function)
    def asked(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if type(self) is not Tensor and takes_part(self) and not _core.get_mode("no_torch_function"):
            return dispatch(asked, [self], (self, *args), kwargs)
        return function(self, *args, **kwargs)

    _core.add_method(function.__name__, asked)
    return function
