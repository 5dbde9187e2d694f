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

    An option that is a tensor is an input of the program: a guard if its value was read. Here it counts which it is.
    """

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self._state = optimizer.state
        self._remember([_constants(group) for group in optimizer.param_groups])

    def _remember(self, recorded: list[dict[str, Any]]) -> None:
        self._recorded = recorded
        self._readers = [itemgetter(*group) if group else None for group in recorded]
        self._values = list(self._read(recorded))

    def differ(self) -> bool:
        """Whether one has another value by now, or the state is another one. It is asked before each run."""
        optimizer = self.optimizer()
        if optimizer is None:
            return False
        try:
            other_state = self._state is not None and optimizer.state is not self._state
            return other_state or list(self._read(optimizer.param_groups)) != self._values
        except KeyError:
            return True

    def rates(self) -> list[Tensor]:
        """Learning rates that are tensors, as recorded and of now."""
        optimizer = self.optimizer()
        groups = [*self._recorded, *([] if optimizer is None else optimizer.param_groups)]
        return [group["lr"] for group in groups if isinstance(group.get("lr"), Tensor)]

    def groups(self) -> list[list[Tensor]]:
        """The parameters of each group; empty if the optimizer is gone."""
        optimizer = self.optimizer()
        return [] if optimizer is None else [group["params"] for group in optimizer.param_groups]

    def told(self) -> list[str]:
        """What differs, then and now; each option of each group, and the state, is told once."""
        optimizer: Any = self.optimizer()
        if optimizer is None:
            return []
        name, texts = type(optimizer).__name__, []
        if self._state is not None and optimizer.state is not self._state:
            self._state = None
            was = f"the state of {name} to be the one of the recorded run"
            texts.append(
                f"expected {was}, got a new one, as load_state_dict creates it; the program continues with the first"
            )
        if len(optimizer.param_groups) < len(self._recorded):
            del self._recorded[len(optimizer.param_groups) :]
            texts.append(f"expected {name} to have as many groups as in the recorded run")
        for number, (recorded, group) in enumerate(zip(self._recorded, optimizer.param_groups, strict=False)):
            whose = name if len(self._recorded) == 1 else f"group {number} of {name}"
            for key, value in list(recorded.items()):
                now = group.get(key)
                if now is value or now == value:
                    continue
                del recorded[key]
                was = f"`{key}` of {whose} to be {value}, as in the recorded run"
                texts.append(f"expected {was}, got {now}; the program continues with {value}")
        self._remember(self._recorded)
        return texts

    def _read(self, groups: list[dict[str, Any]]) -> Iterator[Any]:
        for reader, group in zip(self._readers, groups, strict=False):
            yield reader and reader(group)


def _constants(group: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if _is_constant(value)}


def _is_constant(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0
    return isinstance(value, _CONSTANTS) or (isinstance(value, tuple) and all(map(_is_constant, value)))
