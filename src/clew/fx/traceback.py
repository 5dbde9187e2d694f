"""What nodes are given to remember while a program is traced or interpreted."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

_F = TypeVar("_F", bound=Callable[..., Any])

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


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Put these items into `meta["custom"]` of the nodes that are made in this context."""
    global _current
    before = _current
    _current = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        with preserve_node_meta():
            yield
    finally:
        _current = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_F], _F]:
    """A decorator: `annotate` around each call."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated  # type: ignore[return-value]

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    """Say which calls led to the nodes that are made next, where `meta` is preserved."""
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The calls that led here, as text."""
    known = _current.get("stack_trace")
    return [known] if _preserving and known else traceback.format_list(traceback.extract_stack()[:-1])
