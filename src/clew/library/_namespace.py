"""`clew.ops.<namespace>.<name>`: users' operations by their names."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._definition import CustomOpDef, definitions


class OpOverload:
    """The one overload that an operation has: `clew.ops.mylib.scale.default`."""

    def __init__(self, packet: OpOverloadPacket) -> None:
        self.overloadpacket = packet
        self._definition = packet._definition
        self._schema = self._definition._schema.text
        self.__name__ = f"{packet.__name__}.default"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._definition(*args, **kwargs)

    def name(self) -> str:
        """`mylib::scale`."""
        return self._definition._qualname

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._definition._namespace}.{self._definition._name}', overload='default')>"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.default"


class OpOverloadPacket:
    """An operation by its name: `clew.ops.mylib.scale`."""

    def __init__(self, definition: CustomOpDef) -> None:
        self._definition = definition
        self.__name__ = definition._name
        self._qualified_op_name = definition._qualname
        self.default = OpOverload(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._definition(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The names of its overloads."""
        return ["default"]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._definition._namespace}.{self._definition._name}')>"

    def __str__(self) -> str:
        return f"{self._definition._namespace}.{self._definition._name}"


class OpNamespace:
    """The operations whose names begin with `<namespace>::`."""

    def __init__(self, name: str) -> None:
        self.__name__ = f"clew.ops.{name}"
        self._name = name

    def __getattr__(self, name: str) -> Any:
        qualname = f"{self._name}::{name}"
        if qualname in definitions:
            return OpOverloadPacket(definitions[qualname])
        if not name.startswith("__") and hasattr(_core.ops, qualname):
            return getattr(_core.ops, qualname)  # one of `clew.library.operation`
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        lead = f"{self._name}::"
        return sorted({one.removeprefix(lead) for one in definitions if one.startswith(lead)})


def namespace(name: str) -> OpNamespace | None:
    """That of this name; None if no operation is in it."""
    lead = f"{name}::"
    if any(one.startswith(lead) for one in (*definitions, *vars(_core.ops))):
        return OpNamespace(name)
    return None
