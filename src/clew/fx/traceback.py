"""What nodes are given to remember while a program is traced or interpreted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._unsupported import missing_from

__all__ = [
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
]

_current: dict[str, Any] = {}
_preserving = False
# What a node takes from the one that it was made of.
COPIED = ("nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "from_node", "custom",
          "stack_trace")  # fmt: skip


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """In this context, nodes that come of running a graph through a tracer have the `meta` of those they come of."""
    global _preserving, _current
    before, meta = _preserving, dict(_current)
    _preserving = enable
    try:
        yield
    finally:
        _preserving, _current = before, meta


def has_preserved_node_meta() -> bool:
    """Whether `preserve_node_meta` is in force."""
    return _preserving


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """In this context, which `Interpreter` sets around each node, nodes come of this one."""
    global _current
    before = _current
    if _preserving and node.meta:
        _current = node.meta.copy()
    try:
        yield
    finally:
        _current = before


def get_current_meta() -> dict[str, Any]:
    """The `meta` of the node that is being interpreted, where it is preserved."""
    return _current


__getattr__ = missing_from(__name__)
