"""`torch.ops.aten`: PyTorch's operations by their names, each as the function that clew has of it."""

from __future__ import annotations

from typing import Any

import clew

from .. import _core
from .._unsupported import told


class _Named:
    """An operation, or one form of it: called as the function or the method of this name.

    Raises:
        NotImplementedError: it is called, and there is no such function.
    """

    def __init__(self, name: str, overload: str = "") -> None:
        self.__name__ = f"{name}.{overload}".rstrip(".")
        self._name = name
        self._overload = overload
        self._qualified_op_name = f"aten::{name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = _core.functions.get(self._name) or getattr(_core.Tensor, self._name, None)
        if function is None:
            function = getattr(clew, self._name, None)
        if function is None:
            raise NotImplementedError(told(f"ops.aten.{self.__name__}"))
        return function(*args, **kwargs)

    def name(self) -> str:
        """`aten::add.Tensor`."""
        return f"aten::{self._name}" + (f".{self._overload}" if self._overload not in ("", "default") else "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}(op='aten.{self._name}', overload='{self._overload}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __hash__(self) -> int:
        return hash((self._name, self._overload))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and (self._name, self._overload) == (other._name, other._overload)


class Overload(_Named):
    """One form of an operation: `aten.add.Tensor`. Arguments decide what is computed, not the form."""

    @property
    def overloadpacket(self) -> Packet:
        """The operation."""
        return Packet(self._name)


class Packet(_Named):
    """An operation: `aten.add`. Its attributes are its forms, whatever their names."""

    def __getattr__(self, overload: str) -> Overload:
        if overload.startswith("_"):
            raise AttributeError(f"{self} has no overload {overload!r}")
        made = Overload(self._name, overload)
        setattr(self, overload, made)
        return made

    def overloads(self) -> list[str]:
        """The forms that were asked for: no list of all is kept."""
        return [name for name, one in vars(self).items() if isinstance(one, Overload)]


class Aten:
    """`torch.ops.aten`. Its attributes are operations. One that clew does not have raises when it is called."""

    __name__ = "clew.ops.aten"

    def __getattr__(self, name: str) -> Packet:
        if name.startswith("__"):
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute {name!r}")
        made = Packet(name)
        setattr(self, name, made)
        return made
