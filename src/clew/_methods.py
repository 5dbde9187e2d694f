"""Adding methods to Tensor, whose type is C++'s, and making public functions overridable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

from . import _core

_F = TypeVar("_F", bound=Callable[..., Any])

# They make a tensor of what they are given, whatever its class.
_CREATIONS = frozenset({"as_tensor", "asarray", "tensor"})


def method(function: _F) -> _F:
    """Make the function a method of Tensor, under its own name, that subclasses may override."""
    _core.add_method(function.__name__, function)
    return function


def publish(names: Iterable[str], namespace: dict[str, Any], module: str) -> None:
    """Make functions of the namespace overridable (Note [Overridable functions] in bind/types/overridable.h).

    Args:
        names: of functions and others; the others stay as they are.
        namespace: where they are.
        module: the name of the module where users find them.
    """
    for name in names:
        function = namespace[name]
        if type(function) is FunctionType:
            namespace[name] = _core.overridable(function, module, name in _CREATIONS)
