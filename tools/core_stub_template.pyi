"""The native core. Written by tools/make_stubs.py from the registry and tools/core_stub_template.pyi; do not edit."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Self, SupportsFloat, SupportsIndex, overload

import numpy

from clew._functions import *  # noqa: F403  (the named tuples of operations with several results)

type_Number = float
Number = float | int | bool

class dtype:
    """The type of a tensor's elements."""

    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_complex(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...
    @property
    def itemsize(self) -> int: ...

class Site:
    """A line of the user's code: where an operation was called."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def function(self) -> str: ...

class Operation:
    """An operation of the registry: callable as a function, or as a method of tensors."""

    __name__: str
    @property
    def overloads(self) -> list[dict[str, Any]]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
