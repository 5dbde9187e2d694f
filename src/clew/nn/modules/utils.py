"""Helpers that layers of others use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives its argument as a tuple: n times, or its elements if it has some."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off the names that begin with it, in place ("module.", say).

    Example:
        >>> state = {"module.weight": 1, "bias": 2}
        >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        >>> sorted(state)
        ['bias', 'weight']
    """
    for table in (state_dict, getattr(state_dict, "_metadata", None) or {}):
        renamed = {key.removeprefix(prefix) if key != prefix[:-1] else "": value for key, value in table.items()}
        table.clear()
        table.update(renamed)
