"""What an optimizer had when a block recorded its step: its options are constants of the program."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from .._core import Tensor

_CONSTANTS = (bool, int, float, str, type(None))


class Options:
    """The numbers in an optimizer's groups, and which state it has.

    An option that is a tensor is an input of the program: a witness if its value was read. Here it counts which it is.
    """

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self._recorded = [_constants(group) for group in optimizer.param_groups]
        self._readers = [itemgetter(*group) if group else None for group in self._recorded]
        self._values = list(self._read(optimizer.param_groups))
        self._state = optimizer.state

    def differ(self) -> bool:
        """Whether one has another value by now, or the state is another one. It is asked before each run."""
        optimizer = self.optimizer()
        if optimizer is None:
            return False
        try:
            return optimizer.state is not self._state or list(self._read(optimizer.param_groups)) != self._values
        except KeyError:
            return True

    def told(self) -> str:
        """The first that differs, then and now."""
        optimizer: Any = self.optimizer()
        if optimizer.state is not self._state:
            was = f"the state of {type(optimizer).__name__} to be the one of the recorded run"
            return f"expected {was}, got another, as load_state_dict makes it; the program goes on with the first"
        for recorded, group in zip(self._recorded, optimizer.param_groups, strict=False):
            for key, value in recorded.items():
                if group.get(key) != value:
                    was = f"`{key}` of {type(optimizer).__name__} to be {value}, as in the recorded run"
                    return f"expected {was}, got {group.get(key)}; the program goes on with {value}"
        return f"expected {type(optimizer).__name__} to have as many groups as in the recorded run"

    def _read(self, groups: list[dict[str, Any]]) -> Iterator[Any]:
        for reader, group in zip(self._readers, groups, strict=False):
            yield reader and reader(group)


def _constants(group: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if _is_constant(value)}


def _is_constant(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0
    return isinstance(value, _CONSTANTS) or (isinstance(value, tuple) and all(map(_is_constant, value)))
