"""The hooks around saving and loading of a module, and what they are told."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found missing, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateHooks:
    """The hooks around saving and loading of one module."""

    def __init__(self) -> None:
        self.save_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.save_post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.load_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.load_post: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def table(kind: str) -> property:
    """The hooks of one kind as an attribute, by PyTorch's name."""
    return property(lambda module: getattr(module._own_state_hooks(), kind))


class WithoutModule(NamedTuple):
    """A hook that is called without the module."""

    hook: Callable[..., None]

    def __call__(self, module: Any, *args: Any) -> None:
        self.hook(*args)
